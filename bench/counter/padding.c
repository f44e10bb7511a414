/* SPDX-License-Identifier: MIT */
/*
 * Neighbours in atomic mode: two threads, each with a counter of its own, packed as in an array or
 * each on a line of its own.
 */
#include "counter/cases.h"

#include <stdlib.h>

enum { PADDED };

struct neighbours {
    struct fastmm_counter packed[2];
    FASTMM_COUNTER_ALIGNED struct fastmm_counter padded;
};

static int make_neighbours(struct bench *b)
{
    struct neighbours *n = lines(sizeof(*n));
    if (!n)
        return -12;
    b->data = n;
    b->items = 1;
    fastmm_counter_init(&n->packed[0]);
    fastmm_counter_init(&n->packed[1]);
    return fastmm_counter_init(&n->padded);
}

/* The first thread's is the same in both forms. */
static struct fastmm_counter *own(struct bench *b)
{
    struct neighbours *n = b->data;
    if (b->thread == 0)
        return &n->packed[0];
    return b->spec->args[PADDED] ? &n->padded : &n->packed[1];
}

static void add_to_own(struct bench *b, uint64_t iterations)
{
    struct fastmm_counter *c = own(b);
    for (uint64_t k = 0; k < iterations; k++)
        fastmm_counter_inc(c);
}

static uint64_t digest_own(struct bench *b)
{
    int64_t before = fastmm_counter_sum(own(b));
    add_to_own(b, 1000);
    return (uint64_t)(fastmm_counter_sum(own(b)) - before);
}

static void free_neighbours(struct bench *b)
{
    free(b->data);
}

void add_cases_of_padding(void)
{
    struct bench_case c = {.setup = make_neighbours,
                           .loop = add_to_own,
                           .digest = digest_own,
                           .teardown = free_neighbours};
    bench_add(&c, "counter/neighbour/fastmm/mode:alone");
    c.threads = 2;
    bench_add(&c, "counter/neighbour/fastmm/mode:packed");
    c.args[PADDED] = 1;
    bench_add(&c, "counter/neighbour/fastmm/mode:padded");
}
