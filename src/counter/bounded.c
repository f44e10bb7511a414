/* SPDX-License-Identifier: MIT */
/*
 * Publishing, sums and comparisons of bounded counters.
 *
 * Invariants:
 *   - in every row |total - published| <= batch - 1;
 *   - `total` only ever receives adds, so base + all totals is exact at any time;
 *   - who sets a row's `publishing` from 0 to 1 marks the whole total as published, adds the
 *     difference to b->published and sets it back. Nobody else publishes there meanwhile, so the
 *     last step may happen on another CPU. What is marked and not added yet is at most batch - 1 a
 *     row. Rows of CPUs are marked in the instruction that sets `publishing`. In a shard it guards
 *     every add, and whoever finds it set counts outside: so one that loses its CPU inside keeps
 *     nobody, and a child of fork that inherits it set keeps its bound.
 */
#include <fastmm/bounded.h>

#include <errno.h>

#include "counter/slab.h"
#include "counter/slots.h"

enum { TOTAL, PUBLISHED, PUBLISHING };

_Static_assert(offsetof(struct fastmm_counter_bounded, base) == sizeof(struct fastmm_counter_group),
               "a group of three: base words follow the head");
_Static_assert(offsetof(struct fastmm_counter_bounded, peak) ==
                   offsetof(struct fastmm_counter_bounded, base) + 2 * sizeof(int64_t),
               "a group of three: base words are adjacent");

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
    while (value > peak)
        if (__atomic_compare_exchange_n(&b->peak, &peak, value, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
}

/*
 * Adds to one of the two words that readers add up. The other may change before we look, or after,
 * if we lose our CPU in between: the lower of two looks makes no peak that never was.
 */
static void add_and_note(struct fastmm_counter_bounded *b, int64_t *word, const int64_t *other,
                         int64_t v)
{
    int64_t before = __atomic_load_n(other, __ATOMIC_ACQUIRE);
    int64_t now = (int64_t)((uint64_t)__atomic_fetch_add(word, v, __ATOMIC_ACQ_REL) + (uint64_t)v);
    int64_t after = __atomic_load_n(other, __ATOMIC_RELAXED);
    if (b->tracks_peak)
        note_peak(b, (int64_t)((uint64_t)now + (uint64_t)(before < after ? before : after)));
}

static void add_to_base(struct fastmm_counter_bounded *b, int64_t v)
{
    add_and_note(b, &b->base, &b->published, v);
}

/* What was marked reaches the readers. */
static void announce(struct fastmm_counter_bounded *b, int64_t marked)
{
    add_and_note(b, &b->published, &b->base, marked);
}

static int fits_in_a_slot(int64_t v, int64_t reach)
{
    return v <= reach && v >= -reach;
}

#ifdef FASTMM_COUNTER_RSEQ

/* Marks this CPU's total as published. Says which row, and by how much more than before. */
static int rseq_mark(uintptr_t slot, uintptr_t *row, int64_t *marked)
{
    intptr_t id = fastmm_counter_id_offset();
    /* The results are in memory before the commit; an abort throws them away. */
    /* clang-format off */
    __asm__ goto(FASTMM_COUNTER_ENTER
                 "addq %[slot], %%rax\n\t"
                 "cmpq $0, 16(%%rax)\n\t"
                 "jne %l[slow]\n\t"
                 "movq (%%rax), %%rdx\n\t"
                 "movq %%rdx, %%xmm0\n\t"
                 "movl $1, %%ecx\n\t"
                 "movq %%rcx, %%xmm1\n\t"
                 "punpcklqdq %%xmm1, %%xmm0\n\t"
                 "subq 8(%%rax), %%rdx\n\t"
                 "movq %%rdx, (%[marked])\n\t"
                 "movq %%rax, (%[row])\n\t"
                 "movdqu %%xmm0, 8(%%rax)\n"
                 FASTMM_COUNTER_LEAVE
                 :
                 : FASTMM_COUNTER_OPERANDS(id), [slot] "r"(slot), [row] "r"(row),
                   [marked] "r"(marked)
                 : "rax", "rcx", "rdx", "xmm0", "xmm1", "cc", "memory"
                 : slow);
    /* clang-format on */
    return 1;
slow:
    return 0;
}

#else

static int rseq_mark(uintptr_t slot, uintptr_t *row, int64_t *marked)
{
    (void)slot;
    (void)row;
    (void)marked;
    return 0;
}

#endif

void FASTMM_COUNTER_NAME(fastmm_counter_bounded_publish)(struct fastmm_counter_bounded *b,
                                                         int64_t v)
{
    uintptr_t slots = __atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE);
    int64_t reach = (int64_t)b->batch - 1;
    uintptr_t row;
    int64_t marked;
    if (fits_in_a_slot(v, reach) && rseq_mark(slots, &row, &marked)) {
        announce(b, marked);
        __atomic_store_n((int64_t *)row + PUBLISHING, 0, __ATOMIC_RELEASE);
        if (fastmm_counter_bounded_rseq_add(slots, v, reach) == FASTMM_COUNTER_BOUNDED_DONE)
            return;
    }
    FASTMM_COUNTER_NAME(fastmm_counter_bounded_add_slow)(b, v);
}

/* A shard is shared by threads: who holds `publishing` is alone with the other two words. */
static void shard_add(struct fastmm_counter_bounded *b, uintptr_t slots, int64_t v)
{
    unsigned shard = fastmm_counter_shard();
    int64_t *total = slots_word(slots, shard, TOTAL);
    int64_t *published = slots_word(slots, shard, PUBLISHED);
    int64_t *publishing = slots_word(slots, shard, PUBLISHING);
    int64_t reach = (int64_t)b->batch - 1;
    int64_t nobody = 0;
    if (!fits_in_a_slot(v, reach) ||
        !__atomic_compare_exchange_n(publishing, &nobody, 1, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
        add_to_base(b, v);
        return;
    }
    uint64_t before = slots_load(total);
    int64_t unpublished = (int64_t)(before - slots_load(published));
    if (!fits_in_a_slot(unpublished + v, reach)) {
        __atomic_store_n(published, (int64_t)before, __ATOMIC_RELAXED);
        announce(b, unpublished);
    }
    __atomic_store_n(total, (int64_t)(before + (uint64_t)v), __ATOMIC_RELAXED);
    __atomic_store_n(publishing, 0, __ATOMIC_RELEASE);
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

/*
 * Ends also where a debugger steps through it while others publish all the time: then the last two
 * words may be of different times.
 */
int64_t
FASTMM_COUNTER_NAME(fastmm_counter_bounded_read_again)(const struct fastmm_counter_bounded *b)
{
    enum { ATTEMPTS = 100 };
    int64_t published, base, again = __atomic_load_n(&b->published, __ATOMIC_ACQUIRE);
    int attempts = 0;
    do {
        published = again;
        base = __atomic_load_n(&b->base, __ATOMIC_ACQUIRE);
        again = __atomic_load_n(&b->published, __ATOMIC_ACQUIRE);
    } while (again != published && ++attempts < ATTEMPTS);
    return (int64_t)((uint64_t)base + (uint64_t)again);
}

int64_t fastmm_counter_bounded_sum(const struct fastmm_counter_bounded *b)
{
    return fastmm_counter_group_sum(&b->group, TOTAL);
}

int64_t fastmm_counter_bounded_error(const struct fastmm_counter_bounded *b)
{
    uintptr_t slots = __atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE);
    if (!slots_percpu(slots))
        return 0;
    int64_t parts = (int64_t)fastmm_counter_rows_used() + (int64_t)slots_sum(slots, PUBLISHING);
    return ((int64_t)b->batch - 1) * parts;
}

static int sign(int64_t value, int64_t rhs)
{
    return (value > rhs) - (value < rhs);
}

int fastmm_counter_bounded_compare(const struct fastmm_counter_bounded *b, int64_t rhs)
{
    int64_t read = fastmm_counter_bounded_read(b);
    if (!slots_percpu(__atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE)))
        return sign(read, rhs);

    /*
     * Anybody may be publishing, one in each row. Near the ends of the range the read may have
     * wrapped where the value has not.
     */
    int64_t margin = ((int64_t)b->batch - 1) * 2 * (int64_t)fastmm_counter_rows_used();
    int64_t low, high;
    if (__builtin_sub_overflow(read, margin, &low) || __builtin_add_overflow(read, margin, &high) ||
        (low <= rhs && rhs <= high))
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
        fastmm_counter_group_set(&b->group, PUBLISHED, 0);
        fastmm_counter_group_set(&b->group, PUBLISHING, b->peak);
    }
    return fastmm_counter_group_atomic(&b->group);
}
