/* SPDX-License-Identifier: MIT */
/*
 * How the examples count and limit: by counter groups and a quota. The other two ways exist to
 * measure what that costs, beside plain atomics, and beside no statistics and no limit at all.
 */
#ifndef EXAMPLES_COUNTING_H
#define EXAMPLES_COUNTING_H

#include <fastmm/counter.h>
#include <fastmm/quota.h>

#if defined(COUNT_NOTHING)

enum { COUNTING = 0 };

static inline void count(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    (void)g;
    (void)i;
    (void)v;
}

static inline int charge(struct fastmm_quota *q, int64_t bytes)
{
    (void)q;
    (void)bytes;
    return 1;
}

static inline void uncharge(struct fastmm_quota *q, int64_t bytes)
{
    (void)q;
    (void)bytes;
}

static inline void count_per_cpu(struct fastmm_counter_group *g)
{
    (void)g;
}

static inline void charge_per_cpu(struct fastmm_quota *q)
{
    (void)q;
}

#elif defined(COUNT_ATOMICALLY)

/* The words are those that the library has in atomic mode, so its reads serve here as well. */
enum { COUNTING = 1 };

static inline void count(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    __atomic_fetch_add((int64_t *)(g + 1) + i, v, __ATOMIC_RELAXED);
}

static inline int charge(struct fastmm_quota *q, int64_t bytes)
{
    int64_t room = __atomic_load_n(&q->room, __ATOMIC_RELAXED);
    do {
        if (room < bytes)
            return 0;
    } while (!__atomic_compare_exchange_n(&q->room, &room, room - bytes, 1, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return 1;
}

static inline void uncharge(struct fastmm_quota *q, int64_t bytes)
{
    __atomic_fetch_add(&q->room, bytes, __ATOMIC_RELAXED);
}

static inline void count_per_cpu(struct fastmm_counter_group *g)
{
    (void)g;
}

static inline void charge_per_cpu(struct fastmm_quota *q)
{
    (void)q;
}

#else

enum { COUNTING = 1 };

static inline void count(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    fastmm_counter_group_add(g, i, v);
}

static inline int charge(struct fastmm_quota *q, int64_t bytes)
{
    return fastmm_quota_add(q, bytes);
}

static inline void uncharge(struct fastmm_quota *q, int64_t bytes)
{
    fastmm_quota_return(q, bytes);
}

/* Without memory or rseq for it both stay one word each, and right. */
static inline void count_per_cpu(struct fastmm_counter_group *g)
{
    fastmm_counter_group_percpu(g);
}

static inline void charge_per_cpu(struct fastmm_quota *q)
{
    fastmm_quota_percpu(q);
}

#endif

#endif
