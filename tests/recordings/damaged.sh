#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: damaged.sh PROGRAM RECORDING. Changes one thing in a copy of the recording at a time: what the
# kernel is said to have shown differs from the model then (status 1), or makes no sense (status 2).
set -eu
program=$1 recording=$2
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT

expect() { # STATUS WHAT SED-PROGRAM
    sed "$3" "$recording" >"$copy"
    if cmp -s "$recording" "$copy"; then
        echo "$2: nothing was changed"
        exit 1
    fi
    status=0
    "$program" mm run --on recorded "$copy" >/dev/null 2>&1 || status=$?
    if [ "$status" != "$1" ]; then
        echo "$2: exit status $status, expected $1"
        exit 1
    fi
    echo "$2: noticed"
}

expect 1 'a page of another kind' 's/^\(| p0 page .*\) anon/\1 zero/'
expect 1 'another map count' 's/^\(| p0 page .* \)x1/\1x2/'
expect 1 'a page that is shared by nobody' 's/^\(| p[1-7] page .* #\)[0-9]*/\18000/'
expect 1 'a protected page that was not' 's/^\(| p0 page .* anon\) x/\1 wp x/'
expect 1 'another entry' 's/^\(| p0 page .* \)84\([0-9a-f]*\)$/\180\2/'
expect 1 'a counter' 's/^| p0 rss 0 1/| p0 rss 0 2/'
expect 1 'the border of a mapping' 's/^\(| p0 mapped [0-9]*\) [0-9]*/\1 524/'
expect 1 'a permission' 's/^\(| p0 mapped [0-9]* [0-9]*\) 3/\1 1/'
expect 1 'an outcome' 's/^| = 1$/| = 2/'
expect 1 'a process that lives' '0,/^| p1 lives/s/^| p1 lives/| p1 ends/'
expect 2 'a word that means nothing' 's/^| p0 rss/| p0 res/'
expect 2 'a page out of the window' 's/^| p0 page [0-9]*/| p0 page 1023/'
expect 2 'no outcome' '0,/^| = /s/^| = .*//'
expect 2 'no first line' '/^| shows/d'
