#!/bin/sh
# SPDX-License-Identifier: MIT
# preload.sh LIBRARY: real programs do the same with the library and without, and complain of nothing.
set -eu
library=$1
command -v git >/dev/null || { echo 'skipped: git is not here'; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_AUTHOR_DATE=2020-01-01T00:00:00Z
export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org GIT_COMMITTER_DATE=2020-01-01T00:00:00Z

work() (
    set -e
    name=$1
    mkdir "$scratch/$name"
    cd "$scratch/$name"
    git init -q -b main .
    for commit in 1 2 3; do
        seq 1 2000 | awk -v commit=$commit '{ print $1, $1 * commit % 77 }' | sort -k2 -n >numbers
        seq $commit 50 | tr '\n' ' ' >line
        git add .
        git commit -q -m "commit $commit"
    done
    git status
    git log -p
    git grep -c 7
    git diff HEAD~2
    git gc -q
    git fsck --strict
    git archive HEAD | cksum
)

work without >"$scratch/expected" 2>&1
LD_PRELOAD=$library
export LD_PRELOAD
work with >"$scratch/got" 2>&1
unset LD_PRELOAD
cmp "$scratch/expected" "$scratch/got" || { diff "$scratch/expected" "$scratch/got" | head; exit 1; }
echo "$(wc -l <"$scratch/got") lines are the same with the library"
