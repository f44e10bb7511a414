/* SPDX-License-Identifier: MIT */
/* One word, added to plainly while libc knows of one thread. */
#include "baseline/counter.h"

#include <stdlib.h>
#include <sys/single_threaded.h>

static void *make(void)
{
    return lines(sizeof(int64_t));
}

static void add(void *counter, uint64_t times)
{
    int64_t *word = counter;
    for (uint64_t k = 0; k < times; k++) {
        if (__libc_single_threaded)
            *word += 1;
        else
            __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
        COMPILER_BARRIER();
    }
}

static int64_t sum(void *counter)
{
    return __atomic_load_n((int64_t *)counter, __ATOMIC_RELAXED);
}

const struct counter_rival counter_bypass = {"bypass", NULL, make, add, sum, free};
