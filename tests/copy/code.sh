#!/bin/sh
# SPDX-License-Identifier: MIT
# What the compiler made of the copy and clear routines: no call to memcpy(), memmove() or memset(),
# which an embedder may have built from them; no backward string instruction; non-temporal stores in
# the streaming implementation only, and an sfence on every path from one to the end of its function.
#
# usage: code.sh OBJDUMP AR LIBRARY
set -eu
objdump=$1 ar=$2 library=$3
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$1" >&2
    exit 1
}

(cd "$work" && "$ar" x "$library" scalar.c.o sse2.c.o avx2.c.o avx512.c.o rep.c.o stream.c.o call.c.o)
for name in scalar sse2 avx2 avx512 rep stream call; do
    "$objdump" -dr --no-show-raw-insn "$work/$name.c.o" >"$work/$name.s"
    [ "$(grep -c '^ ' "$work/$name.s")" -gt 20 ] || [ "$name" = rep ] ||
        fail "$name: no code was found"
    if grep -E 'R_X86_64_[A-Z0-9]+[[:space:]]+(memcpy|memmove|memset)' "$work/$name.s"; then
        fail "$name: calls libc for what it is itself to do"
    fi
    if grep -E '^ .*[[:space:]](std|stdb)[[:space:]]*$' "$work/$name.s"; then
        fail "$name: sets the direction flag"
    fi
    [ "$name" = stream ] || ! grep -E '[[:space:]](v?movnt[a-z]*|sfence)' "$work/$name.s" ||
        fail "$name: streams, or fences for nothing"
done
grep -q 'rep movs' "$work/rep.s" || fail "rep: no rep movsb"
grep -q 'movnt' "$work/stream.s" || fail "stream: no non-temporal store"
awk -f "$here/fenced.awk" "$work/stream.s"
