#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of layouts must have every struct that the stable headers define. Those of copy_inline.h
# are its tools for unaligned accesses, and nobody's data.
#
# usage: listed.sh TABLE HEADER_DIR
set -eu
table=$1 headers=$2
structs=$(cd "$headers" && sed -n 's/^struct \(fastmm_[a-z0-9_]*\) {$/\1/p' base.h cpu.h counter.h \
    counter_inline.h counter_rseq.h bounded.h quota.h copy.h)
missing=0
for name in $structs; do
    grep -q "^    \(WHOLE\|GROUP\)($name," "$table" || { echo "not listed: struct $name" >&2; missing=1; }
done
[ -n "$structs" ] && [ $missing = 0 ]
echo "$(echo "$structs" | wc -l) structs, each listed"
