/* SPDX-License-Identifier: MIT */
/* Groups of four: a mix of adds, and whole lives. */
#include "counter/cases.h"

#include <stdlib.h>
#include <unistd.h>

static int make_group(struct bench *b)
{
    if (!have_percpu())
        return bench_skip(b, "no rseq here");
    struct fastmm_counter_group4 *g = lines(sizeof(*g));
    if (!g)
        return -12;
    b->items = 4;
    b->data = g;
    fastmm_counter_group_init(&g->group, 4);
    return fastmm_counter_group_percpu(&g->group);
}

static void mix_group(struct bench *b, uint64_t iterations)
{
    struct fastmm_counter_group4 *g = b->data;
    for (uint64_t k = 0; k < iterations; k++) {
        fastmm_counter_group_inc(&g->group, 0);
        fastmm_counter_group_dec(&g->group, 1);
        fastmm_counter_group_inc(&g->group, 2);
        fastmm_counter_group_dec(&g->group, 3);
    }
}

static uint64_t digest_of(const int64_t before[4], const int64_t after[4])
{
    int64_t grown[4];
    for (int i = 0; i < 4; i++)
        grown[i] = after[i] - before[i];
    return bench_digest(0, grown, sizeof(grown));
}

static uint64_t digest_group(struct bench *b)
{
    struct fastmm_counter_group4 *g = b->data;
    int64_t before[4], after[4];
    fastmm_counter_group_sums(&g->group, before);
    mix_group(b, 1000);
    fastmm_counter_group_sums(&g->group, after);
    return digest_of(before, after);
}

static void free_group(struct bench *b)
{
    struct fastmm_counter_group4 *g = b->data;
    fastmm_counter_group_destroy(&g->group);
    free(g);
}

static int make_atomics(struct bench *b)
{
    b->items = 4;
    b->data = relaxed_atomics_make();
    return b->data ? 0 : -12;
}

static void mix_atomics(struct bench *b, uint64_t iterations)
{
    relaxed_atomics_mix(b->data, iterations);
}

static uint64_t digest_atomics(struct bench *b)
{
    int64_t before[4], after[4];
    relaxed_atomics_sums(b->data, before);
    mix_atomics(b, 1000);
    relaxed_atomics_sums(b->data, after);
    return digest_of(before, after);
}

static void free_atomics(struct bench *b)
{
    relaxed_atomics_free(b->data);
}

static void live_atomic(struct bench *b, uint64_t iterations)
{
    struct fastmm_counter_group4 g;
    (void)b;
    for (uint64_t k = 0; k < iterations; k++) {
        fastmm_counter_group_init(&g.group, 4);
        bench_clobber(&g);
        fastmm_counter_group_destroy(&g.group);
        bench_clobber(&g);
    }
}

static void live_percpu(struct bench *b, uint64_t iterations)
{
    struct fastmm_counter_group4 g;
    (void)b;
    for (uint64_t k = 0; k < iterations; k++) {
        fastmm_counter_group_init(&g.group, 4);
        fastmm_counter_group_percpu(&g.group);
        bench_clobber(&g);
        fastmm_counter_group_destroy(&g.group);
    }
}

/* One life is kept, so that the slab holds a chunk all along, as it does in a process in use. */
static int keep_one(struct bench *b)
{
    b->items = 1;
    struct fastmm_counter_group4 *g = lines(sizeof(*g));
    if (!g)
        return -12;
    b->data = g;
    fastmm_counter_group_init(&g->group, 4);
    return fastmm_counter_group_percpu(&g->group);
}

static void live_arrays(struct bench *b, uint64_t iterations)
{
    (void)b;
    if (padded_arrays_life((unsigned)sysconf(_SC_NPROCESSORS_CONF), iterations) != 0)
        abort();
}

/* A life in which something is counted: fresh counters start at 0 and keep what they are given. */
static uint64_t digest_life(int percpu)
{
    struct fastmm_counter_group4 g;
    int64_t sums[4];
    fastmm_counter_group_init(&g.group, 4);
    if (percpu && fastmm_counter_group_percpu(&g.group) != 0)
        return 0;
    for (unsigned i = 0; i < 4; i++)
        fastmm_counter_group_add(&g.group, i, i + 1);
    fastmm_counter_group_sums(&g.group, sums);
    fastmm_counter_group_destroy(&g.group);
    return bench_digest(0, sums, sizeof(sums));
}

static uint64_t digest_life_atomic(struct bench *b)
{
    (void)b;
    return digest_life(0);
}

static uint64_t digest_life_percpu(struct bench *b)
{
    (void)b;
    return digest_life(1);
}

static uint64_t digest_life_arrays(struct bench *b)
{
    (void)b;
    int64_t sums[4];
    if (padded_arrays_sums((unsigned)sysconf(_SC_NPROCESSORS_CONF), sums) != 0)
        return 0;
    return bench_digest(0, sums, sizeof(sums));
}

void add_cases_of_group(void)
{
    for (unsigned threads = 1; threads <= 2; threads++) {
        const struct bench_case ours = {.threads = threads,
                                        .setup = make_group,
                                        .loop = mix_group,
                                        .digest = digest_group,
                                        .teardown = free_group};
        const struct bench_case theirs = {.threads = threads,
                                          .setup = make_atomics,
                                          .loop = mix_atomics,
                                          .digest = digest_atomics,
                                          .teardown = free_atomics};
        bench_add(&ours, "counter/group4/fastmm/mode:percpu");
        bench_add(&theirs, "counter/group4/relaxed_atomics");
    }
    const struct bench_case atomic = {.loop = live_atomic, .digest = digest_life_atomic};
    const struct bench_case percpu = {.setup = keep_one,
                                      .loop = live_percpu,
                                      .digest = digest_life_percpu,
                                      .teardown = free_group};
    const struct bench_case arrays = {.loop = live_arrays, .digest = digest_life_arrays};
    bench_add(&atomic, "counter/life/fastmm/mode:atomic");
    bench_add(&percpu, "counter/life/fastmm/mode:percpu");
    bench_add(&arrays, "counter/life/padded_arrays");
}
