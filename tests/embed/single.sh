#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the single file as strangers do, and runs what comes out.
#
# usage: single.sh MODE CC DIR [PART]
#   matrix        a part (everything, counter, copy, counter-copy) at every optimisation level; with
#                 FASTMM_TEST_LONG=1 each with every x86-64 level, and the language versions in turn
#   languages     every part in every language version at every x86-64 level, checked and not compiled
#                 further: behind the front end languages are the same
#   hidden        with names hidden
#   prefix        two copies in one program
#   freestanding  without a C library
#   lto           optimised across files at link time
#   static_pie    a static program that runs at any address
#   cxx           from C++
set -eu
mode=$1 cc=$2 single=$3 part=${4:-everything}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Werror"
built=0

if ! "$cc" -dM -E -x c /dev/null | grep -q __x86_64__; then
    x86=
else
    x86=1
fi

# runs MARCH: whether this CPU can run what was compiled for it.
runs() {
    [ -z "$1" ] || [ "$1" = x86-64 ] ||
        /lib64/ld-linux-x86-64.so.2 --help 2>/dev/null | grep -q "$1 (supported"
}

# build MARCH FLAGS...: compiles the file alone, with warnings as errors, then a program on it that is
# run if this CPU can.
build() {
    march=$1
    shift
    # shellcheck disable=SC2086 # a list
    "$cc" "$@" ${march:+-march=$march} $warnings -c "$single/fastmm.c" -o "$work/fastmm.o"
    "$cc" "$@" ${march:+-march=$march} -I"$single" "$here/selftest.c" "$work/fastmm.o" \
        -o "$work/program" -pthread
    built=$((built + 1))
    if runs "$march"; then
        "$work/program" || { echo "failed: $* $march" >&2; exit 1; }
    else
        echo "not run here, only built: $march"
    fi
}

stds='c11 c17 c2x gnu11 gnu17 gnu2x'
levels='0 1 2 3 s'
marches='-'
[ -z "$x86" ] || marches="x86-64 x86-64-v2 x86-64-v3 x86-64-v4"

# part_flags PART
part_flags() {
    case $1 in
    counter) echo -DFASTMM_ONLY_COUNTER ;;
    copy) echo -DFASTMM_ONLY_COPY ;;
    counter-copy) echo -DFASTMM_ONLY_COUNTER -DFASTMM_ONLY_COPY ;;
    esac
}

# What the object must not define.
foreign_names() {
    case $part in
    counter) without ' [TDBR] .*fastmm_\(copy\|cpu\|mm\|snapshot\|pte\)_' ;;
    copy) without ' [TDBR] .*fastmm_\(counter\|quota\|mm\|snapshot\|pte\)_' ;;
    counter-copy) without ' [TDBR] .*fastmm_\(mm\|snapshot\|pte\)_' ;;
    esac
}

# without PATTERN: the object must define no such name.
without() {
    if nm -g --defined-only "$work/fastmm.o" | grep "$1"; then
        echo "these names should not be there" >&2
        exit 1
    fi
}

# In the short form the levels of both kinds are paired.
run_matrix() {
    std_turn=$stds
    march_turn=$marches
    for level in $levels; do
        some=$marches
        [ "${FASTMM_TEST_LONG:-}" = 1 ] || some=${march_turn%% *}
        for march in $some; do
            # shellcheck disable=SC2046 # a list
            build "${march#-}" "-O$level" "-std=${std_turn%% *}" $(part_flags "$part")
            foreign_names
            std_turn="${std_turn#* } ${std_turn%% *}"
        done
        march_turn="${march_turn#* } ${march_turn%% *}"
    done
}

run_languages() {
    for each in everything counter copy counter-copy; do
        for std in $stds; do
            for march in $marches; do
                [ "$march" != - ] || march=
                # shellcheck disable=SC2046,SC2086 # lists
                "$cc" -fsyntax-only -std=$std ${march:+-march=$march} $warnings $(part_flags $each) \
                    "$single/fastmm.c"
                built=$((built + 1))
            done
        done
    done
}

run_hidden() {
    "$cc" -O1 -fPIC -fvisibility=hidden -DFASTMM_API= -shared "$single/fastmm.c" -o "$work/hidden.so"
    if nm -D --defined-only "$work/hidden.so" | grep fastmm; then
        echo "names are exported although FASTMM_API is empty" >&2
        exit 1
    fi
    built=1
}

run_prefix() {
    for half in one two; do
        # shellcheck disable=SC2086 # a list
        "$cc" -O1 $warnings -DFASTMM_PREFIX=${half}_ -c "$single/fastmm.c" -o "$work/fastmm.o"
        without ' [TDBRV] fastmm_'
        mv "$work/fastmm.o" "$work/$half.o"
        # shellcheck disable=SC2086 # a list
        "$cc" -O2 $warnings -DFASTMM_PREFIX=${half}_ -DHALF=$half -DWITH_MAIN_IN_$half -I"$single" \
            -c "$here/two_copies.c" -o "$work/half_$half.o"
        built=$((built + 1))
    done
    "$cc" "$work/one.o" "$work/two.o" "$work/half_one.o" "$work/half_two.o" -o "$work/program" -pthread
    "$work/program" || { echo "the two copies disturb each other" >&2; exit 1; }
}

run_freestanding() {
    if [ -z "$x86" ]; then
        echo "SKIP: the program's start is written for x86-64"
        exit 77
    fi
    loops=
    "$cc" --version | grep -qi clang || loops=-fno-tree-loop-distribute-patterns
    for flags in -O0 '-O2 -DFASTMM_ONLY_COUNTER -DFASTMM_ONLY_COPY' "-O1 -DMEMORY_BY_FASTMM $loops" \
        "-O3 -DMEMORY_BY_FASTMM $loops"; do
        # shellcheck disable=SC2086 # lists
        "$cc" -std=gnu11 $flags $warnings -ffreestanding -fno-builtin -fno-stack-protector \
            -nostdlib -static -fno-pie -I"$single" \
            "$here/freestanding.c" "$single/fastmm.c" -o "$work/program"
        status=0
        "$work/program" || status=$?
        [ $status = 0 ] || { echo "failed at line $status (mod 256): $flags" >&2; exit 1; }
        built=$((built + 1))
    done
}

# linked FLAGS...: the file and a program, with the flags in every step.
linked() {
    # shellcheck disable=SC2086 # a list
    "$cc" "$@" $warnings -I"$single" "$single/fastmm.c" "$here/selftest.c" -o "$work/program" -pthread
    "$work/program" || { echo "failed: $*" >&2; exit 1; }
    built=$((built + 1))
}

# can FLAGS...: whether the compiler and its linker know them.
can() {
    echo 'int main(void) { return 0; }' >"$work/can.c"
    "$cc" "$@" "$work/can.c" -o "$work/can" 2>/dev/null && "$work/can"
}

run_lto() {
    lld=
    if "$cc" --version | grep -q clang && can -fuse-ld=lld; then
        lld=-fuse-ld=lld
    fi
    # shellcheck disable=SC2086 # perhaps nothing
    if ! can -flto $lld; then
        echo "SKIP: $cc has no linker for link-time optimisation here"
        exit 77
    fi
    # shellcheck disable=SC2086 # perhaps nothing
    linked -O2 -flto $lld
}

run_static_pie() {
    if ! can -static-pie; then
        echo "SKIP: no static-pie programs here"
        exit 77
    fi
    linked -O1 -fPIE -static-pie
}

run_cxx() {
    # shellcheck disable=SC2086 # a list
    "$cc" -O1 $warnings -c "$single/fastmm.c" -o "$work/fastmm.o"
    case $cc in
    *clang*) cxx=$(echo "$cc" | sed 's/clang/clang++/') ;;
    *) cxx=$(echo "$cc" | sed 's/gcc$/g++/; s/\/cc$/\/c++/') ;;
    esac
    for std in c++17 c++20; do
        # shellcheck disable=SC2086 # a list
        "$cxx" -std=$std -O1 $warnings -x c++ -I"$single" "$here/selftest.c" -x none "$work/fastmm.o" \
            -o "$work/program" -pthread
        "$work/program" || { echo "failed: $std" >&2; exit 1; }
        built=$((built + 1))
    done
}

"run_$mode"
echo "$built builds by $cc"
