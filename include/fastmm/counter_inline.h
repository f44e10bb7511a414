/* SPDX-License-Identifier: MIT */
/*
 * The inline bodies of <fastmm/counter.h>: the three adds. Everything here is frozen into callers,
 * so a change of what it reads or writes raises FASTMM_COUNTER_EPOCH.
 *
 * The per-CPU add is a restartable sequence: between its start and its last instruction the kernel
 * diverts a thread that was preempted, migrated or interrupted by a signal to the abort address.
 * Nothing has been counted then, and the add goes to the base word instead of being retried. So
 * each add ends after one attempt, even under a debugger that steps through it.
 */
#ifndef FASTMM_COUNTER_INLINE_H
#define FASTMM_COUNTER_INLINE_H

#include <fastmm/counter.h>

#if defined(__has_include)
#    if __has_include(<sys/single_threaded.h>)
#        include <sys/single_threaded.h>
#        define FASTMM_COUNTER_KNOWS_SINGLE 1
#    endif
#endif

#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__)
#    define FASTMM_COUNTER_RSEQ 1
#endif

#define FASTMM_COUNTER_EPOCH      1
#define FASTMM_COUNTER_NAME(name) FASTMM_EPOCH_NAME(name, FASTMM_COUNTER_EPOCH)

/*
 * Bytes from one CPU's slots to the next CPU's: a page plus a line. With exactly a page all slots
 * of a counter would fall into one cache set, and a sum would take twice as long.
 */
#define FASTMM_COUNTER_STRIDE 4160

/* EINVAL of every Linux architecture: <errno.h> is no freestanding header. */
#define FASTMM_COUNTER_EINVAL 22

FASTMM_BEGIN_DECLS

/*
 * What the per-CPU add has to know of this process, written before the first slot pointer is.
 * Offsets are from the thread pointer. `ids` is the number of rows in use and grows: an add from a
 * CPU at or above it takes the slow path, which opens the row for the next one. So rows of CPUs
 * that never counted are never touched, not even by sums.
 */
struct fastmm_counter_hot {
    intptr_t rseq;
    intptr_t id;
    uint32_t ids;
};

extern FASTMM_API struct fastmm_counter_hot FASTMM_COUNTER_NAME(fastmm_counter_hot);

/* The adds that are not worth inlining: thread shards, rows not yet open, aborted sequences. */
FASTMM_API void FASTMM_COUNTER_NAME(fastmm_counter_add_slow)(struct fastmm_counter_group *g,
                                                             unsigned i, int64_t v);

/* Gives the slots of a group in per-CPU mode back. */
FASTMM_API void FASTMM_COUNTER_NAME(fastmm_counter_free_slots)(uintptr_t slots);

FASTMM_INLINE int64_t *fastmm_counter_group_base(struct fastmm_counter_group *g)
{
    return (int64_t *)(uintptr_t)(g + 1);
}

#ifdef FASTMM_COUNTER_RSEQ

/* True if counted; false if the caller must take the slow path. */
FASTMM_INLINE int fastmm_counter_rseq_add(uintptr_t slot, int64_t v)
{
    const struct fastmm_counter_hot *hot = &FASTMM_COUNTER_NAME(fastmm_counter_hot);
    /*
     * The flag '?' puts the pushed sections into the group of the function, so that the linker
     * drops them together with a duplicate C++ inline function. 0x53053053 is the signature that
     * libc registered; the bytes before it make it an undefined instruction with an operand.
     * The sign of cpu_id (offset 4) is looked at because a thread whose registration failed has a
     * negative one, but 0 for a concurrency id.
     */
    __asm__ goto(".pushsection __rseq_cs, \"aw?\", @progbits\n\t"
                 ".balign 32\n"
                 "77:\n\t"
                 ".long 0, 0\n\t"
                 ".quad 71f, 72f - 71f, 74f\n\t"
                 ".popsection\n\t"
                 ".pushsection __rseq_failure, \"ax?\", @progbits\n\t"
                 ".byte 0x0f, 0xb9, 0x3d\n\t"
                 ".long 0x53053053\n"
                 "74:\n\t"
                 "jmp %l[slow]\n\t"
                 ".popsection\n\t"
                 "leaq 77b(%%rip), %%rax\n\t"
                 "movq %%rax, %%fs:8(%[rseq])\n"
                 "71:\n\t"
                 "cmpl $0, %%fs:4(%[rseq])\n\t"
                 "js %l[slow]\n\t"
                 "movl %%fs:(%[id]), %%eax\n\t"
                 "cmpl %[ids], %%eax\n\t"
                 "jae %l[slow]\n\t"
                 "imulq %[stride], %%rax, %%rax\n\t"
                 "addq %[v], (%[slot], %%rax)\n"
                 "72:\n\t"
                 "movq $0, %%fs:8(%[rseq])\n\t"
                 :
                 : [rseq] "r"(__atomic_load_n(&hot->rseq, __ATOMIC_RELAXED)),
                   [id] "r"(__atomic_load_n(&hot->id, __ATOMIC_RELAXED)), [ids] "m"(hot->ids),
                   [slot] "r"(slot), [stride] "i"(FASTMM_COUNTER_STRIDE), [v] "er"(v)
                 : "rax", "cc", "memory"
                 : slow);
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
    return __libc_single_threaded;
#else
    return 0;
#endif
}

FASTMM_INLINE void fastmm_counter_group_add(struct fastmm_counter_group *g, unsigned i, int64_t v)
{
    if (fastmm_counter_single_threaded()) {
        fastmm_counter_plain_add(fastmm_counter_group_base(g) + i, v);
        return;
    }
    uintptr_t slots = __atomic_load_n(&g->slots, __ATOMIC_ACQUIRE);
    /* Signed: shards, which have the top bit set, are below as well. */
    if (FASTMM_LIKELY((intptr_t)slots > FASTMM_COUNTER_GROUP_MAX)) {
        if (FASTMM_LIKELY(fastmm_counter_rseq_add(slots + i * sizeof(int64_t), v)))
            return;
    } else if (FASTMM_LIKELY(slots <= FASTMM_COUNTER_GROUP_MAX)) {
        __atomic_fetch_add(fastmm_counter_group_base(g) + i, v, __ATOMIC_RELAXED);
        return;
    }
    FASTMM_COUNTER_NAME(fastmm_counter_add_slow)(g, i, v);
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
    if (slots == 0)
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
