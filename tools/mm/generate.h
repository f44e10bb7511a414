/* SPDX-License-Identifier: MIT */
/* Makes up traces: random operations that are likely to mean something where they stand. */
#ifndef FASTMM_TOOLS_MM_GENERATE_H
#define FASTMM_TOOLS_MM_GENERATE_H

#include "mm/trace.h"

/* Which memory there is. ALL is one of the others, by the seed. */
enum generate_kind { GENERATE_ANON, GENERATE_SHMEM, GENERATE_FILE, GENERATE_MIXED, GENERATE_ALL };

struct generate_setup {
    enum generate_kind kind;
    bool no_fork_events; /* not everybody may register for them */
    bool no_swap;        /* nor have some */
    bool no_pins;        /* nor pin pages */
};

/* Whether pages may be swapped out in its traces. */
bool generate_swaps(const struct generate_setup *setup);

/* 0, or -1 for want of memory. The same seed, setup and count make the same trace. */
int generate_trace(uint64_t seed, const struct generate_setup *setup, size_t count,
                   struct trace *trace);

#endif
