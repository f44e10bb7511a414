/* SPDX-License-Identifier: MIT */
/*
 * What a checking build asks before each call on a counter. Always in the library, so that a
 * program can check some of its own files against a library built without.
 */
#include "counter/slots.h"

static fastmm_counter_handler misuse_handler;

static int report_misuse(enum fastmm_counter_fault fault, const struct fastmm_counter_group *g,
                         unsigned i)
{
    fastmm_counter_handler handler = __atomic_load_n(&misuse_handler, __ATOMIC_ACQUIRE);
    if (!handler)
        __builtin_trap();
    handler(fault, g, i);
    return 0;
}

int FASTMM_COUNTER_NAME(fastmm_counter_check)(const struct fastmm_counter_group *g, unsigned i)
{
    unsigned n = fastmm_counter_group_size(g);
    if (n == 0)
        return report_misuse(FASTMM_COUNTER_FAULT_DEAD, g, i);
    if (i >= n)
        return report_misuse(FASTMM_COUNTER_FAULT_INDEX, g, i);
    return 1;
}

fastmm_counter_handler fastmm_counter_set_handler(fastmm_counter_handler handler)
{
    return __atomic_exchange_n(&misuse_handler, handler, __ATOMIC_ACQ_REL);
}
