/* SPDX-License-Identifier: MIT */
/*
 * Publishing, sums and comparisons of bounded counters.
 *
 * Invariants:
 *   - in every row |total - published| <= batch - 1 whenever nobody is inside an add there;
 *   - `total` only ever receives adds, so base + all totals is exact at any time;
 *   - what a thread has marked as published and not yet added to b->published lies between its
 *     increments of `entered` and `left`. A reader that loads `left` first and `entered` last
 *     counts at least the threads for which its read in between was wrong.
 */
#include <fastmm/bounded.h>

#include <errno.h>

#include "counter/slab.h"
#include "counter/slots.h"

enum { TOTAL, PUBLISHED };

_Static_assert(offsetof(struct fastmm_counter_bounded, base) == sizeof(struct fastmm_counter_group),
               "a group of two: base words follow the head");
_Static_assert(offsetof(struct fastmm_counter_bounded, published) ==
                   offsetof(struct fastmm_counter_bounded, base) + sizeof(int64_t),
               "a group of two: base words are adjacent");

static int init(struct fastmm_counter_bounded *b, int32_t batch, uint32_t tracks_peak)
{
    if (batch < 1)
        return -EINVAL;
    *b = (struct fastmm_counter_bounded)FASTMM_COUNTER_BOUNDED_INIT(batch);
    b->tracks_peak = tracks_peak;
    return 0;
}

int fastmm_counter_bounded_init(struct fastmm_counter_bounded *b, int32_t batch)
{
    return init(b, batch, 0);
}

int fastmm_counter_bounded_init_peak(struct fastmm_counter_bounded *b, int32_t batch)
{
    return init(b, batch, 1);
}

int fastmm_counter_bounded_destroy(struct fastmm_counter_bounded *b)
{
    return fastmm_counter_group_destroy(&b->group);
}

static void note_peak(struct fastmm_counter_bounded *b, int64_t value)
{
    int64_t peak = __atomic_load_n(&b->peak, __ATOMIC_RELAXED);
    while (b->tracks_peak && value > peak)
        if (__atomic_compare_exchange_n(&b->peak, &peak, value, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
}

static int64_t add_to(int64_t *word, int64_t v)
{
    return (int64_t)((uint64_t)__atomic_fetch_add(word, v, __ATOMIC_RELAXED) + (uint64_t)v);
}

static void add_to_base(struct fastmm_counter_bounded *b, int64_t v)
{
    int64_t base = add_to(&b->base, v);
    note_peak(b, (int64_t)((uint64_t)base + slots_load(&b->published)));
}

static void enter(struct fastmm_counter_bounded *b)
{
    __atomic_fetch_add(&b->entered, 1, __ATOMIC_SEQ_CST);
}

static void leave(struct fastmm_counter_bounded *b, int64_t published)
{
    int64_t now = add_to(&b->published, published);
    note_peak(b, (int64_t)((uint64_t)now + slots_load(&b->base)));
    __atomic_fetch_add(&b->left, 1, __ATOMIC_SEQ_CST);
}

#ifdef FASTMM_COUNTER_RSEQ

/* Adds v to this CPU's total and marks all of it as published, in one instruction. */
static int rseq_publish(uintptr_t slot, int64_t v, int64_t *published)
{
    const struct fastmm_counter_hot *hot = &FASTMM_COUNTER_NAME(fastmm_counter_hot);
    /* What is published goes to memory before the commit; an abort throws it away. */
    /* clang-format off */
    __asm__ goto(FASTMM_COUNTER_ENTER
                 "movq (%[slot], %%rax), %%rcx\n\t"
                 "addq %[v], %%rcx\n\t"
                 "movq %%rcx, %%rdx\n\t"
                 "subq 8(%[slot], %%rax), %%rdx\n\t"
                 "movq %%rdx, (%[out])\n\t"
                 "movq %%rcx, %%xmm0\n\t"
                 "punpcklqdq %%xmm0, %%xmm0\n\t"
                 "movdqu %%xmm0, (%[slot], %%rax)\n"
                 FASTMM_COUNTER_LEAVE
                 :
                 : FASTMM_COUNTER_OPERANDS(hot), [slot] "r"(slot), [v] "r"(v), [out] "r"(published)
                 : "rax", "rcx", "rdx", "xmm0", "cc", "memory"
                 : slow);
    /* clang-format on */
    return 1;
slow:
    return 0;
}

#else

static int rseq_publish(uintptr_t slot, int64_t v, int64_t *published)
{
    (void)slot;
    (void)v;
    (void)published;
    return 0;
}

#endif

void FASTMM_COUNTER_NAME(fastmm_counter_bounded_publish)(struct fastmm_counter_bounded *b,
                                                         int64_t v)
{
    uintptr_t slots = __atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE);
    int64_t published = 0;
    enter(b);
    int done = rseq_publish(slots, v, &published);
    leave(b, done ? published : 0);
    if (!done)
        FASTMM_COUNTER_NAME(fastmm_counter_bounded_add_slow)(b, v);
}

/*
 * A shard is shared by threads. Whoever changed its total or what is published of it looks at both
 * afterwards, so the last one leaves them close enough.
 */
static void shard_add(struct fastmm_counter_bounded *b, uintptr_t slots, int64_t v)
{
    unsigned shard = fastmm_counter_shard();
    int64_t *total = slots_word(slots, shard, TOTAL);
    int64_t *mark = slots_word(slots, shard, PUBLISHED);
    uint64_t reach = (uint64_t)b->batch - 1;
    uint64_t now = (uint64_t)add_to(total, v);
    int64_t seen = __atomic_load_n(mark, __ATOMIC_ACQUIRE);
    while (now - (uint64_t)seen + reach > 2 * reach) {
        enter(b);
        int claimed = __atomic_compare_exchange_n(mark, &seen, (int64_t)now, 0, __ATOMIC_ACQ_REL,
                                                  __ATOMIC_ACQUIRE);
        leave(b, claimed ? (int64_t)(now - (uint64_t)seen) : 0);
        now = slots_load(total);
        seen = __atomic_load_n(mark, __ATOMIC_ACQUIRE);
    }
}

void FASTMM_COUNTER_NAME(fastmm_counter_bounded_add_slow)(struct fastmm_counter_bounded *b,
                                                          int64_t v)
{
    uintptr_t slots = __atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE);
    if (slots & FASTMM_COUNTER_TAG) {
        shard_add(b, slots, v);
        return;
    }
    if (slots_percpu(slots))
        fastmm_counter_leave_sequence();
    add_to_base(b, v);
}

int64_t fastmm_counter_bounded_sum(const struct fastmm_counter_bounded *b)
{
    return fastmm_counter_group_sum(&b->group, TOTAL);
}

static uint64_t error_of(const struct fastmm_counter_bounded *b, uint32_t inside)
{
    uint64_t batch = (uint64_t)b->batch;
    return (batch - 1) * fastmm_counter_rows_used() + batch * inside;
}

int64_t fastmm_counter_bounded_error(const struct fastmm_counter_bounded *b)
{
    if (!slots_percpu(__atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE)))
        return 0;
    uint32_t left = __atomic_load_n(&b->left, __ATOMIC_SEQ_CST);
    return (int64_t)error_of(b, __atomic_load_n(&b->entered, __ATOMIC_SEQ_CST) - left);
}

static int sign(int64_t value, int64_t rhs)
{
    return (value > rhs) - (value < rhs);
}

int fastmm_counter_bounded_compare(const struct fastmm_counter_bounded *b, int64_t rhs)
{
    uint32_t left = __atomic_load_n(&b->left, __ATOMIC_SEQ_CST);
    int64_t base = __atomic_load_n(&b->base, __ATOMIC_SEQ_CST);
    int64_t published = __atomic_load_n(&b->published, __ATOMIC_SEQ_CST);
    uint32_t inside = __atomic_load_n(&b->entered, __ATOMIC_SEQ_CST) - left;
    int64_t read = (int64_t)((uint64_t)base + (uint64_t)published);
    if (!slots_percpu(__atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE)))
        return sign(read, rhs);

    /* Near the ends of the range the read may have wrapped where the value has not. */
    int64_t margin = (int64_t)error_of(b, inside);
    int64_t low, high;
    if (margin < 0 || __builtin_sub_overflow(read, margin, &low) ||
        __builtin_add_overflow(read, margin, &high) || (low <= rhs && rhs <= high))
        return sign(fastmm_counter_bounded_sum(b), rhs);
    return sign(read, rhs);
}

int fastmm_counter_bounded_peak(const struct fastmm_counter_bounded *b, int64_t *peak)
{
    if (!b->tracks_peak)
        return -EINVAL;
    int64_t noted = __atomic_load_n(&b->peak, __ATOMIC_RELAXED);
    int64_t now = fastmm_counter_bounded_read(b);
    *peak = now > noted ? now : noted;
    return 0;
}

int fastmm_counter_bounded_percpu(struct fastmm_counter_bounded *b)
{
    return fastmm_counter_group_percpu(&b->group);
}

int fastmm_counter_bounded_atomic(struct fastmm_counter_bounded *b)
{
    if (slots_percpu(b->group.slots)) {
        b->entered = b->left = 0;
        fastmm_counter_group_set(&b->group, PUBLISHED, 0);
    }
    return fastmm_counter_group_atomic(&b->group);
}
