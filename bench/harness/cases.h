/* SPDX-License-Identifier: MIT */
/*
 * The cases of one bench binary and one running instance of a case. Whatever runs a case, Google
 * Benchmark's loop, the scorecard's blocks or the smoke test, goes through the same four steps:
 * open, run, close, and in between nothing that isn't the case's own.
 */
#ifndef FASTMM_BENCH_CASES_H
#define FASTMM_BENCH_CASES_H

#include "bench.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names start with "<primitive>/"; set before the first bench_add(). */
void cases_begin(const char *primitive);
size_t cases_count(void);
/* In order of registration, except that cases with threads come last: whoever runs them all in one
 * process measures the others before the process has ever made a thread. */
const struct bench_case *cases_get(size_t i);
/* NULL when there is none of that name. */
const struct bench_case *cases_find(const char *name);

enum { INSTANCE_COUNTERS = 8 };

struct instance {
    const struct bench_case *spec;
    char skipped[256]; /* why the case can't run; empty when it can */
    int failed;        /* what setup() returned without having called bench_skip() */
    unsigned counters;
    struct {
        char name[32];
        double value;
    } counter[INSTANCE_COUNTERS];
    unsigned threads;
    struct bench *bench; /* one for each thread */
};

/* One timed batch. */
struct batch {
    double ns;      /* that count: wall time, or what timed() returned. With threads: wall time that
                     * the iterations would take in each, at the rate all of them together had. */
    double wall;    /* ns from the first start to the last end */
    double overlap; /* share of `wall` in which, at least, all threads were running, 0 to 1 */
};

/*
 * Runs setup(). Never returns NULL: a harness without memory ends the process. When setup() skips
 * or fails, `skipped` says why and the only thing left to do is instance_close().
 */
struct instance *instance_open(const struct bench_case *spec);
/* Runs teardown(), unless setup() failed, and frees. */
void instance_close(struct instance *instance);
struct batch instance_run(struct instance *instance, uint64_t iterations);

/* Items that all threads together process in one iteration of each. */
double instance_items(const struct instance *instance);
double instance_bytes(const struct instance *instance);

#ifdef __cplusplus
}
#endif

#endif
