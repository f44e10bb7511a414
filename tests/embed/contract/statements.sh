#!/bin/sh
# SPDX-License-Identifier: MIT
# Every statement of docs/embedding.md names the tests that hold it, and every test it names exists.
#
# usage: statements.sh CTEST BUILD_DIR DOCUMENT
#
# A statement is an item of a list; its tests stand in its last line as [name, name].
set -eu
ctest=$1 build=$2 document=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$build" && "$ctest" -N) | sed -n 's/^ *Test *#[0-9]*: *//p' | sort -u >"$work/tests"
[ -s "$work/tests" ] || { echo "no tests in $build" >&2; exit 1; }

# An item begins with "- " and ends before the next one, a heading or an empty line.
awk -v names="$work/named" '
    function finish() {
        if (item == "")
            return
        items++
        if (!match(item, /\[[a-z][a-z0-9_.A-Z, *+-]*\]$/)) {
            print "no test named: " item
            failed = 1
        } else {
            list = substr(item, RSTART + 1, RLENGTH - 2)
            gsub(/, */, "\n", list)
            print list >names
        }
        item = ""
    }
    /^- / { finish(); item = $0; next }
    /^($|#|\|)/ { finish(); next }
    item != "" { sub(/^ */, " "); item = item $0 }
    END { finish(); print items " statements"; exit failed || !items }
' "$document"

# Tests of compilers that are not here, or of what this build leaves out, are missing with reason: a
# name may end in ".*" for "by each compiler", and then one is enough.
missing=0
sort -u "$work/named" | while read -r name; do
    case $name in
    *.\*) pattern="^$(echo "${name%\*}" | sed 's/\./\\./g')" ;;
    *) pattern="^$(echo "$name" | sed 's/\./\\./g')\$" ;;
    esac
    grep -q "$pattern" "$work/tests" || echo "$name"
done >"$work/missing"
if [ -s "$work/missing" ]; then
    echo "these tests do not exist:" >&2
    cat "$work/missing" >&2
    missing=1
fi
exit $missing
