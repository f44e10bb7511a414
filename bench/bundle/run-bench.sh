#!/bin/sh
# SPDX-License-Identifier: MIT
# run-bench OUTDIR [default | full | smoke]: the scorecard and the claims of this machine, written to OUTDIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ $# = 0 ] || [ $# -gt 2 ]; then
    echo "usage: $0 OUTDIR [default | full | smoke]" >&2
    exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
mode=${2:-default}
case $mode in
default | full)
    status=0 # a case that goes wrong is no reason to know nothing of the others
    "$here/fastmm-bench" "$mode" --report "$out" || status=1
    "$here/fastmm-bench-claims" "$mode" --report "$out" || status=1
    exit $status
    ;;
smoke)
    "$here/fastmm-bench" check
    for primitive in copy walk counter; do
        "$here/fastmm-bench-$primitive" --smoke
    done
    "$here/fastmm-bench-claims" --smoke --report "$out"
    ;;
*)
    echo "$0: no mode '$mode' (default, full, smoke)" >&2
    exit 2
    ;;
esac
