/* SPDX-License-Identifier: MIT */
/*
 * The timed loops around one implementation. The including file defines
 *
 *   RIVAL            the name of the table that the loops are exported in
 *   RIVAL_NAME       its name in case names
 *   RIVAL_NEEDS      the CPU features that it is built for, if any
 *   COPY(d, s, n)    or CLEAR(d, n), or both
 *   CLEAR_HOT(d, n, hot)   with CLEAR, a clear whose caller goes on with the page at `hot`
 *
 * and nothing else, so that every implementation is timed by the same code, inlined where it can
 * be, in a file of its own. Sizes are opaque to the compiler.
 */
#include "copy/rival.h"

#ifdef COPY
static void copy_fixed(struct bench *b, uint64_t iterations)
{
    const struct copy_data *data = (const struct copy_data *)b->data;
    unsigned char *dst = data->dst;
    const unsigned char *src = data->src;
    for (uint64_t i = 0; i < iterations; i++) {
        size_t n = bench_opaque(data->size);
        COPY(dst, src, n);
        bench_clobber(dst);
    }
}

static void copy_list(struct bench *b, uint64_t iterations)
{
    const struct copy_data *data = (const struct copy_data *)b->data;
    for (uint64_t i = 0; i < iterations; i++) {
        const struct copy_request *r = &data->list[i % COPY_REQUESTS];
        COPY(data->dst + r->dst, data->src + r->src, r->size);
        bench_clobber(data->dst);
    }
}

/* Through all of the arena, so that each block was last touched an arena ago. */
static void copy_cold(struct bench *b, uint64_t iterations)
{
    struct copy_data *data = (struct copy_data *)b->data;
    for (uint64_t i = 0; i < iterations; i++) {
        size_t at = copy_next(data);
        COPY(data->dst + at, data->src + at, data->size);
        bench_clobber(data->dst);
    }
}

/* What is copied depends on what was read from the copy before. */
static void copy_reload(struct bench *b, uint64_t iterations)
{
    const struct copy_data *data = (const struct copy_data *)b->data;
    volatile uint64_t *from = (volatile uint64_t *)(void *)data->src;
    const volatile uint64_t *to = (const volatile uint64_t *)(const void *)data->dst;
    uint64_t value = 1;
    for (uint64_t i = 0; i < iterations; i++) {
        size_t n = bench_opaque(data->size);
        *from = value;
        COPY(data->dst, data->src, n);
        value += *to;
    }
}
#endif

#ifdef CLEAR
static void clear_fixed(struct bench *b, uint64_t iterations)
{
    const struct copy_data *data = (const struct copy_data *)b->data;
    unsigned char *dst = data->dst;
    for (uint64_t i = 0; i < iterations; i++) {
        size_t n = bench_opaque(data->size);
        CLEAR(dst, n);
        bench_clobber(dst);
    }
}

static void clear_list(struct bench *b, uint64_t iterations)
{
    const struct copy_data *data = (const struct copy_data *)b->data;
    for (uint64_t i = 0; i < iterations; i++) {
        const struct copy_request *r = &data->list[i % COPY_REQUESTS];
        CLEAR(data->dst + r->dst, r->size);
        bench_clobber(data->dst);
    }
}
#endif

#ifdef CLEAR_HOT
/* The faulting thread goes on to use the page that it faulted on. */
static void use(unsigned char *page)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < 4096; i += sizeof(sum))
        sum += *(const volatile uint64_t *)(const void *)(page + i);
    for (size_t i = 0; i < 64; i += sizeof(sum))
        *(volatile uint64_t *)(void *)(page + i) = sum;
}

static void clear_hot(struct bench *b, uint64_t iterations)
{
    struct copy_data *data = (struct copy_data *)b->data;
    for (uint64_t i = 0; i < iterations; i++) {
        size_t at = copy_next(data);
        CLEAR_HOT(data->dst + at, bench_opaque(data->size), COPY_HOT);
        use(data->dst + at + COPY_HOT);
    }
}
#endif

const struct copy_rival RIVAL = {
    .name = RIVAL_NAME,
#ifdef RIVAL_NEEDS
    .needs = RIVAL_NEEDS,
#endif
#ifdef COPY
    .copy_fixed = copy_fixed,
    .copy_list = copy_list,
    .copy_cold = copy_cold,
    .copy_reload = copy_reload,
#endif
#ifdef CLEAR
    .clear_fixed = clear_fixed,
    .clear_list = clear_list,
#endif
#ifdef CLEAR_HOT
    .clear_hot = clear_hot,
#endif
};
