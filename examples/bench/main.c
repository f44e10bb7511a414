/* SPDX-License-Identifier: MIT */
/*
 * What statistics and a limit cost an allocator: the examples with counter groups and a quota, with
 * plain atomics instead, and with neither, at the same work.
 *
 * Single-threaded figures need a process that makes no thread: filter out "threads:".
 */
#include "cases.h"

void fill_sizes(uint32_t *sizes, unsigned n, uint32_t least, uint32_t most)
{
    uint32_t x = 12345;
    for (unsigned i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        sizes[i] = least + (x >> 16) % (most - least + 1);
    }
}

static void add_cases(void)
{
    add_cases_of_arena();
    add_cases_of_jemalloc();
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "embed", add_cases);
}
