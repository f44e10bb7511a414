/* SPDX-License-Identifier: MIT */
/*
 * Blocks a few bytes apart modulo a page, where rep movsb is slow on many parts that advertise it
 * as fast. Where this CPU has no such zone, or the C library doesn't use rep movsb, there is
 * nothing to win, and the cases say so.
 */
#include "copy/cases.h"

#include "copy/setup.h"

#include <string.h>

static const int64_t sizes[] = {4096, 8192, 16384, 32768, 65536, 131072, 262144};
static const int64_t aliases[] = {1, 8, 15, 16, 24, 31};

static const struct copy_rival *const everybody[] = {&copy_fastmm, &copy_libc, &copy_rep_movsb};

#define PROBE_SIZE 16384
#define PROBE_RUNS 15
#define SLOW_ZONE  2.0

/* The best of some runs, in nanoseconds a call. */
static uint64_t probe(copy_loop *loop, unsigned char *dst, unsigned char *src)
{
    struct copy_data data = {.dst = dst, .src = src, .size = PROBE_SIZE};
    struct bench b = {.data = &data};
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < PROBE_RUNS; i++) {
        uint64_t start = bench_now();
        loop(&b, 50);
        uint64_t time = bench_now() - start;
        best = time < best ? time : best;
    }
    return best;
}

/* Aliased over plain. */
static double slowdown(copy_loop *loop, const struct copy_data *data, size_t alias)
{
    unsigned char *dst = data->dst - (size_t)((uintptr_t)data->dst & 4095);
    double plain = (double)probe(loop, dst + 2048, data->src);
    return (double)probe(loop, dst + alias, data->src) / plain;
}

static int setup(struct bench *b)
{
    int skipped = copy_setup_fixed(b);
    if (skipped)
        return skipped;
    double rep = slowdown(copy_rep_movsb.copy_fixed, b->data, 8);
    if (rep < SLOW_ZONE)
        return bench_skip(b, "no alias zone: rep movsb is %.2f times slower when aliased", rep);
    double libc = slowdown(copy_libc.copy_fixed, b->data, 8);
    if (libc < SLOW_ZONE)
        return bench_skip(b, "libc avoids it: %.2f times slower when aliased", libc);
    return 0;
}

void copy_add_alias(void)
{
    for (size_t r = 0; r < sizeof(everybody) / sizeof(everybody[0]); r++)
        for (size_t a = 0; a < sizeof(aliases) / sizeof(aliases[0]); a++)
            for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
                struct bench_case c =
                    copy_case(everybody[r], sizes[s], aliases[a], everybody[r]->copy_fixed);
                c.setup = setup;
                bench_add(&c, "copy/%s/%s/size:%d/alias:%d", aliases[a] < 16 ? "alias" : "near",
                          everybody[r]->name, (int)sizes[s], (int)aliases[a]);
            }
}
