/* SPDX-License-Identifier: MIT */
/* What nearly everybody writes: one relaxed atomic add to one shared word. */
#include "baseline/counter.h"

#include <stdlib.h>

static void *make(void)
{
    return lines(sizeof(int64_t));
}

static void add(void *counter, uint64_t times)
{
    int64_t *word = counter;
    for (uint64_t k = 0; k < times; k++)
        __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

static int64_t sum(void *counter)
{
    return __atomic_load_n((int64_t *)counter, __ATOMIC_RELAXED);
}

const struct counter_rival counter_lock_add = {"lock_add", NULL, make, add, sum, free};
