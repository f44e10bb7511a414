/* SPDX-License-Identifier: MIT */
/*
 * A limit that is never passed and can be reached exactly: for memory limits and for semaphores
 * that count bytes.
 *
 *     struct fastmm_quota heap = FASTMM_QUOTA_INIT(1 << 30, 4096);
 *     fastmm_quota_percpu(&heap);                  // optional, when threads contend
 *     if (!fastmm_quota_add(&heap, bytes))
 *         return NULL;                             // it would have passed the limit
 *     ...
 *     fastmm_quota_return(&heap, bytes);
 *
 * Room is the limit minus what is in use. It is one atomic word until the quota is switched to
 * per-CPU mode; from then on each CPU holds part of the room as credit, and adds and returns
 * change that credit alone. Who finds too little credit fetches more from the word. When the word
 * has too little as well, all credit is revoked: the CPUs are kept out of it (an expedited
 * membarrier aborts the sequences that run), it is collected, and the quota works as one atomic
 * word until there is ample room again.
 *
 * Guarantees, in any mode and during switches and revocations:
 *   - use never passes the limit: an add happens entirely or not at all;
 *   - an add is refused only if there was a moment during the call in which the completed adds and
 *     returns, with those that overlap it, left no room for it;
 *   - a completed return is available to every later add.
 *
 *   call                   may run beside     signal handler   in the child of fork
 *   add return, atomic     everything but E   yes              yes
 *   add return, per-CPU    everything but E   no (lock)        yes, with the hooks
 *   used limit floor       everything but E   yes              yes
 *   set_limit set_floor    everything but E   no (lock)        yes, with the hooks
 *   percpu                 everything but E   as counters      yes, with the hooks
 *   init destroy           nothing on it (E)                   yes, with the hooks
 *
 * There is one lock, taken where credit moves, and never while memory is being allocated. A quota
 * that was never switched takes it in set_limit only. A child of a process with threads may use
 * switched ones only if the hooks ran around its fork(); an embedder calls them in its own order,
 * anyone else passes them to pthread_atfork().
 *
 * Without rseq or its membarrier, percpu refuses and a quota remains one atomic word. Where a
 * sandbox forbids membarrier after a quota was switched, credit can't be revoked any more: no limit
 * is passed, but what finds too little room in the word is refused although CPUs hold credit.
 */
#ifndef FASTMM_QUOTA_H
#define FASTMM_QUOTA_H

#include <fastmm/counter.h>

struct fastmm_quota {
    struct fastmm_counter_group group; /* of one word a CPU: credit; tagged while revoked */
    int64_t room;                      /* not given out as credit */
    int64_t limit;
    int64_t batch; /* credit is fetched in about such pieces */
};

/* A value between a floor and a limit: what may be added is one quota, what may be taken another.
 */
struct fastmm_quota_range {
    struct fastmm_quota up;
    struct fastmm_quota down;
};

/* Static initialiser: nothing in use. limit >= 0, 1 <= batch <= INT64_MAX / 4. */
/* clang-format off */
#define FASTMM_QUOTA_INIT(limit, batch) {{1}, (limit), (limit), (batch)}
/* clang-format on */

FASTMM_BEGIN_DECLS

/* -EINVAL: limit or batch outside what FASTMM_QUOTA_INIT() takes. Batch in the unit of the limit: a
 * few large adds. */
FASTMM_API int fastmm_quota_init(struct fastmm_quota *q, int64_t limit, int64_t batch);
FASTMM_API int fastmm_quota_destroy(struct fastmm_quota *q);

/* True if v (>= 0) was added; false if that would pass the limit, or v is negative. */
FASTMM_INLINE int fastmm_quota_add(struct fastmm_quota *q, int64_t v);

/* Takes back v of what was added. The caller must have added it: more is not detected. */
FASTMM_INLINE void fastmm_quota_return(struct fastmm_quota *q, int64_t v);

/*
 * What is in use, from 0 to the limit: exact while no other call runs, else wrong by no more than
 * what those calls move.
 */
FASTMM_API int64_t fastmm_quota_used(const struct fastmm_quota *q);

FASTMM_API int64_t fastmm_quota_limit(const struct fastmm_quota *q);

/* -EBUSY: more than that is in use, the limit stays. -EINVAL: below 0. */
FASTMM_API int fastmm_quota_set_limit(struct fastmm_quota *q, int64_t limit);

/*
 * To per-CPU credit, online. 0 also when it is there already. -ENOMEM; -ENOTSUP: no rseq, or the
 * kernel has no membarrier for it; -EINVAL: not initialised.
 */
FASTMM_API int fastmm_quota_percpu(struct fastmm_quota *q);

/* Around fork(): before it, then in the parent and in the child. */
FASTMM_API void fastmm_quota_fork_prepare(void);
FASTMM_API void fastmm_quota_fork_parent(void);
FASTMM_API void fastmm_quota_fork_child(void);

/* A range that starts at `value`. -EINVAL unless floor <= value <= limit and their difference
 * fits; otherwise as quotas. */
FASTMM_API int fastmm_quota_range_init(struct fastmm_quota_range *r, int64_t floor, int64_t value,
                                       int64_t limit, int64_t batch);
FASTMM_API int fastmm_quota_range_destroy(struct fastmm_quota_range *r);

/* As fastmm_quota_percpu(). */
FASTMM_API int fastmm_quota_range_percpu(struct fastmm_quota_range *r);

/* True if v, of either sign, was added and neither end passed. */
FASTMM_INLINE int fastmm_quota_range_add(struct fastmm_quota_range *r, int64_t v);

/* How far the value is above the floor, as fastmm_quota_used(). */
FASTMM_API int64_t fastmm_quota_range_used(const struct fastmm_quota_range *r);

FASTMM_API int64_t fastmm_quota_range_limit(const struct fastmm_quota_range *r);
FASTMM_API int64_t fastmm_quota_range_floor(const struct fastmm_quota_range *r);

/*
 * Moves one end, as fastmm_quota_set_limit(). -EBUSY: the value is beyond it. -EINVAL: the floor
 * would be above the limit, or their difference doesn't fit.
 */
FASTMM_API int fastmm_quota_range_set_limit(struct fastmm_quota_range *r, int64_t limit);
FASTMM_API int fastmm_quota_range_set_floor(struct fastmm_quota_range *r, int64_t floor);

/* ---- Inline bodies ------------------------------------------------------------------------ */

FASTMM_API int FASTMM_COUNTER_NAME(fastmm_quota_add_slow)(struct fastmm_quota *q, int64_t v);
FASTMM_API void FASTMM_COUNTER_NAME(fastmm_quota_return_slow)(struct fastmm_quota *q, int64_t v);

/*
 * Changes this CPU's credit by v if it is then within 0..most, which takes one unsigned
 * comparison. The slot pointer is read inside the sequence: a revocation tags it and then aborts
 * all sequences, so none goes on with the untagged one.
 */
FASTMM_INLINE int fastmm_quota_rseq_change(struct fastmm_quota *q, int64_t v, int64_t most)
{
#ifdef FASTMM_COUNTER_RSEQ
    intptr_t id = fastmm_counter_id_offset();
    /* clang-format off */
    __asm__ goto(FASTMM_COUNTER_ENTER
                 "movq %[slots], %%rcx\n\t"
                 "cmpq $8, %%rcx\n\t"
                 "jle %l[slow]\n\t"
                 "addq %%rcx, %%rax\n\t"
                 "movq (%%rax), %%rdx\n\t"
                 "addq %[v], %%rdx\n\t"
                 "cmpq %[most], %%rdx\n\t"
                 "ja %l[slow]\n\t"
                 "movq %%rdx, (%%rax)\n"
                 FASTMM_COUNTER_LEAVE
                 :
                 : FASTMM_COUNTER_OPERANDS(id), [slots] "m"(q->group.slots), [v] "er"(v),
                   [most] "r"(most)
                 : "rax", "rcx", "rdx", "cc", "memory"
                 : slow);
    /* clang-format on */
    return 1;
slow:
#else
    (void)q;
    (void)v;
    (void)most;
#endif
    return 0;
}

FASTMM_INLINE int fastmm_quota_is_percpu(const struct fastmm_quota *q)
{
    return (intptr_t)__atomic_load_n(&q->group.slots, __ATOMIC_ACQUIRE) > FASTMM_COUNTER_GROUP_MAX;
}

FASTMM_INLINE int fastmm_quota_add(struct fastmm_quota *q, int64_t v)
{
    if (!FASTMM_COUNTER_ACCEPTED(&q->group, 0))
        return 0;
    /* A negative v would raise the credit: the top bit of the sum can't tell. */
    if (FASTMM_LIKELY(v >= 0 && fastmm_quota_is_percpu(q)) &&
        FASTMM_LIKELY(fastmm_quota_rseq_change(q, -v, INT64_MAX)))
        return 1;
    return FASTMM_COUNTER_NAME(fastmm_quota_add_slow)(q, v);
}

FASTMM_INLINE void fastmm_quota_return(struct fastmm_quota *q, int64_t v)
{
    if (!FASTMM_COUNTER_ACCEPTED(&q->group, 0))
        return;
    if (FASTMM_LIKELY(v >= 0 && fastmm_quota_is_percpu(q)) &&
        FASTMM_LIKELY(fastmm_quota_rseq_change(q, v, 2 * q->batch)))
        return;
    FASTMM_COUNTER_NAME(fastmm_quota_return_slow)(q, v);
}

FASTMM_INLINE int fastmm_quota_range_add(struct fastmm_quota_range *r, int64_t v)
{
    /* Taken at one end before it is given at the other, so that both hold in between. */
    if (v >= 0) {
        if (!fastmm_quota_add(&r->up, v))
            return 0;
        fastmm_quota_return(&r->down, v);
        return 1;
    }
    if (v == INT64_MIN || !fastmm_quota_add(&r->down, -v))
        return 0;
    fastmm_quota_return(&r->up, -v);
    return 1;
}

/* Exported twins. */

FASTMM_API int fastmm_quota_add_call(struct fastmm_quota *q, int64_t v);
FASTMM_API void fastmm_quota_return_call(struct fastmm_quota *q, int64_t v);
FASTMM_API int fastmm_quota_range_add_call(struct fastmm_quota_range *r, int64_t v);

FASTMM_END_DECLS

#endif
