/* SPDX-License-Identifier: MIT */
/* A padded shard for each thread, by a thread-local number, added to atomically. */
#include "baseline/counter.h"

#include <stdlib.h>

enum { SHARDS = 64 };

struct shard {
    int64_t value;
    char pad[120];
};

static unsigned next_shard;
static _Thread_local unsigned own_shard = SHARDS;

static unsigned shard(void)
{
    if (own_shard == SHARDS)
        own_shard = __atomic_fetch_add(&next_shard, 1, __ATOMIC_RELAXED) % SHARDS;
    return own_shard;
}

static void *make(void)
{
    return lines(SHARDS * sizeof(struct shard));
}

static void add(void *counter, uint64_t times)
{
    struct shard *shards = counter;
    for (uint64_t k = 0; k < times; k++) {
        __atomic_fetch_add(&shards[shard()].value, 1, __ATOMIC_RELAXED);
        COMPILER_BARRIER();
    }
}

static int64_t sum(void *counter)
{
    struct shard *shards = counter;
    int64_t total = 0;
    for (int s = 0; s < SHARDS; s++)
        total += __atomic_load_n(&shards[s].value, __ATOMIC_RELAXED);
    return total;
}

const struct counter_rival counter_thread_shards = {"thread_shards", NULL, make, add, sum, free};
