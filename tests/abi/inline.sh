#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares what the stable headers put into callers' code with a record of it, piece by piece, or makes
# that record. A dump of the library can't have it: inline bodies, macros, and the text of structs.
#
# usage: inline.sh MODE RECORD HEADER_DIR
#   compare   fails on any difference
#   write     makes the record; refuses when a struct changed and the epoch of its module did not
set -eu
mode=$1 record=$2 headers=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Structs of a module with an epoch are touched by inline bodies.
epoch_of() {
    case $1 in
    counter*.h | bounded.h | quota.h) echo FASTMM_COUNTER_EPOCH ;;
    copy*.h) echo FASTMM_COPY_EPOCH ;;
    esac
}

(cd "$headers" && LC_ALL=C awk -f "$here/inline.awk" base.h cpu.h counter.h counter_rseq.h \
    counter_inline.h bounded.h quota.h copy.h copy_inline.h) >"$work/now"
[ -s "$work/now" ] || { echo "nothing was found in $headers" >&2; exit 1; }
touch "$work/before"
[ ! -f "$record" ] || grep -v '^#' "$record" >"$work/before"

changed=0
grep ' struct ' "$work/before" | while read -r header kind name sum; do
    epoch=$(epoch_of "$header")
    if [ -n "$epoch" ] && ! grep -qx "$header $kind $name $sum" "$work/now" &&
        grep -qxF "$(grep " macro $epoch " "$work/before")" "$work/now"; then
        echo "struct $name of $header changed, so $epoch must be raised"
    fi
done >"$work/epochs"
if [ -s "$work/epochs" ]; then
    cat "$work/epochs" >&2
    changed=1
fi

if [ "$mode" = write ]; then
    [ $changed = 0 ] || exit 1
    {
        echo '# What the stable headers put into the code of callers: see inline.awk.'
        cat "$work/now"
    } >"$record"
    echo "$(wc -l <"$work/now") pieces written to $record"
    exit
fi
if ! diff -u "$work/before" "$work/now"; then
    cat >&2 <<END
what lands in callers' code differs from $record.
Does code that was compiled before still work with the library as it is now, and the other way round? If
not, the module's epoch must be raised. Then record it by the target fastmm-abi.
END
    exit 1
fi
[ $changed = 0 ] || exit 1
echo "$(wc -l <"$work/now") pieces, as recorded"
