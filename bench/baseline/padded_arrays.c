/* SPDX-License-Identifier: MIT */
/* Per-CPU counters as they are usually made: an array with a cache line for each CPU. */
#include "baseline/counter.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

static inline int make_four(char *arrays[4], unsigned cpus)
{
    for (int c = 0; c < 4; c++) {
        arrays[c] = aligned_alloc(LINE, (size_t)cpus * LINE);
        if (!arrays[c])
            return -1;
        memset(arrays[c], 0, (size_t)cpus * LINE);
    }
    return 0;
}

static inline void free_four(char *arrays[4])
{
    for (int c = 0; c < 4; c++)
        free(arrays[c]);
}

int padded_arrays_life(unsigned cpus, uint64_t times)
{
    for (uint64_t k = 0; k < times; k++) {
        char *arrays[4];
        if (make_four(arrays, cpus) != 0)
            return -1;
        COMPILER_BARRIER();
        free_four(arrays);
    }
    return 0;
}

int padded_arrays_sums(unsigned cpus, int64_t sums[4])
{
    char *arrays[4];
    if (make_four(arrays, cpus) != 0)
        return -1;
    for (int c = 0; c < 4; c++) {
        int64_t *words = (int64_t *)(void *)arrays[c];
        words[(size_t)(cpus - 1) * LINE / sizeof(int64_t)] += c + 1;
        sums[c] = 0;
        for (size_t k = 0; k < cpus; k++)
            sums[c] += words[k * LINE / sizeof(int64_t)];
    }
    free_four(arrays);
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
