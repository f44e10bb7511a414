/* SPDX-License-Identifier: MIT */
/*
 * The inline bodies of <fastmm/counter.h>: the three adds, plain, atomic and per-CPU. Everything
 * here is frozen into callers: see FASTMM_COUNTER_EPOCH.
 */
#ifndef FASTMM_COUNTER_INLINE_H
#define FASTMM_COUNTER_INLINE_H

#include <fastmm/counter.h>
#include <fastmm/counter_rseq.h>

#if defined(__has_include)
#    if __has_include(<sys/single_threaded.h>)
#        include <sys/single_threaded.h>
#        define FASTMM_COUNTER_KNOWS_SINGLE 1
#    endif
#endif

/* EINVAL of every Linux architecture: <errno.h> is no freestanding header. */
#define FASTMM_COUNTER_EINVAL 22

/*
 * The top bit of a slot pointer keeps the inline adds out of the slots: rows are chosen by thread,
 * or a quota's credit is being revoked.
 */
#define FASTMM_COUNTER_TAG ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 1))

FASTMM_BEGIN_DECLS

/* The adds that are not worth inlining: rows not yet open, aborted sequences. */
FASTMM_API void FASTMM_COUNTER_NAME(fastmm_counter_add_slow)(struct fastmm_counter_group *g,
                                                             unsigned i, int64_t v);

/* And into thread shards. `first` is the counter's word in the first row, tagged as the pointer. */
FASTMM_API void FASTMM_COUNTER_NAME(fastmm_counter_add_shard)(uintptr_t first, int64_t v);

/* Gives the slots of a group in per-CPU mode back. */
FASTMM_API void FASTMM_COUNTER_NAME(fastmm_counter_free_slots)(uintptr_t slots);

/* 1 if the call may go on, 0 if it was reported. */
FASTMM_API int FASTMM_COUNTER_NAME(fastmm_counter_check)(const struct fastmm_counter_group *g,
                                                         unsigned i);

#ifdef FASTMM_CHECKED
#    define FASTMM_COUNTER_ACCEPTED(g, i) \
        FASTMM_LIKELY(FASTMM_COUNTER_NAME(fastmm_counter_check)((g), (i)))
#else
#    define FASTMM_COUNTER_ACCEPTED(g, i) 1
#endif

FASTMM_INLINE int64_t *fastmm_counter_group_base(struct fastmm_counter_group *g)
{
    return (int64_t *)(uintptr_t)(g + 1);
}

#ifdef FASTMM_COUNTER_RSEQ

/* True if counted; false if the caller must take the slow path. */
FASTMM_INLINE int fastmm_counter_rseq_add(uintptr_t slot, int64_t v)
{
    intptr_t id = fastmm_counter_id_offset();
    /* clang-format off */
    __asm__ goto(FASTMM_COUNTER_ENTER
                 "addq %[v], (%[slot], %%rax)\n"
                 FASTMM_COUNTER_LEAVE
                 :
                 : FASTMM_COUNTER_OPERANDS(id), [slot] "r"(slot), [v] "er"(v)
                 : "rax", "cc", "memory"
                 : slow);
    /* clang-format on */
    return 1;
slow:
    return 0;
}

/* One instruction, so that a signal handler's add falls before or after it. */
FASTMM_INLINE void fastmm_counter_plain_add(int64_t *word, int64_t v)
{
    __asm__("addq %1, %0" : "+m"(*word) : "er"(v) : "cc");
}

#else

FASTMM_INLINE int fastmm_counter_rseq_add(uintptr_t slot, int64_t v)
{
    (void)slot;
    (void)v;
    return 0;
}

FASTMM_INLINE void fastmm_counter_plain_add(int64_t *word, int64_t v)
{
    __atomic_fetch_add(word, v, __ATOMIC_RELAXED);
}

#endif

FASTMM_INLINE int fastmm_counter_single_threaded(void)
{
#ifdef FASTMM_COUNTER_KNOWS_SINGLE
    /* A constant 0 would make it two instructions more on x86-64, which can't fuse those two. */
    char zero = 0;
    __asm__("" : "+r"(zero));
    return __libc_single_threaded != zero;
#else
    return 0;
#endif
}

FASTMM_INLINE void fastmm_counter_group_add(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    if (!FASTMM_COUNTER_ACCEPTED(g, i))
        return;
    if (fastmm_counter_single_threaded()) {
        fastmm_counter_plain_add(fastmm_counter_group_base(g) + i, v);
        return;
    }
    uintptr_t slots = __atomic_load_n(&g->slots, __ATOMIC_ACQUIRE);
    /* Signed: shards, which have the top bit set, are below as well. */
    if (FASTMM_LIKELY((intptr_t)slots > FASTMM_COUNTER_GROUP_MAX)) {
        if (!FASTMM_LIKELY(fastmm_counter_rseq_add(slots + i * sizeof(int64_t), v)))
            FASTMM_COUNTER_NAME(fastmm_counter_add_slow)(g, i, v);
    } else if (FASTMM_LIKELY(slots <= FASTMM_COUNTER_GROUP_MAX)) {
        __atomic_fetch_add(fastmm_counter_group_base(g) + i, v, __ATOMIC_RELAXED);
    } else {
        FASTMM_COUNTER_NAME(fastmm_counter_add_shard)(slots + i * sizeof(int64_t), v);
    }
}

/* The sum over many rows; few are added up in place. */
FASTMM_API int64_t FASTMM_COUNTER_NAME(fastmm_counter_sum_rows)(uintptr_t first, unsigned rows);

enum { FASTMM_COUNTER_FEW_ROWS = 4 };

FASTMM_INLINE int64_t fastmm_counter_group_sum(const struct fastmm_counter_group *g, unsigned i)
{
    if (!FASTMM_COUNTER_ACCEPTED(g, i))
        return 0;
    const int64_t *base = (const int64_t *)(uintptr_t)(g + 1) + i;
    uintptr_t slots = __atomic_load_n(&g->slots, __ATOMIC_ACQUIRE);
    uint64_t sum = (uint64_t)__atomic_load_n(base, __ATOMIC_RELAXED);
    if (slots <= FASTMM_COUNTER_GROUP_MAX)
        return (int64_t)sum;
    unsigned rows = __atomic_load_n(&FASTMM_COUNTER_NAME(fastmm_counter_hot).ids, __ATOMIC_ACQUIRE);
    uintptr_t row = (slots & ~FASTMM_COUNTER_TAG) + i * sizeof(int64_t);
    if (rows > FASTMM_COUNTER_FEW_ROWS)
        return (int64_t)(sum + (uint64_t)FASTMM_COUNTER_NAME(fastmm_counter_sum_rows)(row, rows));
    for (; rows > 0; rows--, row += FASTMM_COUNTER_STRIDE)
        sum += (uint64_t)__atomic_load_n((const int64_t *)row, __ATOMIC_RELAXED);
    return (int64_t)sum;
}

FASTMM_INLINE int fastmm_counter_group_init(struct fastmm_counter_group *g, unsigned n)
{
    if (n == 0 || n > FASTMM_COUNTER_GROUP_MAX)
        return -FASTMM_COUNTER_EINVAL;
    g->slots = n;
    __builtin_memset(fastmm_counter_group_base(g), 0, n * sizeof(int64_t));
    return 0;
}

FASTMM_INLINE int fastmm_counter_group_destroy(struct fastmm_counter_group *g)
{
    uintptr_t slots = g->slots;
    if (!FASTMM_COUNTER_ACCEPTED(g, 0) || slots == 0)
        return -FASTMM_COUNTER_EINVAL;
    g->slots = 0;
    if (slots > FASTMM_COUNTER_GROUP_MAX)
        FASTMM_COUNTER_NAME(fastmm_counter_free_slots)(slots);
    return 0;
}

FASTMM_INLINE void fastmm_counter_group_sub(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    /* Unsigned, so that INT64_MIN wraps. */
    fastmm_counter_group_add(g, i, (int64_t)(0 - (uint64_t)v));
}

FASTMM_INLINE void fastmm_counter_group_inc(struct fastmm_counter_group *g, unsigned i)
{
    fastmm_counter_group_add(g, i, 1);
}

FASTMM_INLINE void fastmm_counter_group_dec(struct fastmm_counter_group *g, unsigned i)
{
    fastmm_counter_group_add(g, i, -1);
}

FASTMM_INLINE void fastmm_counter_group_add_foreign(struct fastmm_counter_group *g, unsigned i,
                                                    int64_t v)
{
    if (!FASTMM_COUNTER_ACCEPTED(g, i))
        return;
    __atomic_fetch_add(fastmm_counter_group_base(g) + i, v, __ATOMIC_RELAXED);
}

FASTMM_INLINE int fastmm_counter_init(struct fastmm_counter *c)
{
    return fastmm_counter_group_init(&c->group, 1);
}

FASTMM_INLINE int fastmm_counter_destroy(struct fastmm_counter *c)
{
    return fastmm_counter_group_destroy(&c->group);
}

FASTMM_INLINE void fastmm_counter_add(struct fastmm_counter *c, int64_t v)
{
    fastmm_counter_group_add(&c->group, 0, v);
}

FASTMM_INLINE void fastmm_counter_sub(struct fastmm_counter *c, int64_t v)
{
    fastmm_counter_group_sub(&c->group, 0, v);
}

FASTMM_INLINE void fastmm_counter_inc(struct fastmm_counter *c)
{
    fastmm_counter_group_inc(&c->group, 0);
}

FASTMM_INLINE void fastmm_counter_dec(struct fastmm_counter *c)
{
    fastmm_counter_group_dec(&c->group, 0);
}

FASTMM_INLINE void fastmm_counter_add_foreign(struct fastmm_counter *c, int64_t v)
{
    fastmm_counter_group_add_foreign(&c->group, 0, v);
}

FASTMM_INLINE int64_t fastmm_counter_sum(const struct fastmm_counter *c)
{
    return fastmm_counter_group_sum(&c->group, 0);
}

FASTMM_INLINE int64_t fastmm_counter_sum_positive(const struct fastmm_counter *c)
{
    return fastmm_counter_group_sum_positive(&c->group, 0);
}

FASTMM_INLINE void fastmm_counter_set(struct fastmm_counter *c, int64_t v)
{
    fastmm_counter_group_set(&c->group, 0, v);
}

FASTMM_INLINE int64_t fastmm_counter_take(struct fastmm_counter *c)
{
    return fastmm_counter_group_take(&c->group, 0);
}

FASTMM_INLINE int fastmm_counter_percpu(struct fastmm_counter *c)
{
    return fastmm_counter_group_percpu(&c->group);
}

FASTMM_INLINE int fastmm_counter_atomic(struct fastmm_counter *c)
{
    return fastmm_counter_group_atomic(&c->group);
}

/* Exported twins. */

FASTMM_API int fastmm_counter_group_init_call(struct fastmm_counter_group *g, unsigned n);
FASTMM_API int fastmm_counter_group_destroy_call(struct fastmm_counter_group *g);
FASTMM_API int64_t fastmm_counter_group_sum_call(const struct fastmm_counter_group *g, unsigned i);
FASTMM_API void fastmm_counter_group_add_call(struct fastmm_counter_group *g, unsigned i,
                                              int64_t v);
FASTMM_API void fastmm_counter_group_sub_call(struct fastmm_counter_group *g, unsigned i,
                                              int64_t v);
FASTMM_API void fastmm_counter_group_inc_call(struct fastmm_counter_group *g, unsigned i);
FASTMM_API void fastmm_counter_group_dec_call(struct fastmm_counter_group *g, unsigned i);
FASTMM_API void fastmm_counter_group_add_foreign_call(struct fastmm_counter_group *g, unsigned i,
                                                      int64_t v);
FASTMM_API int fastmm_counter_init_call(struct fastmm_counter *c);
FASTMM_API int fastmm_counter_destroy_call(struct fastmm_counter *c);
FASTMM_API void fastmm_counter_add_call(struct fastmm_counter *c, int64_t v);
FASTMM_API void fastmm_counter_sub_call(struct fastmm_counter *c, int64_t v);
FASTMM_API void fastmm_counter_inc_call(struct fastmm_counter *c);
FASTMM_API void fastmm_counter_dec_call(struct fastmm_counter *c);
FASTMM_API void fastmm_counter_add_foreign_call(struct fastmm_counter *c, int64_t v);
FASTMM_API int64_t fastmm_counter_sum_call(const struct fastmm_counter *c);
FASTMM_API int64_t fastmm_counter_sum_positive_call(const struct fastmm_counter *c);
FASTMM_API void fastmm_counter_set_call(struct fastmm_counter *c, int64_t v);
FASTMM_API int64_t fastmm_counter_take_call(struct fastmm_counter *c);
FASTMM_API int fastmm_counter_percpu_call(struct fastmm_counter *c);
FASTMM_API int fastmm_counter_atomic_call(struct fastmm_counter *c);

FASTMM_END_DECLS

#endif
