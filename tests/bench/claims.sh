#!/bin/sh
# SPDX-License-Identifier: MIT
# claims.sh PROGRAM FASTMM: the claims once through, and what doesn't depend on how fast this machine is.
set -u
program=$1 fastmm=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

fail() {
    echo "FAILED: $*"
    failed=1
}

# has WHAT PATTERN FILE
has() {
    grep -q -- "$2" "$3" || fail "$1: no '$2'"
}

# The user stands somewhere with a script, and in a hook, say, git works on a repository.
mkdir "$scratch/here"
cat >"$scratch/here/script" <<'end'
#!/bin/sh
echo "$GIT_DIR" >>ran
end
chmod +x "$scratch/here/script"
GIT_DIR=$scratch/users
export GIT_DIR
contents() {
    find "$GIT_DIR" -type f -exec cksum {} + 2>/dev/null | sort
}
if command -v git >/dev/null; then
    git init -q --bare "$GIT_DIR" || fail 'no repository'
fi
contents >"$scratch/before"
(cd "$scratch/here" && "$program" --smoke --report "$scratch" -- ./script) >"$scratch/out" 2>"$scratch/err" ||
    fail "status $?"
contents >"$scratch/after"
cmp "$scratch/before" "$scratch/after" || fail "the user's repository was touched"
has 'the command, as the user would run it' "^$GIT_DIR\$" "$scratch/here/ran"
has 'the command' '"name": "command/./script/elapsed/empty-fastmm"' "$scratch/claims.json"
if command -v git >/dev/null; then
    has 'git' '"name": "git/all/elapsed/empty-fastmm"' "$scratch/claims.json"
fi
unset GIT_DIR
cat "$scratch/err"

for i in 1 2 3; do
    has 'a sentence' "^$i\. " "$scratch/out"
    has 'a table' "^Claim $i: " "$scratch/out"
done
has 'what mm people know' 'Min *Amean *Stddev *CoeffVar *Max *BAmean-50 *BAmean-95 *BAmean-99' "$scratch/out"
has 'the system-call side' 'claim 2, the system-call side' "$scratch/out"
has 'text sizes' ' BAmean-99 *text$' "$scratch/out"
has 'text of what is called' 'lookup that is called: [1-9][0-9]* ([a-z]*_plain)' "$scratch/out"
[ "$(grep -c '^  gain %' "$scratch/claims.txt")" = "$(grep -c '"claim": ' "$scratch/claims.json")" ] ||
    fail 'claims.txt has not a table for each comparison'
[ "$(sed '1,/^1\. /d; /^Report: /d' "$scratch/out" | awk 'length > 160' | wc -l)" = 0 ] || fail 'lines are too long to read'

# The report is one that fastmm compare understands, and a thing compared with itself is no other.
"$fastmm" compare "$scratch/claims.json" "$scratch/claims.json" >"$scratch/same" 2>&1 ||
    fail "fastmm compare: $(cat "$scratch/same")"
has 'compared with itself' ' 0 better, 0 worse' "$scratch/same"
[ "$(grep -c '"claim": ' "$scratch/claims.json")" = $(($(wc -l <"$scratch/claims.csv") - 1)) ] ||
    fail 'claims.csv has other rows than claims.json'
for claim in 1 2 3 4; do
    has "claim $claim" "\"claim\": $claim, \"name\": " "$scratch/claims.json"
    if command -v gnuplot >/dev/null; then
        has "the picture of claim $claim" '</svg>' "$scratch/claims/claim$claim.svg"
    fi
done

# In a mapping that isn't registered, testing its flag first spares the call.
branches=$(grep '"name": "setter/uffd:absent/[a-z]*_plain/gate_first"' "$scratch/claims.json")
case $branches in
*'single steps'*) ;;
*'1.00 calls ungated, '*' and 0.00 gate_first'*) ;;
*) fail "branches: $branches" ;;
esac

# Copy p of a function begins 4p bytes behind a multiple of 64, whichever compiler made it.
if command -v nm >/dev/null; then
    nm "$program" | sed -n 's/^\([0-9a-f]*\) t call_3_\([0-9]*\)$/\1 \2/p' >"$scratch/placed"
    [ -s "$scratch/placed" ] || fail 'no placed functions'
    while read -r address copy; do
        low=$(echo "$address" | sed 's/.*\(..\)$/\1/')
        [ $((0x$low % 64)) = $((4 * copy)) ] || fail "call_3_$copy lies at $address"
    done <"$scratch/placed"
fi

"$program" --smoke nonsense >/dev/null 2>&1
[ $? = 2 ] || fail 'an unknown mode is not refused'
"$program" --smoke --report /dev/null/here >/dev/null 2>"$scratch/err"
[ $? = 2 ] || fail 'a report that can not be written is not refused at once'
has 'the refusal' '/dev/null/here' "$scratch/err"

[ $failed = 0 ] && echo 'the claims behaved'
exit $failed
