/* SPDX-License-Identifier: MIT */
/* What librseq's users write: load, add and store in one restartable sequence, as one instruction.
 */
#include "baseline/rseq_slots.h"

#if defined(__x86_64__)

/* A variable, as librseq has it, which may have registered threads itself. */
ptrdiff_t counter_rseq_offset;

RSEQ_ADD_ON("")

static void add(void *counter, uint64_t times)
{
    for (uint64_t k = 0; k < times; k++)
        rseq_slots_inc(counter, add_on);
}

#else

static void add(void *counter, uint64_t times)
{
    (void)counter;
    (void)times;
}

#endif

const struct counter_rival counter_rseq_array = {
    "rseq_array", "its code may not be unloaded", rseq_slots_make, add, rseq_slots_sum, free};
