/* SPDX-License-Identifier: MIT */
/* Exact sums over 2 to 1024 slots, against a walk over as many cache lines of an array. */
#include "counter/cases.h"

#include <stdlib.h>

enum { EACH = 7 };

/* args[0]: slots */
static unsigned slots_of(struct bench *b)
{
    return (unsigned)b->spec->args[0];
}

static int make_fastmm(struct bench *b)
{
    struct machine many = {.rows = slots_of(b), .by_number = 1};
    if (machine_begin(&many) != 0)
        return bench_skip(b, "other cases hold slots");
    struct fastmm_counter *c = lines(sizeof(*c));
    if (!c)
        return -12;
    b->data = c;
    b->items = 1;
    fastmm_counter_init(c);
    int error = fastmm_counter_percpu(c);
    if (error || !have_percpu())
        return error ? error : bench_skip(b, "no rseq here");
    /* The first round opens the rows. */
    for (int round = 0; round < 2; round++) {
        for (simulated_cpu = 0; simulated_cpu < slots_of(b); simulated_cpu++)
            fastmm_counter_add(c, EACH);
    }
    simulated_cpu = 0;
    fastmm_counter_set(c, (int64_t)slots_of(b) * EACH);
    return 0;
}

static void sum_fastmm(struct bench *b, uint64_t iterations)
{
    for (uint64_t k = 0; k < iterations; k++)
        bench_opaque((uint64_t)fastmm_counter_sum(b->data));
}

static uint64_t digest_fastmm(struct bench *b)
{
    return (uint64_t)fastmm_counter_sum(b->data);
}

static void free_fastmm(struct bench *b)
{
    fastmm_counter_destroy(b->data);
    free(b->data);
    machine_end();
}

static int make_array(struct bench *b)
{
    b->items = 1;
    b->data = padded_array_make(slots_of(b), EACH);
    return b->data ? 0 : -12;
}

static void sum_array(struct bench *b, uint64_t iterations)
{
    bench_opaque((uint64_t)padded_array_sum(b->data, iterations));
}

static uint64_t digest_array(struct bench *b)
{
    return (uint64_t)padded_array_sum(b->data, 1);
}

static void free_array(struct bench *b)
{
    padded_array_free(b->data);
}

void add_cases_of_sum(void)
{
    static const unsigned slots[] = {2, 64, 256, 1024};
    for (size_t k = 0; k < sizeof(slots) / sizeof(slots[0]); k++) {
        const struct bench_case ours = {.args = {slots[k]},
                                        .setup = make_fastmm,
                                        .loop = sum_fastmm,
                                        .digest = digest_fastmm,
                                        .teardown = free_fastmm};
        const struct bench_case theirs = {.args = {slots[k]},
                                          .setup = make_array,
                                          .loop = sum_array,
                                          .digest = digest_array,
                                          .teardown = free_array};
        bench_add(&ours, "counter/sum/fastmm/slots:%u", slots[k]);
        bench_add(&theirs, "counter/sum/padded_array/slots:%u", slots[k]);
    }
}
