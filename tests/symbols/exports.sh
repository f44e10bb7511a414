#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library exports exactly the names that its public headers declare FASTMM_API, and these are
# the names of the list, each with the header that declares it: one more is a promise nobody made, one
# less is a link error in somebody's program. Prints the list.
#
# usage: exports.sh MODE CC NM INCLUDE_DIR LIBRARY LIST
#   compare   fails on any difference
#   write     makes the list of what is declared
set -eu
mode=$1 cc=$2 nm=$3 include=$4 library=$5 list=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The preprocessor resolves epoch names, and tells the file of each line. After it, a declaration is all
# text from the attribute to the semicolon; its name is the first fastmm_ word before a parenthesis or,
# for data, the last one.
{
    echo '#include <fastmm.h>'
    for header in "$include"/fastmm/*.h; do
        echo "#include <fastmm/${header##*/}>"
    done
} >"$work/all.c"
"$cc" -E -I"$include" "$work/all.c" >"$work/all.i"
awk '
    function declaration(text,    name) {
        if (!match(text, /__attribute__\(\(visibility\("default"\)\)\)/))
            return
        text = substr(text, RSTART + RLENGTH)
        if (match(text, /fastmm_[A-Za-z0-9_]+ *\(/)) {
            name = substr(text, RSTART, RLENGTH - 1)
        } else {
            while (match(text, /fastmm_[A-Za-z0-9_]+/)) {
                name = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
            }
        }
        gsub(/ /, "", name)
        print name " " header
    }
    /^# [0-9]+ "/ {
        header = $3
        gsub(/^"(.*\/)?fastmm\/|"$/, "", header)
        header = "fastmm/" header
        next
    }
    {
        while ((at = index($0, ";")) > 0) {
            declaration(text " " substr($0, 1, at - 1))
            text = ""
            $0 = substr($0, at + 1)
        }
        text = text " " $0
    }' "$work/all.i" | LC_ALL=C sort -u >"$work/declared"
if [ ! -s "$work/declared" ]; then
    echo "no FASTMM_API declaration was found in $include" >&2
    exit 1
fi

if [ "$mode" = write ]; then
    {
        echo '# Every name that the shared library exports, and the header that declares it.'
        cat "$work/declared"
    } >"$list"
    echo "$(wc -l <"$work/declared") names written to $list"
    exit
fi

# An absolute symbol is the version node itself.
"$nm" -D --defined-only "$library" | awk '$(NF - 1) != "A" { sub(/@.*/, "", $NF); print $NF }' |
    LC_ALL=C sort -u >"$work/exported"
cut -d ' ' -f 1 "$work/declared" >"$work/names"
if ! diff -u "$work/names" "$work/exported"; then
    echo "declared (-) and exported (+) names differ" >&2
    exit 1
fi
grep -v '^#' "$list" >"$work/listed"
cat "$work/listed"
if ! diff -u "$work/listed" "$work/declared"; then
    echo "the names of $list (-) and those declared (+) differ; if that is meant: the target fastmm-exports" >&2
    exit 1
fi
echo "$(wc -l <"$work/exported") names exported, each declared and listed"
