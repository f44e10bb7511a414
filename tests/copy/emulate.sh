#!/bin/sh
# SPDX-License-Identifier: MIT
# The same binaries on CPUs without AVX2, without ERMS and with both: no instruction that the CPU
# lacks, right bytes, and a choice that fits.
#
# usage: emulate.sh DIRECTORY_OF_THE_TESTS
set -eu
tests=$1

if ! command -v qemu-x86_64 >/dev/null; then
    echo "SKIP: qemu-x86_64 is not installed"
    exit 77
fi

# run MODEL CASE TEST: one test case of a test program on that CPU.
run() {
    echo "$1: $3, case $2"
    CK_RUN_CASE=$2 qemu-x86_64 -cpu "$1" "$tests/$3" >"$log" 2>&1 || {
        cat "$log"
        exit 1
    }
    grep -E '^[0-9]+ passed|vector' "$log"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for model in Nehalem Haswell,-erms Haswell; do
    run "$model" M23 test_copy_select
    run "$model" M15 test_copy_impl
    run "$model" inline test_copy_impl
    run "$model" rep test_copy_impl
done
run Nehalem sse2 test_copy_impl
run Haswell avx2 test_copy_impl
