#!/bin/sh
# SPDX-License-Identifier: MIT
# What the compiler made of the copy and clear routines, and of what their first call goes through: no
# call to memcpy(), memmove() or memset(), which an embedder may have built from them; no backward
# string instruction, and none outside rep.c, which alone sees to the direction flag; non-temporal
# stores in the streaming implementation only, and an sfence on every path from one to the end of its
# function.
#
# usage: code.sh OBJDUMP OBJECT...
set -eu
objdump=$1
shift
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$1" >&2
    exit 1
}

seen=
for object; do
    name=$(basename "$object" .c.o)
    seen="$seen $name"
    "$objdump" -dr --no-show-raw-insn "$object" >"$work/$name.s"
    if grep -E 'R_X86_64_[A-Z0-9]+[[:space:]]+(memcpy|memmove|memset)' "$work/$name.s"; then
        fail "$name: calls libc for what it is itself to do"
    fi
    if grep -E '^ .*[[:space:]](std|stdb)[[:space:]]*$' "$work/$name.s"; then
        fail "$name: sets the direction flag"
    fi
    if [ "$name" != rep ] && grep -E '[[:space:]]rep[nz]* (movs|stos|scas|cmps|lods)' "$work/$name.s"; then
        fail "$name: a string instruction that minds the direction flag"
    fi
    if [ "$name" != stream ] && grep -E '[[:space:]](v?movnt[a-z]*|sfence)' "$work/$name.s"; then
        fail "$name: streams, or fences for nothing"
    fi
done
for name in scalar sse2 avx2 avx512 stream call select plan native decode cache; do
    [ "$(grep -c '^ ' "$work/$name.s")" -gt 20 ] || fail "$name: no code was found"
done
grep -q 'rep movs' "$work/rep.s" || fail "rep: no rep movsb"
grep -q 'movnt' "$work/stream.s" || fail "stream: no non-temporal store"
awk -f "$here/fenced.awk" "$work/stream.s"
echo "looked at:$seen"
