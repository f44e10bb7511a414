#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles public headers as strangers do.
#
# usage: check.sh MODE COMPILER INCLUDE_DIR LIBRARY
#   c11, c17, c2x, gnu11, c++17, c++20   each header alone, in that language, warnings as errors,
#                                        plain and optimised
#   freestanding                         each header with only the headers of a freestanding compiler
#   link                                 two files that include everything make one program
set -eu
mode=$1 compiler=$2 include=$3 library=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Werror"

# compile_each SUFFIX FLAGS...: each public header alone, included twice, from a file one.SUFFIX.
compile_each() {
    suffix=$1
    shift
    count=0
    for header in "$include"/fastmm.h "$include"/fastmm/*.h; do
        path=${header#"$include"/}
        printf '#include <%s>\n#include <%s>\n' "$path" "$path" >"$work/one.$suffix"
        # A file that is empty but for the header isn't strict ISO C.
        echo 'extern int keep_not_empty;' >>"$work/one.$suffix"
        for level in -O0 -O2; do
            # shellcheck disable=SC2086 # lists of flags
            "$compiler" "$@" $warnings $level -I"$include" -c "$work/one.$suffix" -o "$work/one.o" || {
                echo "$path does not compile: $compiler $* $level" >&2
                exit 1
            }
        done
        count=$((count + 1))
    done
    echo "$count headers compiled by $compiler as $mode"
}

link_two() {
    echo '#include <fastmm.h>' >"$work/one.c"
    echo 'extern int one(void); int one(void) { return fastmm_version() == 0; }' >>"$work/one.c"
    echo '#include <fastmm.h>' >"$work/two.c"
    echo 'extern int one(void); int main(void) { return one() || fastmm_version() == 0; }' >>"$work/two.c"
    for level in -O0 -O2; do
        "$compiler" -std=c11 $level -I"$include" "$work/one.c" "$work/two.c" "$library" -o "$work/program"
    done
}

case $mode in
freestanding)
    own=$("$compiler" -print-file-name=include)
    if [ ! -f "$own/stddef.h" ]; then
        echo "SKIP: $compiler does not say where its own headers are"
        exit 77
    fi
    compile_each c -std=c11 -ffreestanding -nostdinc -isystem "$own"
    ;;
link) link_two ;;
c++*) compile_each cc "-std=$mode" ;;
*) compile_each c "-std=$mode" -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition ;;
esac
