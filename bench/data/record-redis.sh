#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes redis.snapshot: starts a redis-server of its own on a loopback port, fills it, changes much
# of it, records it while it stands still, and ends it. Nothing is left running, whatever happens.
#
# usage: record-redis.sh FASTMM OUTPUT
#   FASTMM  the program `fastmm`; run as root, or the snapshot has no frame numbers
#   OUTPUT  the file to write; must not exist
set -eu

keys=240000
changes=300000
minimum=200000

die() {
    echo "record-redis: $*" >&2
    exit 1
}

[ $# -eq 2 ] || die "usage: record-redis.sh FASTMM OUTPUT"
fastmm=$1
output=$2
[ -x "$fastmm" ] || die "$fastmm is not a program"
[ ! -e "$output" ] || die "$output exists"
for program in redis-server redis-cli awk; do
    command -v "$program" >/dev/null || die "$program is not installed"
done

directory=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then
        kill -CONT "$server" 2>/dev/null || :
        kill "$server" 2>/dev/null || :
        wait "$server" 2>/dev/null || :
    fi
    rm -rf "$directory"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

cli() {
    redis-cli -h 127.0.0.1 -p "$port" "$@"
}

# A server of ours on a port that nobody has: its run id is asked for, so that another one's answer
# on the same port is not taken for ours.
start() {
    redis-server --bind 127.0.0.1 --port "$port" --save '' --appendonly no --daemonize no \
        --dir "$directory" --pidfile "$directory/pid" --logfile "$directory/log" &
    server=$!
    tries=0
    while [ $tries -lt 50 ]; do
        if ! kill -0 "$server" 2>/dev/null; then
            wait "$server" || :
            server=
            return 1
        fi
        if cli info server 2>/dev/null | grep -q "^process_id:${server}[^0-9]*\$"; then
            return 0
        fi
        tries=$((tries + 1))
        sleep 0.1
    done
    die "the server doesn't answer: $(tail -n 1 "$directory/log")"
}

attempt=0
until
    port=$(awk -v seed="$$$attempt" 'BEGIN { srand(seed); print 20000 + int(rand() * 30000) }')
    start
do
    attempt=$((attempt + 1))
    [ $attempt -lt 10 ] || die "no free port found: $(tail -n 1 "$directory/log")"
done

# Values: half small, most of the rest up to a kilobyte, some up to four. The seeds are fixed; what
# the allocator and the kernel make of it differs from run to run.
common='
    function length_of(r) {
        if (r < 0.5) return 16 + int(rand() * 64)
        if (r < 0.9) return 64 + int(rand() * 960)
        return 1024 + int(rand() * 3072)
    }
    BEGIN {
        filler = "0123456789abcdef"
        while (length(filler) < 4096) filler = filler filler
    }
    function value() { return substr(filler, 1, length_of(rand())) }
'
awk -v keys=$keys "$common"'
    BEGIN {
        srand(1)
        for (i = 0; i < keys; i++) printf "SET key:%d %s\r\n", i, value()
    }' | cli --pipe >/dev/null
# Few keys get most of the changes; values grow, shrink, go and come.
awk -v keys=$keys -v changes=$changes "$common"'
    BEGIN {
        srand(2)
        for (i = 0; i < changes; i++) {
            r = rand()
            key = int(keys * rand() ^ 3)
            if (r < 0.60) printf "SET key:%d %s\r\n", key, value()
            else if (r < 0.75) printf "APPEND key:%d %s\r\n", key, substr(filler, 1, 100)
            else if (r < 0.85) printf "DEL key:%d\r\n", int(keys * rand())
            else printf "SET new:%d %s\r\n", i, value()
        }
    }' | cli --pipe >/dev/null

count=$(cli dbsize)
[ "$count" -ge $minimum ] || die "only $count keys"
cli info | tr -d '\r' |
    grep -E '^(redis_version|mem_allocator|used_memory_human|used_memory_rss_human):'
echo "keys:$count"

kill -STOP "$server"
"$fastmm" record --pid "$server" --output "$output"
"$fastmm" snapshot "$output"
