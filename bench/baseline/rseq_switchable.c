/* SPDX-License-Identifier: MIT */
/*
 * rseq_array with what our contract asks for beside speed: the slots are made when the counter
 * turns hot, so each add looks whether there are any, and the thread's critical-section pointer is
 * taken back behind the add, so that the code may be unloaded.
 */
#include "baseline/rseq_slots.h"

#if defined(__x86_64__)

struct switchable {
    int64_t base;
    struct rseq_slots *slots;
};

static void *make(void)
{
    struct switchable *c = lines(sizeof(*c));
    if (!c)
        return NULL;
    c->slots = rseq_slots_make();
    if (!c->slots) {
        free(c);
        return NULL;
    }
    return c;
}

RSEQ_ADD_ON("movq $0, %c[cs](%[area])\n\t")

static inline void add_one(struct switchable *c)
{
    struct rseq_slots *s = __atomic_load_n(&c->slots, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!s, 0)) {
        __atomic_fetch_add(&c->base, 1, __ATOMIC_RELAXED);
        return;
    }
    rseq_slots_inc(s, add_on);
}

static void add(void *counter, uint64_t times)
{
    for (uint64_t k = 0; k < times; k++)
        add_one(counter);
}

static int64_t sum(void *counter)
{
    struct switchable *c = counter;
    return __atomic_load_n(&c->base, __ATOMIC_RELAXED) + rseq_slots_sum(c->slots);
}

static void free_both(void *counter)
{
    struct switchable *c = counter;
    free(c->slots);
    free(c);
}

#else

static void *make(void)
{
    return NULL;
}

static void add(void *counter, uint64_t times)
{
    (void)counter;
    (void)times;
}

static int64_t sum(void *counter)
{
    (void)counter;
    return 0;
}

static void free_both(void *counter)
{
    (void)counter;
}

#endif

const struct counter_rival counter_rseq_switchable = {
    "rseq_switchable", "code may be unloaded, slots made online", make, add, sum, free_both};
