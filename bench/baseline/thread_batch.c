/* SPDX-License-Identifier: MIT */
/*
 * A thread-local batch of 32 in front of a shared atomic word. One counter only, as such code is
 * written by hand; what a thread holds is not seen until it flushes.
 */
#include "baseline/counter.h"

#include <stdlib.h>

enum { BATCH = 32 };

static _Thread_local int64_t pending;

static void *make(void)
{
    return lines(sizeof(int64_t));
}

static void add(void *counter, uint64_t times)
{
    int64_t *word = counter;
    for (uint64_t k = 0; k < times; k++) {
        if (++pending >= BATCH) {
            __atomic_fetch_add(word, pending, __ATOMIC_RELAXED);
            pending = 0;
        }
        COMPILER_BARRIER();
    }
    __atomic_fetch_add(word, pending, __ATOMIC_RELAXED);
    pending = 0;
}

static int64_t sum(void *counter)
{
    return __atomic_load_n((int64_t *)counter, __ATOMIC_RELAXED);
}

const struct counter_rival counter_thread_batch = {
    "thread_batch", "not exact: up to 31 a thread unseen", make, add, sum, free};
