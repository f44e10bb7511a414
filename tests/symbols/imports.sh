#!/bin/sh
# SPDX-License-Identifier: MIT
# The library asks its host for the names in imports.txt and no others. It runs inside allocators and
# signal handlers: it must not allocate, print, abort or take locks of libc's.
#
# usage: imports.sh NM ALLOWED LIBRARY
set -eu
nm=$1 allowed=$2 library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$allowed" | sort -u >"$work/allowed"
"$nm" -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u >"$work/imported"

extra=$(comm -13 "$work/allowed" "$work/imported")
if [ -n "$extra" ]; then
    echo "names the library may not ask for (if one is right, say why in $allowed):" >&2
    echo "$extra" >&2
    exit 1
fi
echo "$(wc -l <"$work/imported") names imported, each allowed"
