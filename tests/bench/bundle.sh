#!/bin/sh
# SPDX-License-Identifier: MIT
# bundle.sh CPACK BUILD: packs the bundle and runs it where it was unpacked, in an empty environment.
set -eu
cpack=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && "$cpack" -G TGZ --config "$build/CPackConfig.cmake" -B "$scratch/packing") >"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; exit 1; }
mkdir "$scratch/root"
tar -xzf "$scratch"/packing/fastmm-bench-*.tar.gz -C "$scratch/root" --strip-components=1
cd "$scratch/root"
for file in README run-bench fastmm goals.csv data/redis.snapshot libfastmm-preload.so \
    fastmm-bench fastmm-bench-copy fastmm-bench-walk fastmm-bench-counter fastmm-bench-claims; do
    [ -e "$file" ] || { echo "FAILED: no $file"; exit 1; }
done
[ "$(wc -l <README)" = 2 ] || { echo 'FAILED: README has more than two lines'; exit 1; }

# Nothing but the kernel is needed.
command -v readelf >/dev/null || echo 'readelf is not here: loaders and versions are not looked at'
for program in fastmm fastmm-bench fastmm-bench-*; do
    command -v readelf >/dev/null || break
    readelf -lW "$program" >"$scratch/headers" # which must not fail
    if grep -q INTERP "$scratch/headers"; then
        echo "FAILED: $program needs a loader"
        exit 1
    fi
done
# The preload library lives with the C libraries of the last five years.
if command -v readelf >/dev/null; then
    readelf -V libfastmm-preload.so | grep -o 'GLIBC_[0-9.]*' | sort -u >"$scratch/versions"
    sed 's/GLIBC_//' "$scratch/versions" | awk -F. '$1 > 2 || $2 > 31 { exit 1 }' ||
        { echo "FAILED: $(cat "$scratch/versions")"; exit 1; }
fi
env -i PATH=/usr/bin:/bin ./run-bench "$scratch/out" smoke >"$scratch/smoke" 2>&1 ||
    { tail -n 20 "$scratch/smoke"; exit 1; }
./fastmm compare "$scratch/out/claims.json" "$scratch/out/claims.json" >"$scratch/compared"
tail -n 5 "$scratch/compared"
if ./run-bench >/dev/null 2>&1 || ./run-bench "$scratch/out" nonsense >/dev/null 2>&1; then
    echo 'FAILED: run-bench accepts anything'
    exit 1
fi
echo 'the bundle behaved'
