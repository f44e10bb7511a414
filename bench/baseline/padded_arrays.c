/* SPDX-License-Identifier: MIT */
/* Per-CPU counters as they are usually made: an array with a cache line for each CPU. */
#include "baseline/counter.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

int padded_arrays_life(unsigned cpus, uint64_t times)
{
    for (uint64_t k = 0; k < times; k++) {
        char *arrays[4];
        for (int c = 0; c < 4; c++) {
            arrays[c] = aligned_alloc(LINE, (size_t)cpus * LINE);
            if (!arrays[c])
                return -1;
            memset(arrays[c], 0, (size_t)cpus * LINE);
        }
        COMPILER_BARRIER();
        for (int c = 0; c < 4; c++)
            free(arrays[c]);
    }
    return 0;
}

struct array {
    unsigned slots;
    char pad[LINE - sizeof(unsigned)];
    int64_t words[][LINE / sizeof(int64_t)];
};

void *padded_array_make(unsigned slots, int64_t each)
{
    struct array *a = lines(sizeof(*a) + (size_t)slots * LINE);
    if (!a)
        return NULL;
    a->slots = slots;
    for (unsigned k = 0; k < slots; k++)
        a->words[k][0] = each;
    return a;
}

int64_t padded_array_sum(void *array, uint64_t times)
{
    struct array *a = array;
    int64_t total = 0;
    for (uint64_t k = 0; k < times; k++) {
        total = 0;
        for (unsigned s = 0; s < a->slots; s++)
            total += __atomic_load_n(&a->words[s][0], __ATOMIC_RELAXED);
        COMPILER_BARRIER();
    }
    return total;
}

void padded_array_free(void *array)
{
    free(array);
}
