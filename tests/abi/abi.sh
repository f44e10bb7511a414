#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the stable interface of the shared library with the dump of it, or writes that dump.
#
# usage: abi.sh MODE DUMP LIBRARY INCLUDE_DIR SUPPRESSIONS [WHY_NOT]
#   compare   fails on any difference, a name more included; skips where WHY_NOT is not empty
#   write     makes the dump, or says why it can't
set -eu
mode=$1 dump=$2 library=$3 include=$4 suppressions=$5 why_not=${6:-}

cannot() {
    if [ "$mode" = write ]; then
        echo "no dump was written: $1" >&2
        exit 1
    fi
    echo "SKIP: $1"
    exit 77
}

[ -z "$why_not" ] || cannot "$why_not"
for tool in abidw abidiff readelf; do
    command -v $tool >/dev/null || cannot "$tool is not installed (abigail-tools, binutils)"
done
readelf -SW "$library" | grep -q ' \.debug_info ' || cannot "the library has no debug information"

# Types are named by hashes, and all is as if from one source, so that a change shows as itself alone,
# and a name that moves to another file not at all.
work=$(mktemp)
trap 'rm -f "$work"' EXIT
abidw --suppressions "$suppressions" --headers-dir "$include" --drop-private-types \
    --exported-interfaces-only --no-corpus-path --no-comp-dir-path --no-show-locs \
    --no-parameter-names --no-elf-needed --type-id-style hash "$library" | awk '
        /<abi-instr/ && n++ { next }
        /<abi-instr/ { sub(/path=.[^ ]*/, "path=\047fastmm\047") }
        /<\/abi-instr/ { end = $0; next }
        /<\/abi-corpus/ { print end }
        { print }' >"$work"
names=$(grep -c '<elf-symbol ' "$work") || { echo "abidw found no names" >&2; exit 1; }

if [ "$mode" = write ]; then
    cat "$work" >"$dump"
    echo "$names names written to $dump"
    exit
fi
if ! abidiff --harmless --redundant "$dump" "$work"; then
    echo "the stable interface differs from $dump; if that is meant: the target fastmm-abi" >&2
    exit 1
fi
echo "$names names, as in the dump"
