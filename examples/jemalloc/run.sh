#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs programs under the hooks, and fails unless the figures at exit equal the kernel's.
#
# usage: run.sh MODE HOOKS CHURN [REQUESTS [ROUNDS [IO_THREADS]]]
#   churn  a program with threads and forks
#   limit  the same under a limit that it hits
#   redis  the distribution's redis-server during its own benchmark, on a free port of the loopback
#          interface, with a fork for a snapshot in between: without the hooks, and with them without
#          statistics, with plain atomics and with the library's counters, in turn in each round
set -eu
mode=$1 hooks=$2 churn=$3 requests=${4:-20000} rounds=${5:-1} io_threads=${6:-1}
[ "${FASTMM_TEST_LONG:-}" != 1 ] || requests=${4:-1000000}
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

# verdict: shows the report; it must name the kernel's view, and no difference.
verdict() {
    cat "$work/report"
    if grep -q DIFFERENT "$work/report"; then
        echo "the figures are not exact" >&2
        exit 1
    fi
    grep -q '^kernel: .*the same' "$work/report" || {
        echo "the figures were not compared with the kernel's" >&2
        exit 1
    }
}

# hooked HOOKS COMMAND...: in this shell, so that a background server is its child.
hooked() {
    preload=$1
    shift
    FASTMM_JEMALLOC_CHECK=1 FASTMM_JEMALLOC_REPORT=$work/report LD_PRELOAD=$preload exec "$@"
}

# figure NAME: from the line of the report that counts.
figure() {
    sed -n "s/^counted: .*$1 \([0-9]*\).*/\1/p" "$work/report"
}

run_limit() {
    limit=64000000
    (FASTMM_JEMALLOC_LIMIT=$limit hooked "$hooks" "$churn") >"$work/out"
    cat "$work/out"
    verdict
    if grep -q '^refused 0$' "$work/out" || [ "$(figure committed)" -gt $limit ]; then
        echo "the limit of $limit was not held, or never reached" >&2
        exit 1
    fi
}

ask() {
    redis-cli -h 127.0.0.1 -p "$port" "$@"
}

broken() {
    cat "$work/log" "$work/bench" >&2
    echo "$*" >&2
    exit 1
}

# ok COMMAND...: redis-cli succeeds on errors that the server reports.
ok() {
    answer=$(ask "$@")
    case $answer in
    OK | 'Background saving started') ;;
    *) broken "$*: $answer" ;;
    esac
}

# serve COMMAND...: starts redis-server by it, empty, with a port that nobody has, and waits until it answers.
serve() {
    rm -f "$work/dump.rdb"
    for try in 1 2 3 4 5; do
        port=$((20000 + ($$ * 7 + try * 1931) % 30000))
        ("$@" redis-server --bind 127.0.0.1 --port $port --save '' --dir "$work" --daemonize no \
            --io-threads "$io_threads" --io-threads-do-reads yes \
            >"$work/log" 2>&1) &
        server=$!
        for _ in $(seq 100); do
            if [ "$(ask get "$$" 2>/dev/null)" = '' ] && ask ping >/dev/null 2>&1; then
                kill -0 $server 2>/dev/null && return 0
            fi
            kill -0 $server 2>/dev/null || break
            sleep 0.05
        done
        kill $server 2>/dev/null || true
        wait $server 2>/dev/null || true
        server=
    done
    cat "$work/log" >&2
    exit 1
}

# bench NAME COMMAND...: its benchmark, a snapshot by a forked child while it runs, an orderly end.
bench() {
    name=$1
    shift
    serve "$@"
    redis-benchmark -h 127.0.0.1 -p "$port" -q -n "$requests" -r 100000 -d 300 -P 8 \
        -t set,get,lpush,lpop,hset,sadd >"$work/bench" 2>&1 || broken "redis-benchmark failed"
    tr '\r' '\n' <"$work/bench" |
        sed -n "s/^\([A-Z]*\): \([0-9.]*\) requests.*/$name \1 \2/p" | tee -a "$work/results"
    [ "$(grep -c 'requests per second' "$work/bench")" = 6 ] || broken "redis-benchmark did not end"
    ok bgsave
    for _ in $(seq 300); do
        ask info persistence | grep -q 'rdb_bgsave_in_progress:0' && break
        sleep 0.1
    done
    ask info persistence | grep -q 'rdb_last_bgsave_status:ok' || broken "the forked child failed"
    ask info memory | tr -d '\r' | sed -n "s/^\(used_memory\|used_memory_rss\):/$name \1 /p"
    ok flushall
    ok memory purge
    ask shutdown nosave >/dev/null 2>&1 || true
    wait "$server" || true
    server=
}

run_redis() {
    for tool in redis-server redis-cli redis-benchmark; do
        command -v $tool >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
    done
    ldd "$(command -v redis-server)" | grep -q libjemalloc || {
        echo "SKIP: this redis-server does not use the system's jemalloc"
        exit 77
    }
    ways='without none atomic fastmm'
    for _ in $(seq "$rounds"); do
        next=
        for way in $ways; do
            bench_way "$way"
            next="$way $next"
        done
        ways=$next
    done
    medians "$work/results"
}

bench_way() {
    case $1 in
    without) bench "$1" exec ;;
    fastmm) bench "$1" hooked "$hooks" ;;
    *) bench "$1" hooked "${hooks%.so}-$1.so" ;;
    esac
    case $1 in
    atomic | fastmm)
        verdict
        [ "$(figure purged)" -gt 0 ] || { echo "redis purged nothing" >&2; exit 1; }
        ;;
    esac
}

# medians FILE: of lines "way command rate", each way's requests a second over all commands, and its
# commands, as medians of the rounds.
medians() {
    sort -k 1,2 -s "$1" | awk -v rounds="$rounds" -v what="$requests of each command, $io_threads I/O thread(s)" '
        function median(a, n,    i, j, t) {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && a[j - 1] > a[j]; j--) {
                    t = a[j]; a[j] = a[j - 1]; a[j - 1] = t
                }
            least = a[1]; most = a[n]
            return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
        }
        {
            round = ++rounds_of[$1, $2]
            rate[$1, $2, round] = $3
            time[$1, round] += 1 / $3
            if (round == 1)
                commands[$1] = commands[$1] " " $2
        }
        END {
            print "FIGURE: redis-server, requests a second, " what ", median of " rounds " round(s)"
            split("without none atomic fastmm", ways, " ")
            split("without the hooks,hooks without statistics,with plain atomics,with our counters", title, ",")
            for (w = 1; w <= 4; w++) {
                way = ways[w]
                n = split(commands[way], command, " ")
                for (r = 1; r <= rounds; r++)
                    one[r] = n / time[way, r]
                text = sprintf("%d", median(one, rounds))
                text = text sprintf(" [%d, %d]:", least, most)
                for (c = 1; c <= n; c++) {
                    for (r = 1; r <= rounds; r++)
                        one[r] = rate[way, command[c], r]
                    text = text sprintf(" %s %d", command[c], median(one, rounds))
                }
                print "FIGURE:   " title[w] ": " text
            }
        }'
}

case $mode in
churn)
    (hooked "$hooks" "$churn")
    verdict
    ;;
limit) run_limit ;;
redis) run_redis ;;
*) echo "run.sh: no mode '$mode'" >&2; exit 2 ;;
esac
