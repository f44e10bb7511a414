/* SPDX-License-Identifier: MIT */
/*
 * The idea of folly's ThreadCachedInt: each thread counts in a cell of its own with plain relaxed
 * loads and stores, and moves it to the shared word every so many updates. Sums walk the cells.
 */
#include "baseline/counter.h"

#include <stdlib.h>

enum { CELLS = 64, FLUSH_AT = 1000 };

struct cell {
    int64_t value;
    uint32_t updates;
    char pad[112];
};

struct cached {
    int64_t target;
    char pad[120];
    struct cell cells[CELLS];
};

static unsigned next_cell;
static _Thread_local unsigned own_cell = CELLS;

static unsigned cell_number(void)
{
    if (own_cell == CELLS)
        own_cell = __atomic_fetch_add(&next_cell, 1, __ATOMIC_RELAXED) % CELLS;
    return own_cell;
}

static void *make(void)
{
    return lines(sizeof(struct cached));
}

static void add(void *counter, uint64_t times)
{
    struct cached *c = counter;
    for (uint64_t k = 0; k < times; k++) {
        struct cell *cell = &c->cells[cell_number()];
        int64_t value = __atomic_load_n(&cell->value, __ATOMIC_RELAXED) + 1;
        __atomic_store_n(&cell->value, value, __ATOMIC_RELEASE);
        if (++cell->updates > FLUSH_AT) {
            __atomic_fetch_add(&c->target, value, __ATOMIC_RELAXED);
            __atomic_store_n(&cell->value, 0, __ATOMIC_RELEASE);
            cell->updates = 0;
        }
        COMPILER_BARRIER();
    }
}

static int64_t sum(void *counter)
{
    struct cached *c = counter;
    int64_t total = __atomic_load_n(&c->target, __ATOMIC_RELAXED);
    for (int k = 0; k < CELLS; k++)
        total += __atomic_load_n(&c->cells[k].value, __ATOMIC_RELAXED);
    return total;
}

const struct counter_rival counter_thread_cached = {
    "thread_cached", "a signal handler's add may be lost", make, add, sum, free};
