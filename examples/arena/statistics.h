/* SPDX-License-Identifier: MIT */
/*
 * How the arena counts and limits: counter groups and a quota. The other two kinds exist to measure
 * what that costs, beside plain atomics, and beside no statistics and no limit at all.
 */
#ifndef ARENA_STATISTICS_H
#define ARENA_STATISTICS_H

#include <fastmm/counter.h>
#include <fastmm/quota.h>

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

#if defined(ARENA_COUNT_NOTHING)

static inline void count(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    (void)g;
    (void)i;
    (void)v;
}

static inline int charge(struct statistics *s, size_t bytes)
{
    (void)s;
    (void)bytes;
    return 1;
}

static inline void uncharge(struct statistics *s, size_t bytes)
{
    (void)s;
    (void)bytes;
}

static inline void count_per_cpu(struct statistics *s)
{
    (void)s;
}

#elif defined(ARENA_COUNT_ATOMICALLY)

static inline void count(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    __atomic_fetch_add((int64_t *)(g + 1) + i, v, __ATOMIC_RELAXED);
}

static inline int charge(struct statistics *s, size_t bytes)
{
    int64_t room = __atomic_load_n(&s->limit.room, __ATOMIC_RELAXED);
    do {
        if (room < (int64_t)bytes)
            return 0;
    } while (!__atomic_compare_exchange_n(&s->limit.room, &room, room - (int64_t)bytes, 1,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return 1;
}

static inline void uncharge(struct statistics *s, size_t bytes)
{
    __atomic_fetch_add(&s->limit.room, (int64_t)bytes, __ATOMIC_RELAXED);
}

static inline void count_per_cpu(struct statistics *s)
{
    (void)s;
}

#else

static inline void count(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    fastmm_counter_group_add(g, i, v);
}

static inline int charge(struct statistics *s, size_t bytes)
{
    return fastmm_quota_add(&s->limit, (int64_t)bytes);
}

static inline void uncharge(struct statistics *s, size_t bytes)
{
    fastmm_quota_return(&s->limit, (int64_t)bytes);
}

/* Without memory or rseq for it they stay one word each, and right. */
static inline void count_per_cpu(struct statistics *s)
{
    fastmm_counter_group_percpu(&s->traffic.group);
    fastmm_quota_percpu(&s->limit);
}

#endif

#endif
