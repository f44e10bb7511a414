/* SPDX-License-Identifier: MIT */
/*
 * Resident-set counters of an address space, and the small array in which an operation collects
 * its changes, so that the counters are touched once per table.
 */
#ifndef FASTMM_SRC_MM_RSS_H
#define FASTMM_SRC_MM_RSS_H

#include <fastmm/mm.h>

struct rss {
    int64_t value[FASTMM_RSS_COUNTERS];
};

struct rss_change {
    int64_t by[FASTMM_RSS_COUNTERS];
};

static inline void rss_add(struct rss *rss, enum fastmm_rss which, int64_t by)
{
    rss->value[which] += by;
}

static inline void rss_apply(struct rss *rss, const struct rss_change *change)
{
    for (unsigned i = 0; i < FASTMM_RSS_COUNTERS; i++)
        if (change->by[i])
            rss_add(rss, (enum fastmm_rss)i, change->by[i]);
}

static inline int64_t rss_exact(const struct rss *rss, enum fastmm_rss which)
{
    return rss->value[which];
}

#endif
