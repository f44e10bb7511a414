/* SPDX-License-Identifier: MIT */
/* Taking from a limit and returning, far from it. */
#include "counter/cases.h"

#include <fastmm/quota.h>
#include <stdlib.h>

enum { LIMIT = 1 << 30, BATCH = 64, AMOUNT = 8 };

static int make_fastmm(struct bench *b)
{
    struct fastmm_quota *q = lines(sizeof(*q));
    if (!q)
        return -12;
    b->data = q;
    b->items = 2;
    fastmm_quota_init(q, LIMIT, BATCH);
    return fastmm_quota_percpu(q) == 0 ? 0 : bench_skip(b, "no rseq or membarrier here");
}

static void take_and_return(struct bench *b, uint64_t iterations)
{
    struct fastmm_quota *q = b->data;
    for (uint64_t k = 0; k < iterations; k++)
        if (fastmm_quota_add(q, AMOUNT))
            fastmm_quota_return(q, AMOUNT);
}

static uint64_t digest_fastmm(struct bench *b)
{
    take_and_return(b, 1000);
    return (uint64_t)fastmm_quota_used(b->data);
}

static void free_fastmm(struct bench *b)
{
    fastmm_quota_destroy(b->data);
    free(b->data);
}

static int make_word(struct bench *b)
{
    b->items = 2;
    b->data = cas_limit_make(LIMIT);
    return b->data ? 0 : -12;
}

static void take_and_return_word(struct bench *b, uint64_t iterations)
{
    cas_limit_take_and_return(b->data, AMOUNT, iterations);
}

static uint64_t digest_word(struct bench *b)
{
    take_and_return_word(b, 1000);
    return (uint64_t)cas_limit_used(b->data);
}

static void free_word(struct bench *b)
{
    cas_limit_free(b->data);
}

void add_cases_of_quota(void)
{
    for (unsigned threads = 1; threads <= 2; threads++) {
        const struct bench_case ours = {.threads = threads,
                                        .setup = make_fastmm,
                                        .loop = take_and_return,
                                        .digest = digest_fastmm,
                                        .teardown = free_fastmm};
        const struct bench_case theirs = {.threads = threads,
                                          .setup = make_word,
                                          .loop = take_and_return_word,
                                          .digest = digest_word,
                                          .teardown = free_word};
        bench_add(&ours, "counter/quota/fastmm");
        bench_add(&theirs, "counter/quota/cas_limit");
    }
}
