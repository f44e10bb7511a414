#!/bin/sh
# SPDX-License-Identifier: MIT
# Explores a model exhaustively.
#
# usage: run.sh holds|finds MODEL.pml [DEFINE...]
#   holds   no interleaving violates an assertion; prints how many states there are
#   finds   the error planted by the last DEFINE is found
set -eu
expect=$1 model=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=
for define; do
    flags="$flags -D$define"
done
cp "$model" "$work/model.pml"
cd "$work"
# shellcheck disable=SC2086 # a list of flags
spin $flags -a model.pml
cc -w -O2 -DSAFETY -DCOLLAPSE -o pan pan.c
./pan -m100000 >log
if grep -q 'max search depth too small' log || ! grep -q 'errors: ' log; then
    cat log
    exit 1
fi
errors=$(sed -n 's/.*errors: //p' log)
states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' log)
echo "$model $*: $states states, $errors errors"
case $expect in
holds) [ "$errors" -eq 0 ] || { cat log; exit 1; } ;;
finds) [ "$errors" -ne 0 ] || { echo "the planted error was not found"; exit 1; } ;;
*) exit 2 ;;
esac
