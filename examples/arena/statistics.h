/* SPDX-License-Identifier: MIT */
/* What the arena counts, and its limit. */
#ifndef ARENA_STATISTICS_H
#define ARENA_STATISTICS_H

#include "../counting.h"

enum footprint { MAPPED, COMMITTED, PURGED, FOOTPRINT_COUNT };
enum traffic { ALLOCATIONS, FREES, CLEARED, FRESH, COPIED, TRAFFIC_COUNT };

/* A CPU holds about this much of the limit as credit: a few dozen typical blocks. */
enum { LIMIT_BATCH = 64 * 1024 };

/* The number of bytes handed out is what the quota has in use. */
struct statistics {
    struct fastmm_counter_group3 footprint;
    struct fastmm_counter_group5 traffic;
    struct fastmm_quota limit;
};

#endif
