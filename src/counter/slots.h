/* SPDX-License-Identifier: MIT */
/* Finding one's way in the slots of a group, for what is out of line. */
#ifndef FASTMM_COUNTER_SLOTS_H
#define FASTMM_COUNTER_SLOTS_H

#include "counter/mechanism.h"

static inline int slots_percpu(uintptr_t slots)
{
    return slots > FASTMM_COUNTER_GROUP_MAX;
}

/* The first word of a row. */
static inline uintptr_t slots_row(uintptr_t slots, unsigned row)
{
    return (slots & ~FASTMM_COUNTER_TAG) + (uintptr_t)row * FASTMM_COUNTER_STRIDE;
}

static inline int64_t *slots_word(uintptr_t slots, unsigned row, unsigned i)
{
    return (int64_t *)(slots_row(slots, row) + i * sizeof(int64_t));
}

/* Sums are unsigned inside: they wrap. */
static inline uint64_t slots_load(const int64_t *p)
{
    return (uint64_t)__atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Counter i of every row that was used. */
static inline uint64_t slots_sum(uintptr_t slots, unsigned i)
{
    return (uint64_t)FASTMM_COUNTER_NAME(fastmm_counter_sum_rows)(
        (uintptr_t)slots_word(slots, 0, i), fastmm_counter_rows_used());
}

#endif
