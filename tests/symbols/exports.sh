#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library exports exactly the names that its public headers declare FASTMM_API: one more
# is a promise nobody made, one less is a link error in somebody's program.
#
# usage: exports.sh CC NM INCLUDE_DIR LIBRARY
set -eu
cc=$1 nm=$2 include=$3 library=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The preprocessor resolves epoch names. After it, a declaration is all text from the attribute to
# the semicolon; its name is the first fastmm_ word before a parenthesis or, for data, the last one.
{
    echo '#include <fastmm.h>'
    for header in "$include"/fastmm/*.h; do
        echo "#include <fastmm/${header##*/}>"
    done
} >"$work/all.c"
"$cc" -E -P -I"$include" "$work/all.c" >"$work/all.i"
tr '\n' ' ' <"$work/all.i" | awk '
    BEGIN { RS = ";" }
    !match($0, /__attribute__\(\(visibility\("default"\)\)\)/) { next }
    {
        text = substr($0, RSTART + RLENGTH)
        if (match(text, /fastmm_[A-Za-z0-9_]+ *\(/)) {
            name = substr(text, RSTART, RLENGTH - 1)
        } else {
            while (match(text, /fastmm_[A-Za-z0-9_]+/)) {
                name = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
            }
        }
        gsub(/ /, "", name)
        print name
    }' | sort -u >"$work/declared"

# An absolute symbol is the version node itself.
"$nm" -D --defined-only "$library" | awk '$(NF - 1) != "A" { sub(/@.*/, "", $NF); print $NF }' |
    sort -u >"$work/exported"

if [ ! -s "$work/declared" ]; then
    echo "no FASTMM_API declaration was found in $include" >&2
    exit 1
fi
if ! diff -u "$work/declared" "$work/exported"; then
    echo "declared (-) and exported (+) names differ" >&2
    exit 1
fi
echo "$(wc -l <"$work/exported") names exported, each declared"
