/* SPDX-License-Identifier: MIT */
/*
 * Resident-set counters of an address space: a counter group, and the small array in which an
 * operation collects its changes, so that the counters are touched once per table.
 */
#ifndef FASTMM_SRC_MM_RSS_H
#define FASTMM_SRC_MM_RSS_H

#include <fastmm/counter.h>
#include <fastmm/mm.h>

struct rss {
    struct fastmm_counter_group4 counters; /* by enum fastmm_rss */
};

struct rss_change {
    int64_t by[FASTMM_RSS_COUNTERS];
};

static inline int rss_open(struct rss *rss)
{
    return fastmm_counter_group_init(&rss->counters.group, FASTMM_RSS_COUNTERS);
}

static inline void rss_close(struct rss *rss)
{
    fastmm_counter_group_destroy(&rss->counters.group);
}

static inline void rss_add(struct rss *rss, enum fastmm_rss which, int64_t by)
{
    fastmm_counter_group_add(&rss->counters.group, which, by);
}

static inline void rss_apply(struct rss *rss, const struct rss_change *change)
{
    for (unsigned i = 0; i < FASTMM_RSS_COUNTERS; i++)
        if (change->by[i])
            rss_add(rss, (enum fastmm_rss)i, change->by[i]);
}

static inline void rss_exact(const struct rss *rss, int64_t values[FASTMM_RSS_COUNTERS])
{
    fastmm_counter_group_sums(&rss->counters.group, values);
}

#endif
