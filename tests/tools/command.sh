#!/bin/sh
# SPDX-License-Identifier: MIT
# command.sh FASTMM: the program as a person meets it: what it prints, where, and its exit status.
set -u
fastmm=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

# expect STATUS PATTERN-ON-STDOUT PATTERN-ON-STDERR ARGUMENT...: an empty pattern wants no output.
expect() {
    status=$1 out=$2 err=$3
    shift 3
    "$fastmm" "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    wrong=
    [ $got = "$status" ] || wrong="status $got, not $status"
    for pair in "out:$out" "err:$err"; do
        file=$scratch/${pair%%:*} pattern=${pair#*:}
        if [ -z "$pattern" ]; then
            [ ! -s "$file" ] || wrong="$wrong; something on std${pair%%:*}"
        else
            grep -q -- "$pattern" "$file" || wrong="$wrong; no '$pattern' on std${pair%%:*}"
        fi
    done
    if [ -n "$wrong" ]; then
        echo "FAILED: fastmm $*: $wrong"
        cat "$scratch/out" "$scratch/err"
        failed=1
    fi
}

expect 2 '' 'usage: fastmm'
expect 0 'usage: fastmm' '' help
expect 0 'usage: fastmm' '' --help
expect 0 '^fastmm [0-9]' '' version
expect 2 '' "no command 'nonsense'" nonsense
expect 2 '' "no command 'nonsense'" help nonsense
expect 2 '' "no command ''" ''

expect 0 '^CPU ' '' info
expect 0 '^{' '' info --json
expect 0 'usage: fastmm info' '' info --help
expect 0 'usage: fastmm info' '' help info
expect 2 '' "no option '--nonsense'" info --nonsense
expect 2 '' "'--cpuid' needs a value" info --cpuid
expect 2 '' "nothing is expected at 'more'" info more
expect 2 '' 'stands alone' info --dump --json
expect 1 '' '/no/such/file: No such file' info --cpuid /no/such/file

cat >"$scratch/zen3" <<'DUMP'
CPUID 00000000: 00000010-68747541-444D4163-69746E65
CPUID 00000001: 00A00F11-00000000-80000000-178BFBFF
CPUID 00000007: 00000000-219C97A9-0040068C-00000010 [SL 00]
DUMP
expect 0 'family 19h, model 01h' '' info --cpuid "$scratch/zen3"
expect 0 'avx2 *no .*registers' '' info --cpuid "$scratch/zen3"
expect 0 'fsrm *yes' '' info --cpuid "$scratch/zen3"
expect 0 '"family": 25' '' info --json --cpuid "$scratch/zen3"
echo 'CPUID 7: nonsense' >>"$scratch/zen3"
expect 1 '' "$scratch/zen3:4: four registers" info --cpuid "$scratch/zen3"

expect 0 'usage: fastmm record' '' record --help
expect 0 'usage: fastmm walk' '' walk --help
expect 2 '' 'is expected' walk
expect 2 '' 'not a process number' walk --pid x
expect 1 '' 'no process' walk --pid 2147483647
expect 0 'usage: fastmm snapshot' '' snapshot --help
expect 2 '' 'pid is missing' record
expect 1 '' 'no process 2147483647' record --pid 2147483647 -o "$scratch/none"
expect 0 ' bytes$' '' record --pid $$ -o "$scratch/shell"
expect 0 'anonymous pages *[1-9]' '' snapshot "$scratch/shell"
expect 1 '' 'exists; --force' record --pid $$ -o "$scratch/shell"
expect 1 '' 'byte 0: this is not a snapshot' snapshot "$scratch/zen3"

expect 0 'usage: fastmm mm' '' mm --help
expect 2 '' 'is expected' mm
expect 2 '' 'a trace file is expected' mm run
expect 2 '' "makes no sense" mm run --on moon
expect 2 '' "makes no sense" mm fuzz --ops none
expect 2 '' '/no/such/file: No such file' mm run /no/such/file
printf 'p0 map 0 2 rw\np0 write 0 2 = ok\np0 rss anon 2\n' >"$scratch/trace"
expect 0 '^3 operations carried out' '' mm run "$scratch/trace"
echo 'p0 expect 1 zero' >>"$scratch/trace"
expect 1 'page 1: anon' '' mm run "$scratch/trace"
echo 'p0 juggle 1' >>"$scratch/trace"
expect 2 '' "$scratch/trace:5:4: no operation 'juggle'" mm run "$scratch/trace"
# A recording appears whole or not at all, also over the trace itself.
cp "$scratch/trace" "$scratch/before"
expect 2 '' 'juggle' mm run "$scratch/trace" --record "$scratch/trace"
cmp "$scratch/before" "$scratch/trace" || failed=1
expect 2 '' 'No such file' mm run "$scratch/trace" --record "$scratch/none/at/all"
sed '$d' "$scratch/before" >"$scratch/trace"
expect 1 'page 1: anon' '' mm run "$scratch/trace" --record "$scratch/recording"
for left in "$scratch"/recording*; do
    [ ! -e "$left" ] || { echo "FAILED: $left was left"; failed=1; }
done
# What isn't permitted for one doesn't hide what is wrong with another. No kernel is such a machine.
printf 'machine soft-dirty\np0 map 0 2 rw\n' >"$scratch/soft"
expect 77 '^0 operations' . mm run "$scratch/soft" --on kernel
expect 2 '' juggle mm run "$scratch/soft" "$scratch/before" --on kernel
if [ -w /dev/full ]; then
    "$fastmm" mm make >/dev/full 2>"$scratch/err"
    [ $? = 2 ] || { echo "FAILED: fastmm mm make on a full disk"; failed=1; }
fi

# Settings: refused by file and line, or by the library with its reason.
echo 'copy_rep_min = 4 KiB' >"$scratch/settings"
expect 0 'set by the user' '' info --settings "$scratch/settings"
expect 0 '"bytes": 4096' '' info --json --settings "$scratch/settings"
echo 'copy_stream_min = 1' >>"$scratch/settings"
expect 1 '' "$scratch/settings: refused on this CPU: ." info --settings "$scratch/settings"
echo junk >>"$scratch/settings"
expect 1 '' "$scratch/settings:3: 'key = value'" info --settings "$scratch/settings"

expect 0 'usage: fastmm tune' '' tune --help
expect 2 '' "no option '--nonsense'" tune --nonsense
expect 2 '' "'-o' needs a value" tune -o
expect 1 '' '/no/such/dir/file: No such file' tune -o /no/such/dir/file

# comparison FILE CPU TIME...: a result file of one case.
comparison() {
    file=$1 cpu=$2
    shift 2
    {
        printf '{"context": {"cpu": "%s"}, "benchmarks": [' "$cpu"
        separator=
        for time; do
            printf '%s{"run_name": "counter/add", "run_type": "iteration", "real_time": %s,' \
                "$separator" "$time"
            printf '"time_unit": "ns"}'
            separator=,
        done
        echo ']}'
    } >"$file"
}
comparison "$scratch/a" X 10 10.1 9.9 10 10.1 10
comparison "$scratch/b" Y 11 11.1 10.9 11 11.1 11
expect 0 'counter/add: worse, -9.98' '' compare "$scratch/a" "$scratch/b"
expect 0 'counter/add: none, +0.00' '' compare "$scratch/a" "$scratch/a"
expect 0 'cpu *A: X' '' compare "$scratch/a" "$scratch/b"
expect 0 'BAmean-95 *BAmean-99' '' compare "$scratch/a" "$scratch/b"
expect 0 '"verdict": "worse"' '' compare --json "$scratch/a" "$scratch/b"
comparison "$scratch/c" X 10
expect 0 'undecided.*1 clusters are too few' '' compare "$scratch/a" "$scratch/c"
expect 0 'usage: fastmm compare' '' compare --help
expect 2 '' 'two files are compared, and 1 were named' compare "$scratch/a"
expect 2 '' 'unknown option' compare --nonsense
expect 1 '' '/no/such/file: No such file' compare "$scratch/a" /no/such/file
expect 1 '' "$scratch/zen3:1:1: no value" compare "$scratch/zen3" "$scratch/a"
echo '{"goals": []}' >"$scratch/empty"
expect 1 '' "$scratch/empty: there are no times in it" compare "$scratch/a" "$scratch/empty"
expect 1 '' 'larger than 256 MiB' compare "$scratch/a" /dev/zero

if "$fastmm" info >/dev/full 2>"$scratch/err" || ! grep -q 'cannot write' "$scratch/err"; then
    echo 'FAILED: a full disk looks like success'
    failed=1
fi

[ $failed = 0 ] && echo 'every command behaved'
exit $failed
