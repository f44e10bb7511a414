/* SPDX-License-Identifier: MIT */
/* Sizes that no branch predictor knows, from published distributions, in the first-level cache. */
#include "copy/cases.h"

#include "copy/setup.h"

#include <fastmm/copy.h>

static const struct {
    const struct copy_rival *rival;
    const char *mode;
    int64_t impl;
} modes[] = {
    {&copy_fastmm, "inline", COPY_FORCE_NONE},    {&copy_fastmm_masked, "masked", COPY_FORCE_NONE},
    {&copy_fastmm_call, "call", COPY_FORCE_NONE}, {&copy_fastmm, "avx2", FASTMM_COPY_AVX2},
    {&copy_fastmm, "sse2", FASTMM_COPY_SSE2},
};

static const struct copy_rival *const rivals[] = {
    &copy_libc,
    &copy_rep_movsb,
    &copy_vector_loop,
#ifdef FASTMM_BENCH_DPDK
    &copy_dpdk,
#endif
};

static const struct copy_rival *const clearing[] = {&copy_libc, &copy_rep_stosb};

static struct bench_case case_of(const struct copy_sizes *sizes, const struct copy_rival *rival,
                                 copy_loop *loop)
{
    struct bench_case c = copy_case(rival, 0, 0, loop);
    c.config = sizes;
    c.setup = copy_setup_list;
    return c;
}

#ifndef FASTMM_BENCH_DPDK
static int without_dpdk(struct bench *b)
{
    return bench_skip(b, "built without DPDK");
}

/* Registered all the same, because goals name it. */
static void add_absent(const struct copy_sizes *sizes)
{
    struct bench_case c = case_of(sizes, &copy_libc, copy_libc.copy_list);
    c.setup = without_dpdk;
    bench_add(&c, "copy/random/dpdk/dist:%s", sizes->name);
}
#endif

static void add_sizes(const struct copy_sizes *sizes)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct bench_case c = case_of(sizes, modes[i].rival, modes[i].rival->copy_list);
        c.args[COPY_ARG_IMPL] = modes[i].impl;
        bench_add(&c, "copy/random/fastmm/mode:%s/dist:%s", modes[i].mode, sizes->name);
        c.loop = modes[i].rival->clear_list;
        if (c.loop)
            bench_add(&c, "copy/clear_random/fastmm/mode:%s/dist:%s", modes[i].mode, sizes->name);
    }
    for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++) {
        struct bench_case c = case_of(sizes, rivals[i], rivals[i]->copy_list);
        bench_add(&c, "copy/random/%s/dist:%s", rivals[i]->name, sizes->name);
    }
    for (size_t i = 0; i < sizeof(clearing) / sizeof(clearing[0]); i++) {
        struct bench_case c = case_of(sizes, clearing[i], clearing[i]->clear_list);
        bench_add(&c, "copy/clear_random/%s/dist:%s", clearing[i]->name, sizes->name);
    }
#ifndef FASTMM_BENCH_DPDK
    add_absent(sizes);
#endif
}

void copy_add_random(void)
{
    for (size_t i = 0; i < copy_sizes_count; i++)
        add_sizes(&copy_sizes[i]);
}
