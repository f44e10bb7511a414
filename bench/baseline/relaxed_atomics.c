/* SPDX-License-Identifier: MIT */
/* Four counters as relaxed atomic words on a line of their own. */
#include "baseline/counter.h"

#include <stdlib.h>
#include <string.h>

void *relaxed_atomics_make(void)
{
    return lines(4 * sizeof(int64_t));
}

void relaxed_atomics_mix(void *four, uint64_t times)
{
    int64_t *words = four;
    for (uint64_t k = 0; k < times; k++) {
        __atomic_fetch_add(&words[0], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&words[1], -1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&words[2], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&words[3], -1, __ATOMIC_RELAXED);
    }
}

void relaxed_atomics_sums(void *four, int64_t sums[4])
{
    memcpy(sums, four, 4 * sizeof(int64_t));
}

void relaxed_atomics_free(void *four)
{
    free(four);
}
