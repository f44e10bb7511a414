/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_BENCH_CASES_H
#define EXAMPLES_BENCH_CASES_H

#include "harness/bench.h"

enum { THREADS_MAX = 2 };

void add_cases_of_arena(void);
void add_cases_of_jemalloc(void);

/* Sizes from `least` to `most` bytes in an order that is always the same. */
void fill_sizes(uint32_t *sizes, unsigned n, uint32_t least, uint32_t most);

#endif
