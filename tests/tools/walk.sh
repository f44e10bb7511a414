#!/bin/sh
# SPDX-License-Identifier: MIT
# walk.sh FASTMM: what `fastmm walk` says of a process that stands still, against what the kernel says.
set -eu
fastmm=$1
scratch=$(mktemp -d)
sleep 60 &
pid=$!
trap 'kill $pid; rm -rf "$scratch"' EXIT
failed=0
wrong() {
    echo "FAILED: $*"
    failed=1
}

# Until it sleeps, it changes.
tries=0
until grep -q '^State:.S' /proc/$pid/status && grep -q sleep /proc/$pid/cmdline; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo 'SKIP: /proc tells nothing of a process that sleeps'; exit 77; }
    sleep 0.1
done
sleep 0.2

"$fastmm" walk --pid $pid >"$scratch/out" || exit 1
cat "$scratch/out"
# all pages anon file zero swap marker wp runs tables copied
pages=$(awk '/^all / { print $2 }' "$scratch/out")
resident=$(awk '/^all / { print $3 + $4 }' "$scratch/out")
copied=$(awk '/^all / { print $11 }' "$scratch/out")

mappings=$(grep -cv vsyscall /proc/$pid/maps)
[ "$(grep -cE '^[0-9a-f]+-[0-9a-f]+ ' "$scratch/out")" = "$mappings" ] || wrong "not $mappings mappings"

size=$(awk '/^Size:/ { s += $2 } /vsyscall/ { skip = 1 } END { print s / 4 }' /proc/$pid/smaps)
vsyscall=$(grep -c vsyscall /proc/$pid/maps || true)
[ "$pages" = $((size - vsyscall)) ] || wrong "$pages pages of address space, the kernel has $size"

# Resident by smaps, which counts what entries map, the vdso among it.
rss=$(awk '/^Rss:/ { s += $2 } END { print s / 4 }' /proc/$pid/smaps)
[ "$resident" = "$rss" ] || wrong "$resident pages resident, the kernel says $rss"

# Tables may be empty, and then aren't seen.
tables=$(awk '/^tables:/ { print $2 + $5 + $7 }' "$scratch/out")
vmpte=$(awk '/^VmPTE:/ { print $2 / 4 }' /proc/$pid/status)
[ "$tables" -le "$vmpte" ] || wrong "$tables tables, the kernel has $vmpte"

# A fork copies the entries of mappings with anonymous pages, at least those.
anon=$(awk '/^Anonymous:/ { s += $2 } END { print s / 4 }' /proc/$pid/smaps)
if [ "$copied" -lt "$anon" ] || [ "$copied" -gt "$rss" ]; then
    wrong "a fork copies $copied of $rss entries, $anon of them anonymous"
fi
exit $failed
