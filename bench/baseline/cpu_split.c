/* SPDX-License-Identifier: MIT */
/*
 * The split counter that liburcu's hash table keeps inside (it offers none to users): a padded
 * atomic word for each CPU, as sched_getcpu() tells it, moved to the shared word every 1024.
 */
#define _GNU_SOURCE
#include "baseline/counter.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOVE_AT = 1024 };

struct part {
    int64_t value;
    char pad[120];
};

struct split {
    int64_t shared;
    long mask;
    char pad[112];
    struct part parts[];
};

static void *make(void)
{
    long count = 1;
    while (count < sysconf(_SC_NPROCESSORS_CONF))
        count *= 2;
    struct split *s = lines(sizeof(*s) + (size_t)count * sizeof(struct part));
    if (s)
        s->mask = count - 1;
    return s;
}

static void add(void *counter, uint64_t times)
{
    struct split *s = counter;
    for (uint64_t k = 0; k < times; k++) {
        int64_t *part = &s->parts[sched_getcpu() & s->mask].value;
        int64_t now = __atomic_add_fetch(part, 1, __ATOMIC_RELAXED);
        if (now % MOVE_AT == 0)
            __atomic_fetch_add(&s->shared, MOVE_AT, __ATOMIC_RELAXED);
        COMPILER_BARRIER();
    }
}

static int64_t sum(void *counter)
{
    /* The shared word alone would be approximate; the parts are never moved out of. */
    struct split *s = counter;
    int64_t total = 0;
    for (long k = 0; k <= s->mask; k++)
        total += __atomic_load_n(&s->parts[k].value, __ATOMIC_RELAXED);
    return total;
}

const struct counter_rival counter_cpu_split = {"cpu_split", NULL, make, add, sum, free};
