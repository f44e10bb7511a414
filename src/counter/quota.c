/* SPDX-License-Identifier: MIT */
/*
 * Where credit moves: fetching it, giving surplus back, revoking it all.
 *
 * Invariants:
 *   - limit = use + room + all credit + what the holder of the lock has in hand;
 *   - room and each CPU's credit are never negative, so use never passes the limit;
 *   - credit leaves and enters `room` under the lock only, so who refuses under the lock, with the
 *     credit revoked, has seen all the room there is;
 *   - slots are all zero while the slot pointer is tagged and the lock is free, so the tag can be
 *     taken away by one store.
 *
 * The lock is one for all quotas: it is taken once in a batch far from the limit, and a single
 * lock can be held across fork() without knowing every quota.
 */
#define _GNU_SOURCE
#include <fastmm/quota.h>

#include <errno.h>

#include "counter/lock.h"
#include "counter/slab.h"
#include "counter/slots.h"
#include "counter/switch.h"

/* <linux/membarrier.h>, Linux 5.10 */
enum { MEMBARRIER_RSEQ = 1 << 7, MEMBARRIER_REGISTER_RSEQ = 1 << 8 };

static uint32_t lock;

void fastmm_quota_fork_prepare(void)
{
    lock_take(&lock);
}

void fastmm_quota_fork_parent(void)
{
    lock_give(&lock);
}

void fastmm_quota_fork_child(void)
{
    __atomic_store_n(&lock, LOCK_FREE, __ATOMIC_RELEASE); /* its waiters are not here */
}

int fastmm_quota_init(struct fastmm_quota *q, int64_t limit, int64_t batch)
{
    if (limit < 0 || batch < 1 || batch > INT64_MAX / 4)
        return -EINVAL;
    *q = (struct fastmm_quota)FASTMM_QUOTA_INIT(limit, batch);
    return 0;
}

static int is_revoked(uintptr_t slots)
{
    return (slots & FASTMM_COUNTER_TAG) != 0;
}

static int holds_credit(uintptr_t slots)
{
    return slots_percpu(slots) && !is_revoked(slots);
}

static uintptr_t slots_of(const struct fastmm_quota *q)
{
    return __atomic_load_n(&q->group.slots, __ATOMIC_ACQUIRE);
}

int fastmm_quota_destroy(struct fastmm_quota *q)
{
    return fastmm_counter_group_destroy(&q->group);
}

/* The atomic word: true if it had v to give. */
static int take_room(struct fastmm_quota *q, int64_t v)
{
    int64_t room = __atomic_load_n(&q->room, __ATOMIC_ACQUIRE);
    while (room >= v)
        if (__atomic_compare_exchange_n(&q->room, &room, room - v, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return 1;
    return 0;
}

static int64_t give_room(struct fastmm_quota *q, int64_t v)
{
    return __atomic_add_fetch(&q->room, v, __ATOMIC_ACQ_REL);
}

/*
 * Room from which per-CPU credit pays again. A quarter of it is where credit is revoked: what that
 * brings in, at most two batches a CPU, can't make it ample at once.
 */
static int64_t ample(const struct fastmm_quota *q)
{
    int64_t batches = 8 * ((int64_t)fastmm_counter_rows_used() + 1);
    int64_t room;
    return __builtin_mul_overflow(batches, q->batch, &room) ? INT64_MAX : room;
}

/* No sequence that began before this call is still running after it. */
static int abort_sequences(void)
{
    int callers_errno = errno; /* an allocator's free() must leave it alone */
    int aborted = syscall(SYS_membarrier, MEMBARRIER_RSEQ, 0, 0) == 0;
    if (!aborted)
        aborted = syscall(SYS_membarrier, MEMBARRIER_REGISTER_RSEQ, 0, 0) == 0 &&
                  syscall(SYS_membarrier, MEMBARRIER_RSEQ, 0, 0) == 0;
    errno = callers_errno;
    return aborted ? 0 : -ENOTSUP;
}

/*
 * Under the lock. Afterwards all room is in q->room and stays there until the tag is taken away.
 * Without effect in atomic mode, when revoked already, and when membarrier, which has worked
 * before, is forbidden now.
 */
static void revoke_credit(struct fastmm_quota *q)
{
    uintptr_t slots = slots_of(q);
    if (!holds_credit(slots))
        return;
    __atomic_store_n(&q->group.slots, slots | FASTMM_COUNTER_TAG, __ATOMIC_SEQ_CST);
    if (abort_sequences() != 0) {
        __atomic_store_n(&q->group.slots, slots, __ATOMIC_RELEASE);
        return;
    }
    unsigned used = fastmm_counter_rows_used();
    for (unsigned row = 0; row < used; row++) {
        int64_t *credit = slots_word(slots, row, 0);
        int64_t here = __atomic_load_n(credit, __ATOMIC_RELAXED);
        if (!here)
            continue;
        __atomic_store_n(credit, 0, __ATOMIC_RELAXED);
        give_room(q, here);
    }
}

static void restore_when_ample(struct fastmm_quota *q, int64_t room)
{
    if (room < ample(q) || !is_revoked(slots_of(q)))
        return;
    lock_take(&lock);
    uintptr_t slots = slots_of(q);
    if (is_revoked(slots))
        __atomic_store_n(&q->group.slots, slots & ~FASTMM_COUNTER_TAG, __ATOMIC_RELEASE);
    lock_give(&lock);
}

/* Under the lock: credit for this CPU, or none for anybody near the limit. */
static void refill(struct fastmm_quota *q)
{
    if (__atomic_load_n(&q->room, __ATOMIC_RELAXED) < ample(q) / 4) {
        revoke_credit(q);
        return;
    }
    if (!take_room(q, q->batch))
        return;
    if (!fastmm_quota_rseq_change(q, q->batch, 2 * q->batch)) {
        fastmm_counter_leave_sequence();
        give_room(q, q->batch);
    }
}

/* Under the lock: from the word, and if it has too little, from everybody's credit. */
static int take_room_anywhere(struct fastmm_quota *q, int64_t v)
{
    if (take_room(q, v))
        return 1;
    revoke_credit(q);
    return take_room(q, v);
}

/* Also when credit is revoked: it may have been while the caller was in its sequence. */
static void leave_callers_sequence(const struct fastmm_quota *q)
{
    if (slots_percpu(slots_of(q)))
        fastmm_counter_leave_sequence();
}

int FASTMM_COUNTER_NAME(fastmm_quota_add_slow)(struct fastmm_quota *q, int64_t v)
{
    if (v < 0)
        return 0;
    leave_callers_sequence(q);
    if (!holds_credit(slots_of(q))) {
        if (take_room(q, v)) {
            restore_when_ample(q, __atomic_load_n(&q->room, __ATOMIC_RELAXED));
            return 1;
        }
        if (!slots_percpu(slots_of(q)))
            return 0; /* not switched before the look at the word either: all room was there */
    }
    lock_take(&lock);
    int added = take_room_anywhere(q, v);
    if (added && holds_credit(slots_of(q)))
        refill(q);
    lock_give(&lock);
    return added;
}

void FASTMM_COUNTER_NAME(fastmm_quota_return_slow)(struct fastmm_quota *q, int64_t v)
{
    if (v < 0)
        return;
    leave_callers_sequence(q);
    if (!holds_credit(slots_of(q))) {
        restore_when_ample(q, give_room(q, v));
        return;
    }
    /* This CPU has more than it needs, or its row is not open: the word takes v and a batch. */
    lock_take(&lock);
    give_room(q, v);
    if (fastmm_quota_rseq_change(q, -q->batch, INT64_MAX))
        give_room(q, q->batch);
    else
        fastmm_counter_leave_sequence();
    lock_give(&lock);
}

/* All of it, credit included. */
static uint64_t room_of(const struct fastmm_quota *q)
{
    uintptr_t slots = slots_of(q);
    uint64_t room = slots_load(&q->room);
    return slots_percpu(slots) ? room + slots_sum(slots, 0) : room;
}

/* What passes through calls that run now may be missing or there twice. */
static int64_t in_use(int64_t limit, uint64_t room)
{
    int64_t used = (int64_t)((uint64_t)limit - room);
    return used < 0 ? 0 : used > limit ? limit : used;
}

int64_t fastmm_quota_used(const struct fastmm_quota *q)
{
    uint64_t room = room_of(q);
    return in_use(fastmm_quota_limit(q), room);
}

int64_t fastmm_quota_limit(const struct fastmm_quota *q)
{
    return __atomic_load_n(&q->limit, __ATOMIC_RELAXED);
}

/* Under the lock. Their difference fits. */
static int move_limit(struct fastmm_quota *q, int64_t limit)
{
    int64_t change = (int64_t)((uint64_t)limit - (uint64_t)q->limit);
    if (change > 0)
        give_room(q, change);
    else if (!take_room_anywhere(q, -change))
        return -EBUSY;
    __atomic_store_n(&q->limit, limit, __ATOMIC_RELAXED);
    return 0;
}

static void restore_after_change(struct fastmm_quota *q)
{
    restore_when_ample(q, __atomic_load_n(&q->room, __ATOMIC_RELAXED));
}

int fastmm_quota_set_limit(struct fastmm_quota *q, int64_t limit)
{
    if (limit < 0)
        return -EINVAL;
    lock_take(&lock);
    int error = move_limit(q, limit);
    lock_give(&lock);
    restore_after_change(q);
    return error;
}

/* All of them or none. */
static int switch_together(struct fastmm_quota *const *quotas, unsigned count)
{
    uintptr_t slots[2];
    for (unsigned k = 0; k < count; k++)
        if (slots_of(quotas[k]) == 0)
            return -EINVAL;
    if (fastmm_counter_decide() == FASTMM_COUNTER_THREAD_SHARDS || abort_sequences() != 0)
        return -ENOTSUP;
    for (unsigned k = 0; k < count; k++) {
        slots[k] = fastmm_counter_switch_prepare(1);
        if (slots[k])
            continue;
        while (k-- > 0)
            fastmm_counter_switch_cancel(slots[k]);
        return -ENOMEM;
    }
    for (unsigned k = 0; k < count; k++)
        fastmm_counter_switch_commit(&quotas[k]->group, slots[k]);
    return 0;
}

int fastmm_quota_percpu(struct fastmm_quota *q)
{
    return slots_percpu(slots_of(q)) ? 0 : switch_together(&q, 1);
}

/* Also of INT64_MIN, whose negation only ever meets numbers so near that differences fit. */
static int64_t negated(int64_t v)
{
    return (int64_t)(0 - (uint64_t)v);
}

/*
 * The value of a range is what is in use of `up`, and its negation of `down`, both of which may be
 * below 0.
 */
int fastmm_quota_range_init(struct fastmm_quota_range *r, int64_t floor, int64_t value,
                            int64_t limit, int64_t batch)
{
    int64_t span;
    if (floor > value || value > limit || __builtin_sub_overflow(limit, floor, &span))
        return -EINVAL;
    struct fastmm_quota_range made;
    int error = fastmm_quota_init(&made.up, span, batch);
    if (!error)
        error = fastmm_quota_init(&made.down, span, batch);
    if (error)
        return error;
    made.up.room = limit - value;
    made.up.limit = limit;
    made.down.room = value - floor;
    made.down.limit = negated(floor);
    *r = made;
    return 0;
}

int fastmm_quota_range_destroy(struct fastmm_quota_range *r)
{
    int up = fastmm_quota_destroy(&r->up);
    int down = fastmm_quota_destroy(&r->down);
    return up ? up : down;
}

int fastmm_quota_range_percpu(struct fastmm_quota_range *r)
{
    struct fastmm_quota *const halves[] = {&r->up, &r->down};
    if (slots_percpu(slots_of(&r->up)) && slots_percpu(slots_of(&r->down)))
        return 0;
    return switch_together(halves, 2);
}

int64_t fastmm_quota_range_limit(const struct fastmm_quota_range *r)
{
    return fastmm_quota_limit(&r->up);
}

int64_t fastmm_quota_range_floor(const struct fastmm_quota_range *r)
{
    return negated(fastmm_quota_limit(&r->down));
}

/* Moves one end, the limit of `half`, if both then are what they must be. */
static int move_end(struct fastmm_quota *half, int64_t end, int64_t floor, int64_t limit)
{
    int64_t span;
    if (floor > limit || __builtin_sub_overflow(limit, floor, &span))
        return -EINVAL;
    return move_limit(half, end);
}

int fastmm_quota_range_set_limit(struct fastmm_quota_range *r, int64_t limit)
{
    lock_take(&lock);
    int error = move_end(&r->up, limit, fastmm_quota_range_floor(r), limit);
    lock_give(&lock);
    restore_after_change(&r->up);
    return error;
}

int fastmm_quota_range_set_floor(struct fastmm_quota_range *r, int64_t floor)
{
    lock_take(&lock);
    int error = move_end(&r->down, negated(floor), floor, fastmm_quota_range_limit(r));
    lock_give(&lock);
    restore_after_change(&r->down);
    return error;
}

int64_t fastmm_quota_range_used(const struct fastmm_quota_range *r)
{
    uint64_t room = room_of(&r->up);
    uint64_t limit = (uint64_t)fastmm_quota_range_limit(r);
    return in_use((int64_t)(limit - (uint64_t)fastmm_quota_range_floor(r)), room);
}
