/* SPDX-License-Identifier: MIT */
/*
 * A preloaded object that counts before anything was initialised and checks the value when the
 * program ends: counters need neither an init call nor a constructor of the library. It has a copy
 * of the library of its own.
 */
#include <fastmm/counter.h>
#include <unistd.h>

static struct fastmm_counter early = FASTMM_COUNTER_INIT, later = FASTMM_COUNTER_INIT;
static int switched = -1;

__attribute__((visibility("default"))) int64_t preloaded_add(int64_t v);

int64_t preloaded_add(int64_t v)
{
    fastmm_counter_percpu(&later);
    fastmm_counter_add(&later, v);
    return fastmm_counter_sum(&later);
}

__attribute__((constructor(101))) static void count_early(void)
{
    fastmm_counter_add(&early, 40);
    switched = fastmm_counter_percpu(&early);
    fastmm_counter_inc(&early);
}

__attribute__((destructor(101))) static void check_late(void)
{
    fastmm_counter_inc(&early);
    int ok = switched == 0 && fastmm_counter_sum(&early) == 42;
    if (write(STDOUT_FILENO, ok ? "counted\n" : "miscounted\n", ok ? 8 : 11) < 0)
        _exit(1);
}
