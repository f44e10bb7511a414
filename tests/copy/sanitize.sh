#!/bin/sh
# SPDX-License-Identifier: MIT
# M17: builds the library with the address sanitizer and, if there is clang, with the memory
# sanitizer, and shows each of them what it must and what it must not report, by every way in.
#
# usage: sanitize.sh CC PROJECT
set -eu
cc=$1 project=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ways="inline masked call scalar sse2 avx2 avx512 rep stream"

# build CC SANITIZER: $work/probe, or failure if the compiler has no such sanitizer here.
build() {
    for source in "$project"/src/copy/*.c "$project"/src/cpu/*.c "$project/tests/copy/probe.c"; do
        flags=
        case $source in
        */avx2.c) flags=-mavx2 ;;
        */avx512.c) flags="-mavx512f -mavx512bw -mavx512vl" ;;
        esac
        # shellcheck disable=SC2086 # none, or some
        "$1" -std=gnu11 -O1 -g -fno-builtin $flags "-fsanitize=$2" -I"$project/include" \
            -I"$project/src" -c "$source" -o "$work/$(basename "$source").o" 2>"$work/errors" || return 1
    done
    "$1" "-fsanitize=$2" "$work"/*.o -o "$work/probe" 2>"$work/errors"
}

# expect report|silence SCENARIO: on every way, at sizes inline and not.
expect() {
    for way in $ways; do
        for size in 40 5000; do
            status=0
            "$work/probe" "$way" "$2" "$size" >"$work/out" 2>&1 || status=$?
            case $1:$status in
            silence:0 | *:99) ;;
            report:0) echo "$way: no report of $2 at $size bytes" >&2; exit 1 ;;
            report:*)
                grep -q 'Sanitizer' "$work/out" || { cat "$work/out"; exit 1; } ;;
            *) cat "$work/out"; echo "$way: a report of $2 at $size bytes" >&2; exit 1 ;;
            esac
        done
    done
    checked="${checked:-}$2 "
}

if [ "$(uname -m)" != x86_64 ]; then
    echo "SKIP: written for x86-64 machines"
    exit 77
fi
tried=0
if "$cc" -dumpmachine | grep -q x86_64 && build "$cc" address; then
    tried=1
    for scenario in read1 read8 write1 write8 clear1 clear8; do
        expect report "$scenario"
    done
    expect silence plain
    expect silence exact
fi
if command -v clang >/dev/null && build clang memory; then
    tried=1
    expect silence initialised
    expect silence cleared0
    expect silence exact
    expect report uninitialised
fi
if [ $tried = 0 ]; then
    cat "$work/errors"
    echo "SKIP: no compiler here has the sanitizers"
    exit 77
fi
echo "judged: $checked"
