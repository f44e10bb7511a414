/* SPDX-License-Identifier: MIT */
/*
 * Counters that are read far more often than a sum can be afforded: the contract of the kernel's
 * percpu_counter. A read is one load, right within a bound that can be asked for; a comparison uses
 * that bound and takes the exact sum only inside it.
 *
 * As <fastmm/counter.h>, one starts as an atomic word (then the bound is 0) and may be switched to
 * per-CPU mode online. Each CPU's slot then has the total that was counted there, which is never
 * drained, and how much of it has been published. An add that would let them differ by `batch`
 * publishes first. So exact sums have the guarantees of fastmm_counter: each completed add once,
 * never backwards for adds of one sign. And a value that swings around a boundary publishes once
 * in `batch` steps, because the distance starts at 0 after each time.
 *
 * The bound. In per-CPU mode
 *     |read - sum| <= (batch - 1) * CPUs used
 * for adds of either sign, however many threads there are and however long any of them loses its
 * CPU: who publishes closes the slot for that long, and others count in the word that is read.
 * "CPUs used" are the rows up to the highest in which anything was counted since the process began:
 * concurrency ids leave no holes, CPU ids may. A CPU that goes offline keeps its part. Without rseq
 * there are more shards than CPUs, which share (batch - 1) * possible CPUs, all counted as used.
 * fastmm_counter_bounded_error() is this number at the moment.
 *
 *   call                          may run beside     signal handler   in the child of fork
 *   add sub inc dec               everything but E   yes              yes
 *   read sum compare error peak   everything but E   yes              yes
 *   percpu                        everything but E   yes              yes
 *   init destroy atomic           nothing on it (E)                   yes
 *
 * If fork() catches another thread while it publishes, that slot stays closed in the child: adds
 * there count in the word that is read. The bound is the same. All else is as for fastmm_counter:
 * no locks, no vfork children, no threads unknown to libc.
 */
#ifndef FASTMM_BOUNDED_H
#define FASTMM_BOUNDED_H

#include <fastmm/counter.h>

struct fastmm_counter_bounded {
    struct fastmm_counter_group group; /* of two words a CPU: total, how much of it is published */
    int32_t batch;
    uint32_t tracks_peak;
    int64_t value __attribute__((aligned(16))); /* what is read: all but what slots keep back */
    int64_t published;                          /* how much of it came out of slots */
    int64_t peak;
};

/* Static initialiser; batch must be at least 1. */
/* clang-format off */
#define FASTMM_COUNTER_BOUNDED_INIT(batch) {{2}, (batch), 0, 0, 0, 0}
/* clang-format on */

FASTMM_BEGIN_DECLS

/* Atomic mode, value 0, allocates nothing. -EINVAL: batch below 1. */
FASTMM_API int fastmm_counter_bounded_init(struct fastmm_counter_bounded *b, int32_t batch);

/*
 * The same, and the highest value that completed adds have made is kept: exactly in atomic mode,
 * within the bound in per-CPU mode. Adds in atomic mode cost a comparison more.
 */
FASTMM_API int fastmm_counter_bounded_init_peak(struct fastmm_counter_bounded *b, int32_t batch);

FASTMM_API int fastmm_counter_bounded_destroy(struct fastmm_counter_bounded *b);

/* Any amount; far larger ones than the batch as well. The value wraps. */
FASTMM_INLINE void fastmm_counter_bounded_add(struct fastmm_counter_bounded *b, int64_t v);
FASTMM_INLINE void fastmm_counter_bounded_sub(struct fastmm_counter_bounded *b, int64_t v);
FASTMM_INLINE void fastmm_counter_bounded_inc(struct fastmm_counter_bounded *b);
FASTMM_INLINE void fastmm_counter_bounded_dec(struct fastmm_counter_bounded *b);

/* The value, within the bound. */
FASTMM_INLINE int64_t fastmm_counter_bounded_read(const struct fastmm_counter_bounded *b);

/* The same, but 0 instead of a negative value. */
FASTMM_INLINE int64_t fastmm_counter_bounded_read_positive(const struct fastmm_counter_bounded *b);

/* The exact value. */
FASTMM_API int64_t fastmm_counter_bounded_sum(const struct fastmm_counter_bounded *b);

/* -1, 0 or 1 as the exact value is below, at or above rhs. */
FASTMM_API int fastmm_counter_bounded_compare(const struct fastmm_counter_bounded *b, int64_t rhs);

/* By how much a read can be wrong now; 0 in atomic mode. */
FASTMM_API int64_t fastmm_counter_bounded_error(const struct fastmm_counter_bounded *b);

/* The highest value so far (at least 0); -EINVAL if it is not kept. */
FASTMM_API int fastmm_counter_bounded_peak(const struct fastmm_counter_bounded *b, int64_t *peak);

/*
 * As fastmm_counter_percpu() and fastmm_counter_atomic(). -ENOTSUP: architectures where two words
 * can't be changed in one step, that is all but x86-64 and AArch64.
 */
FASTMM_API int fastmm_counter_bounded_percpu(struct fastmm_counter_bounded *b);
FASTMM_API int fastmm_counter_bounded_atomic(struct fastmm_counter_bounded *b);

/* ---- Inline bodies ------------------------------------------------------------------------ */

/* Everything but the per-CPU add that needs no publishing and the atomic one without a peak. */
FASTMM_API void
    FASTMM_COUNTER_NAME(fastmm_counter_bounded_add_slow)(struct fastmm_counter_bounded *b,
                                                         int64_t v);
FASTMM_API void
    FASTMM_COUNTER_NAME(fastmm_counter_bounded_publish)(struct fastmm_counter_bounded *b,
                                                        int64_t v);

enum fastmm_counter_bounded_step {
    FASTMM_COUNTER_BOUNDED_DONE,
    FASTMM_COUNTER_BOUNDED_PUBLISH,
    FASTMM_COUNTER_BOUNDED_SLOW,
};

FASTMM_INLINE enum fastmm_counter_bounded_step
fastmm_counter_bounded_rseq_add(uintptr_t slot, int64_t v, int64_t reach)
{
#ifdef FASTMM_COUNTER_RSEQ
    intptr_t id = fastmm_counter_id_offset();
    /*
     * -reach <= total + v - published <= reach, as one unsigned comparison. In a closed slot they
     * are 2^63 apart, which no v of 32 bits makes good.
     */
    /* clang-format off */
    __asm__ goto(FASTMM_COUNTER_ENTER
                 "movq (%[slot], %%rax), %%rdx\n\t"
                 "subq 8(%[slot], %%rax), %%rdx\n\t"
                 "addq %[v_reach], %%rdx\n\t"
                 "cmpq %[range], %%rdx\n\t"
                 "ja %l[publish]\n\t"
                 "addq %[v], (%[slot], %%rax)\n"
                 FASTMM_COUNTER_LEAVE
                 :
                 : FASTMM_COUNTER_OPERANDS(id), [slot] "r"(slot), [v] "er"(v),
                   [v_reach] "r"((uint64_t)v + (uint64_t)reach), [range] "r"(2 * reach)
                 : "rax", "rdx", "cc", "memory"
                 : slow, publish);
    /* clang-format on */
    return FASTMM_COUNTER_BOUNDED_DONE;
publish:
    return FASTMM_COUNTER_BOUNDED_PUBLISH;
slow:
#else
    (void)slot;
    (void)v;
    (void)reach;
#endif
    return FASTMM_COUNTER_BOUNDED_SLOW;
}

FASTMM_INLINE void fastmm_counter_bounded_add(struct fastmm_counter_bounded *b, int64_t v)
{
    if (!FASTMM_COUNTER_ACCEPTED(&b->group, 0))
        return;
    uintptr_t slots = __atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE);
    if (FASTMM_LIKELY((intptr_t)slots > FASTMM_COUNTER_GROUP_MAX && v == (int32_t)v)) {
        switch (fastmm_counter_bounded_rseq_add(slots, v, (int64_t)b->batch - 1)) {
        case FASTMM_COUNTER_BOUNDED_DONE:
            return;
        case FASTMM_COUNTER_BOUNDED_PUBLISH:
            FASTMM_COUNTER_NAME(fastmm_counter_bounded_publish)(b, v);
            return;
        case FASTMM_COUNTER_BOUNDED_SLOW:
            break;
        }
    } else if (FASTMM_LIKELY(slots <= FASTMM_COUNTER_GROUP_MAX && !b->tracks_peak)) {
        if (fastmm_counter_single_threaded())
            fastmm_counter_plain_add(&b->value, v);
        else
            __atomic_fetch_add(&b->value, v, __ATOMIC_RELAXED);
        return;
    }
    FASTMM_COUNTER_NAME(fastmm_counter_bounded_add_slow)(b, v);
}

FASTMM_INLINE void fastmm_counter_bounded_sub(struct fastmm_counter_bounded *b, int64_t v)
{
    fastmm_counter_bounded_add(b, (int64_t)(0 - (uint64_t)v));
}

FASTMM_INLINE void fastmm_counter_bounded_inc(struct fastmm_counter_bounded *b)
{
    fastmm_counter_bounded_add(b, 1);
}

FASTMM_INLINE void fastmm_counter_bounded_dec(struct fastmm_counter_bounded *b)
{
    fastmm_counter_bounded_add(b, -1);
}

FASTMM_INLINE int64_t fastmm_counter_bounded_read(const struct fastmm_counter_bounded *b)
{
    return __atomic_load_n(&b->value, __ATOMIC_ACQUIRE);
}

FASTMM_INLINE int64_t fastmm_counter_bounded_read_positive(const struct fastmm_counter_bounded *b)
{
    int64_t value = fastmm_counter_bounded_read(b);
    return value < 0 ? 0 : value;
}

/* Exported twins. */

FASTMM_API void fastmm_counter_bounded_add_call(struct fastmm_counter_bounded *b, int64_t v);
FASTMM_API void fastmm_counter_bounded_sub_call(struct fastmm_counter_bounded *b, int64_t v);
FASTMM_API void fastmm_counter_bounded_inc_call(struct fastmm_counter_bounded *b);
FASTMM_API void fastmm_counter_bounded_dec_call(struct fastmm_counter_bounded *b);
FASTMM_API int64_t fastmm_counter_bounded_read_call(const struct fastmm_counter_bounded *b);
FASTMM_API int64_t
fastmm_counter_bounded_read_positive_call(const struct fastmm_counter_bounded *b);

FASTMM_END_DECLS

#endif
