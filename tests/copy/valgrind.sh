#!/bin/sh
# SPDX-License-Identifier: MIT
# Valgrind sees every access of the machine code, assembly included: none outside the blocks by any
# way, what was copied or cleared counts as written, and where a caller is wrong by one byte it says so.
# It has no AVX-512, so that the other routes are seen.
#
# usage: valgrind.sh PROBE
set -eu
probe=$1
if ! command -v valgrind >/dev/null; then
    echo "SKIP: valgrind is not installed"
    exit 77
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# expect silence|report WAY SCENARIO SIZE
expect() {
    status=0
    valgrind -q --error-exitcode=9 "$probe" "$2" "$3" "$4" >"$log" 2>&1 || status=$?
    case $1:$status in
    silence:0 | report:9) checked=$((checked + 1)) ;;
    *:99) lacking="$lacking $2" ;;
    *)
        cat "$log"
        echo "$2, $3, $4 bytes: no $1, status $status" >&2
        exit 1
        ;;
    esac
}

checked=0 lacking=
for way in inline masked call scalar sse2 avx2 avx512 rep stream; do
    expect silence "$way" exact 1200
    expect report "$way" read1 40
    expect report "$way" write1 5000
    expect report "$way" clear1 40
    expect report "$way" uninitialised 5000
done
echo "judged $checked runs; not there:${lacking:- nothing}"
