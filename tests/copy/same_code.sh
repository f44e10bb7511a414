#!/bin/sh
# SPDX-License-Identifier: MIT
# At sizes that the compiler knows, ours must be the compiler's own expansion, instruction for
# instruction: the loops of the bench around either are compared.
#
# usage: same_code.sh OBJDUMP OBJECT OBJECT
set -eu
objdump=$1
if ! command -v "$objdump" >/dev/null; then
    echo "SKIP: $objdump is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The instructions of each loop behind its name, without addresses and padding. Compilers order functions
# as they like.
list() {
    "$objdump" -d --no-show-raw-insn "$1" | awk '
        /^[0-9a-f]+ <.*>:$/ { loop = $2 ~ /^<loop_/ ? $2 : ""; next }
        loop == "" || !/^ / { next }
        {
            sub(/^ +[0-9a-f]+:\t/, "")
            gsub(/[0-9a-f]+ </, "<")
            sub(/[ \t]+$/, "")
        }
        /^(data16|cs|nop|xchg +%ax,%ax)/ { next }
        { print loop, $0 }' | sort -s -k 1,1
}

list "$2" >"$work/one"
list "$3" >"$work/other"
loops=$(cut -d ' ' -f 1 "$work/one" | uniq | wc -l)
[ "$loops" -gt 10 ] || { echo "no loops were found" >&2; exit 1; }
diff "$work/one" "$work/other"
echo "$loops loops, the same $(wc -l <"$work/one") instructions"
