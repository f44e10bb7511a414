/* SPDX-License-Identifier: MIT */
/*
 * layout:redis: the address space of a redis-server with 264,112 keys, as it was recorded
 * (bench/data/README.md). Its frames lie in the order in which the server used them, which is what
 * no made-up layout gets right.
 */
#ifndef FASTMM_BENCH_LAYOUT_REDIS_H
#define FASTMM_BENCH_LAYOUT_REDIS_H

#include <fastmm/mm.h>
#include <fastmm/snapshot.h>

/*
 * A machine of that build that holds that address space and nothing else, with hardly a frame to
 * spare. The caller destroys both. `summary` may be NULL. 0 or a negative errno.
 */
int layout_redis(enum fastmm_mm_impl build, struct fastmm_machine **machine, struct fastmm_mm **mm,
                 struct fastmm_snapshot_summary *summary);

#endif
