/* SPDX-License-Identifier: MIT */
/* Code that inlines adds, to be loaded and unloaded. */
#include <fastmm/counter.h>

extern __attribute__((visibility("default"))) void module_add(struct fastmm_counter *c, long times);

void module_add(struct fastmm_counter *c, long times)
{
    for (long i = 0; i < times; i++)
        fastmm_counter_inc(c);
}

/* A module that has the library in it has counters too; they end with it. */
extern __attribute__((visibility("default"))) long module_own(long times);

long module_own(long times)
{
    static struct fastmm_counter own = FASTMM_COUNTER_INIT;
    if (fastmm_counter_percpu(&own) != 0)
        return -1;
    module_add(&own, times);
    long sum = (long)fastmm_counter_sum(&own);
    fastmm_counter_set(&own, 0);
    return fastmm_counter_atomic(&own) == 0 && fastmm_counter_trim() > 0 ? sum : -1;
}
