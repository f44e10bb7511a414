/* SPDX-License-Identifier: MIT */
/* Bounded counters with a batch of 32, against the kernel's way with the same bound. */
#include "counter/cases.h"

#include <fastmm/bounded.h>
#include <stdlib.h>

enum { BATCH = 32 };

static int make_fastmm(struct bench *b)
{
    if (!have_percpu())
        return bench_skip(b, "no rseq here");
    struct fastmm_counter_bounded *c = lines(sizeof(*c));
    if (!c)
        return -12;
    b->data = c;
    b->items = 1;
    fastmm_counter_bounded_init(c, BATCH);
    return fastmm_counter_bounded_percpu(c);
}

static void add_fastmm(struct bench *b, uint64_t iterations)
{
    for (uint64_t k = 0; k < iterations; k++)
        fastmm_counter_bounded_inc(b->data);
}

static uint64_t digest_fastmm(struct bench *b)
{
    int64_t before = fastmm_counter_bounded_sum(b->data);
    add_fastmm(b, 1000);
    return (uint64_t)(fastmm_counter_bounded_sum(b->data) - before);
}

static void free_fastmm(struct bench *b)
{
    fastmm_counter_bounded_destroy(b->data);
    free(b->data);
}

static int make_spill(struct bench *b)
{
    b->items = 1;
    b->data = counter_rseq_spill.make();
    return b->data ? 0 : bench_skip(b, "no rseq here, or no memory");
}

static void add_spill(struct bench *b, uint64_t iterations)
{
    counter_rseq_spill.add(b->data, iterations);
}

static uint64_t digest_spill(struct bench *b)
{
    int64_t before = counter_rseq_spill.sum(b->data);
    add_spill(b, 1000);
    return (uint64_t)(counter_rseq_spill.sum(b->data) - before);
}

static void free_spill(struct bench *b)
{
    counter_rseq_spill.free(b->data);
}

void add_cases_of_bounded(void)
{
    for (unsigned threads = 1; threads <= 2; threads++) {
        const struct bench_case ours = {.threads = threads,
                                        .setup = make_fastmm,
                                        .loop = add_fastmm,
                                        .digest = digest_fastmm,
                                        .teardown = free_fastmm};
        const struct bench_case theirs = {.threads = threads,
                                          .setup = make_spill,
                                          .loop = add_spill,
                                          .digest = digest_spill,
                                          .teardown = free_spill};
        bench_add(&ours, "counter/bounded/fastmm");
        bench_add(&theirs, "counter/bounded/rseq_spill");
    }
}
