/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_BENCH_WALK_REDIS_H
#define FASTMM_BENCH_WALK_REDIS_H

#include <fastmm/mm.h>

/*
 * A machine that holds the recorded redis-server: bench/data/redis.snapshot of the source tree, or
 * the file that FASTMM_BENCH_REDIS names. 0, or a negative errno with whatever was made so far.
 */
int redis_load(struct fastmm_machine **machine, struct fastmm_mm **mm);

#endif
