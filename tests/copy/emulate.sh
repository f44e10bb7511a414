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

# run MODEL TEST [CASE]: a test program on that CPU, or one test case of it.
run() {
    echo "$1: $2${3:+, case $3}"
    env ${3:+"CK_RUN_CASE=$3"} qemu-x86_64 -cpu "$1" "$tests/test_copy_$2" >"$log" 2>&1 || {
        cat "$log"
        exit 1
    }
    grep -E '^[0-9]+ passed|vector' "$log"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for model in Nehalem Haswell,-erms Haswell; do
    run "$model" select M23
    for test in impl page plan check flag; do
        run "$model" "$test"
    done
done
