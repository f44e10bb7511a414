/* SPDX-License-Identifier: MIT */
/*
 * The idea of brpc's bvar: a counter has a number, each thread a table of agents by number, and an
 * add is a compare-and-swap on the thread's own agent.
 */
#include "baseline/counter.h"

#include <stdlib.h>

enum { THREADS = 64, NUMBERS = 32 };

struct agent {
    int64_t value;
    char pad[120];
};

struct combiner {
    unsigned number;
    unsigned agents_count;
    struct agent *agents[THREADS];
};

static unsigned numbers_used;
static _Thread_local struct agent *own_agents[NUMBERS];
static _Thread_local struct combiner *own_combiner[NUMBERS];

static void *make(void)
{
    struct combiner *c = lines(sizeof(*c));
    if (c)
        c->number = __atomic_fetch_add(&numbers_used, 1, __ATOMIC_RELAXED) % NUMBERS;
    return c;
}

static __attribute__((noinline)) struct agent *make_agent(struct combiner *c)
{
    struct agent *a = lines(sizeof(*a));
    unsigned k = __atomic_fetch_add(&c->agents_count, 1, __ATOMIC_RELAXED);
    if (!a || k >= THREADS)
        abort();
    __atomic_store_n(&c->agents[k], a, __ATOMIC_RELEASE);
    own_agents[c->number] = a;
    own_combiner[c->number] = c;
    return a;
}

static void add(void *counter, uint64_t times)
{
    struct combiner *c = counter;
    for (uint64_t k = 0; k < times; k++) {
        struct agent *a = own_agents[c->number];
        if (own_combiner[c->number] != c)
            a = make_agent(c);
        int64_t old = __atomic_load_n(&a->value, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&a->value, &old, old + 1, 1, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
            ;
        COMPILER_BARRIER();
    }
}

static int64_t sum(void *counter)
{
    struct combiner *c = counter;
    int64_t total = 0;
    for (unsigned k = 0; k < c->agents_count; k++)
        total += __atomic_load_n(&c->agents[k]->value, __ATOMIC_RELAXED);
    return total;
}

static void free_all(void *counter)
{
    struct combiner *c = counter;
    /* Threads that come back to this number must not find the freed agent. */
    if (own_combiner[c->number] == c)
        own_combiner[c->number] = NULL;
    for (unsigned k = 0; k < c->agents_count; k++)
        free(c->agents[k]);
    free(c);
}

const struct counter_rival counter_thread_agent = {"thread_agent", NULL, make, add, sum, free_all};
