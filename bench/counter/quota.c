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

/* What is in use after a thousand rounds, and in the middle of one: nothing, and the amount. */
static uint64_t digest_of(int64_t between, int64_t within)
{
    const int64_t used[] = {between, within};
    return bench_digest(0, used, sizeof(used));
}

static uint64_t digest_fastmm(struct bench *b)
{
    struct fastmm_quota *q = b->data;
    take_and_return(b, 1000);
    int64_t between = fastmm_quota_used(q), within = -1;
    if (fastmm_quota_add(q, AMOUNT)) {
        within = fastmm_quota_used(q);
        fastmm_quota_return(q, AMOUNT);
    }
    return digest_of(between, within);
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
    int64_t between = cas_limit_used(b->data);
    return digest_of(between, cas_limit_used_within(b->data, AMOUNT));
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
