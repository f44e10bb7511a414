/* SPDX-License-Identifier: MIT */
/* A limit kept by compare-and-swap on the one word that says how much is in use. */
#include "baseline/counter.h"

#include <stdlib.h>

struct limited {
    int64_t used;
    int64_t limit;
};

void *cas_limit_make(int64_t limit)
{
    struct limited *l = lines(sizeof(*l));
    if (l)
        l->limit = limit;
    return l;
}

static inline int take(struct limited *l, int64_t v)
{
    int64_t used = __atomic_load_n(&l->used, __ATOMIC_RELAXED);
    do
        if (v > l->limit - used)
            return 0;
    while (!__atomic_compare_exchange_n(&l->used, &used, used + v, 1, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
    return 1;
}

void cas_limit_take_and_return(void *word, int64_t v, uint64_t times)
{
    struct limited *l = word;
    for (uint64_t k = 0; k < times; k++) {
        if (take(l, v))
            __atomic_fetch_sub(&l->used, v, __ATOMIC_RELEASE);
        COMPILER_BARRIER();
    }
}

int64_t cas_limit_used(void *word)
{
    return __atomic_load_n(&((struct limited *)word)->used, __ATOMIC_RELAXED);
}

int64_t cas_limit_used_within(void *word, int64_t v)
{
    struct limited *l = word;
    if (!take(l, v))
        return -1;
    int64_t used = cas_limit_used(word);
    __atomic_fetch_sub(&l->used, v, __ATOMIC_RELEASE);
    return used;
}

void cas_limit_free(void *word)
{
    free(word);
}
