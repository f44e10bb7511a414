/* SPDX-License-Identifier: MIT */
/*
 * One add, in the library's modes and by each rival: one thread that shares with nobody, and two
 * threads that add to the same counter.
 */
#include "counter/cases.h"

#include <stdlib.h>

enum { DIGEST_ADDS = 1000 };

/* args[0]: switch to per-CPU mode; args[1]: without rseq. */
enum { PERCPU, NO_RSEQ };

static int make_fastmm(struct bench *b)
{
    struct machine without = {.no_rseq = 1};
    if (b->spec->args[NO_RSEQ] && machine_begin(&without) != 0)
        return bench_skip(b, "other cases hold slots");
    if (b->spec->args[PERCPU] && !b->spec->args[NO_RSEQ] && !have_percpu())
        return bench_skip(b, "no rseq here");
    struct fastmm_counter *c = lines(sizeof(*c));
    if (!c)
        return -12;
    fastmm_counter_init(c);
    b->data = c;
    b->items = 1;
    return b->spec->args[PERCPU] ? fastmm_counter_percpu(c) : 0;
}

static void add_fastmm(struct bench *b, uint64_t iterations)
{
    struct fastmm_counter *c = b->data;
    for (uint64_t k = 0; k < iterations; k++)
        fastmm_counter_inc(c);
}

static uint64_t digest_fastmm(struct bench *b)
{
    int64_t before = fastmm_counter_sum(b->data);
    add_fastmm(b, DIGEST_ADDS);
    return (uint64_t)(fastmm_counter_sum(b->data) - before);
}

static void free_fastmm(struct bench *b)
{
    fastmm_counter_destroy(b->data);
    free(b->data);
    if (b->spec->args[NO_RSEQ])
        machine_end();
}

static const struct counter_rival *rival_of(struct bench *b)
{
    return b->spec->config;
}

static int make_rival(struct bench *b)
{
    b->items = 1;
    b->data = rival_of(b)->make();
    return b->data ? 0 : bench_skip(b, "no rseq here, or no memory");
}

static void add_rival(struct bench *b, uint64_t iterations)
{
    rival_of(b)->add(b->data, iterations);
}

static uint64_t digest_rival(struct bench *b)
{
    int64_t before = rival_of(b)->sum(b->data);
    add_rival(b, DIGEST_ADDS);
    return (uint64_t)(rival_of(b)->sum(b->data) - before);
}

static void free_rival(struct bench *b)
{
    rival_of(b)->free(b->data);
}

void add_cases_of_add(void)
{
    static const struct counter_rival *const rivals[] = {
        &counter_lock_add,      &counter_bypass,          &counter_thread_shards,
        &counter_thread_batch,  &counter_thread_cached,   &counter_thread_agent,
        &counter_striped_cells, &counter_cpu_split,       &counter_rseq_array,
        &counter_rseq_spill,    &counter_rseq_switchable,
    };
    struct bench_case ours = {
        .setup = make_fastmm, .loop = add_fastmm, .digest = digest_fastmm, .teardown = free_fastmm};
    struct bench_case theirs = {
        .setup = make_rival, .loop = add_rival, .digest = digest_rival, .teardown = free_rival};
    for (unsigned threads = 1; threads <= 2; threads++) {
        ours.threads = theirs.threads = threads;
        ours.args[NO_RSEQ] = 0;
        ours.args[PERCPU] = 0;
        bench_add(&ours, "counter/add/fastmm/mode:atomic");
        ours.args[PERCPU] = 1;
        bench_add(&ours, "counter/add/fastmm/mode:percpu");
        ours.args[NO_RSEQ] = 1;
        bench_add(&ours, "counter/fallback/fastmm");
        for (size_t r = 0; r < sizeof(rivals) / sizeof(rivals[0]); r++) {
            theirs.config = rivals[r];
            theirs.label = rivals[r]->label;
            bench_add(&theirs, "counter/add/%s", rivals[r]->name);
        }
    }
}
