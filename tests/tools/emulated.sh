#!/bin/sh
# SPDX-License-Identifier: MIT
# emulated.sh FASTMM TEST...: one build on CPUs old and new. The program must say which way it chose
# there, and each test program, given a Check case as NAME:CASE or without, must pass.
set -u
fastmm=$1
shift
if ! command -v qemu-x86_64 >/dev/null || ! qemu-x86_64 -cpu max "$fastmm" version >/dev/null 2>&1; then
    echo 'SKIP: qemu-x86_64 is missing, or this program is not for x86-64'
    exit 77
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

# chooses MODEL PATTERN...: `fastmm info` on that CPU prints each of them.
chooses() {
    model=$1
    shift
    if ! qemu-x86_64 -cpu "$model" "$fastmm" info >"$scratch/info" 2>"$scratch/err"; then
        echo "FAILED: fastmm info on $model"
        cat "$scratch/info" "$scratch/err"
        failed=1
    fi
    for pattern in "$@"; do
        grep -q -- "$pattern" "$scratch/info" && continue
        echo "FAILED: no '$pattern' on $model"
        cat "$scratch/info"
        failed=1
    done
}

# passes MODEL PROGRAM[:CASE]
passes() {
    unset CK_RUN_CASE
    case $2 in
    *:*) export CK_RUN_CASE="${2#*:}" ;;
    esac
    FASTMM_TEST_SEED=1 qemu-x86_64 -cpu "$1" "${2%%:*}" >"$scratch/out" 2>&1 && return
    echo "FAILED: $2 on $1"
    cat "$scratch/out"
    failed=1
}

chooses Conroe 'vectors are sse2' 'erms *no'
chooses Nehalem 'vectors are sse2' 'erms *no'
chooses SandyBridge 'vectors are sse2' 'avx  *yes' 'erms *no'
chooses Haswell 'vectors are avx2' 'erms *yes' 'below 4 KiB'
chooses EPYC-Milan 'vectors are avx2' 'AMD (AuthenticAMD), family 19h'
# No SIGILL where the CPU has less than the one that this was built on.
for test in "$@"; do
    for model in Conroe max; do
        passes "$model" "$test"
    done
done

[ $failed = 0 ] && echo 'every model behaved'
exit $failed
