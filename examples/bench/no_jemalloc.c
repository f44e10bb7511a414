/* SPDX-License-Identifier: MIT */
/* The cases of jemalloc.c where jemalloc is not installed. */
#include "cases.h"

static int setup(struct bench *b)
{
    return bench_skip(b, "built without jemalloc's development files");
}

static void loop(struct bench *b, uint64_t iterations)
{
    (void)b;
    (void)iterations;
}

void add_cases_of_jemalloc(void)
{
    static const char *const names[] = {"fastmm", "atomic", "none", "own"};
    for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            struct bench_case spec = {.threads = threads, .setup = setup, .loop = loop};
            bench_add(&spec, "embed/jemalloc/%s", names[i]);
        }
}
