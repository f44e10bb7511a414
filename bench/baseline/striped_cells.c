/* SPDX-License-Identifier: MIT */
/*
 * The idea of Java's LongAdder: compare-and-swap on a base word while that succeeds; after the
 * first collision on padded cells, by a thread's probe, which moves on when it collides.
 */
#include "baseline/counter.h"

#include <stdlib.h>

enum { CELLS = 16 };

struct cell {
    int64_t value;
    char pad[120];
};

struct striped {
    int64_t base;
    int contended;
    char pad[112];
    struct cell cells[CELLS];
};

static unsigned next_probe;
static _Thread_local unsigned probe;

static void *make(void)
{
    return lines(sizeof(struct striped));
}

static int try_add(int64_t *word)
{
    int64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    return __atomic_compare_exchange_n(word, &old, old + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void add(void *counter, uint64_t times)
{
    struct striped *s = counter;
    for (uint64_t k = 0; k < times; k++) {
        if (__atomic_load_n(&s->contended, __ATOMIC_RELAXED) || !try_add(&s->base)) {
            __atomic_store_n(&s->contended, 1, __ATOMIC_RELAXED);
            if (!probe)
                probe = __atomic_add_fetch(&next_probe, 1, __ATOMIC_RELAXED);
            while (!try_add(&s->cells[probe % CELLS].value))
                probe += 7;
        }
        COMPILER_BARRIER();
    }
}

static int64_t sum(void *counter)
{
    struct striped *s = counter;
    int64_t total = __atomic_load_n(&s->base, __ATOMIC_RELAXED);
    for (int k = 0; k < CELLS; k++)
        total += __atomic_load_n(&s->cells[k].value, __ATOMIC_RELAXED);
    return total;
}

const struct counter_rival counter_striped_cells = {"striped_cells", NULL, make, add, sum, free};
