#!/bin/sh
# SPDX-License-Identifier: MIT
# tune.sh FASTMM: measures for real and checks what comes out, not the figures.
set -eu
fastmm=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$fastmm" tune --json -o "$scratch/settings" >"$scratch/json"
for key in '"copy": {' '"clear": {' '"bands": \[' '"alias_maps": \[' '"settings": {' '"libc": {'; do
    grep -q "$key" "$scratch/json" || { echo "no $key in the JSON"; cat "$scratch/json"; exit 1; }
done
cat "$scratch/settings"
[ ! -e "$scratch/settings.part" ] || { echo 'a part is left behind'; exit 1; }
"$fastmm" info --settings "$scratch/settings" | grep 'Copy and clear'
