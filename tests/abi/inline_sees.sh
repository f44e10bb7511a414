#!/bin/sh
# SPDX-License-Identifier: MIT
# inline.sh sees what it is for, and nothing else.
#
# usage: inline_sees.sh HEADER_DIR
set -eu
headers=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
inline() {
    sh "$here/inline.sh" "$1" "$work/record" "$work/fastmm" >"$work/out" 2>&1
}
wrong() {
    cat "$work/out"
    echo "$*" >&2
    exit 1
}

# change HEADER EXPRESSION: of a fresh copy, by sed.
change() {
    rm -rf "$work/fastmm"
    cp -R "$headers" "$work/fastmm"
    sed "$2" "$headers/$1" >"$work/fastmm/$1"
    ! cmp -s "$headers/$1" "$work/fastmm/$1" || wrong "nothing to change in $1: $2"
}

cp -R "$headers" "$work/fastmm"
inline write || wrong "no record"
inline compare || wrong "differs from itself"

change counter_inline.h 's/__ATOMIC_RELAXED/__ATOMIC_SEQ_CST/'
! inline compare || wrong "a changed inline body was not seen"
inline write || wrong "a changed inline body could not be recorded"
cp -R "$headers/." "$work/fastmm"
inline write || wrong "nor changed back"

change counter_rseq.h 's/STRIDE 4160/STRIDE 4224/'
! inline compare || wrong "a macro's changed value was not seen"
change counter_rseq.h 's/jmp %l\[slow\]/jmp %l[ slow]/'
! inline compare || wrong "changed assembly in a macro of many lines was not seen"
change copy_inline.h 's/__AVX512F__/__AVX2__/'
! inline compare || wrong "a changed condition was not seen"
change quota.h 's/    int64_t batch;/    int32_t batch;/'
! inline compare || wrong "a changed struct was not seen"
! inline write || wrong "a changed struct was recorded under the old epoch"
grep -q 'FASTMM_COUNTER_EPOCH must be raised' "$work/out" || wrong "it does not say which epoch"
sed 's/COUNTER_EPOCH  *[0-9]*$/COUNTER_EPOCH 91/' "$headers/counter_rseq.h" >"$work/fastmm/counter_rseq.h"
inline write || wrong "a changed struct was not recorded under a new epoch"
cp -R "$headers/." "$work/fastmm"
inline write || wrong "nor changed back"

change counter_inline.h 's/^\( *\)return /\1    \/* why *\/ return /; s/^ \* /   * changed /'
inline compare || wrong "comments and white space count"
echo "inline bodies, macros, conditions and structs are seen"
