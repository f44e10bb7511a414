/* SPDX-License-Identifier: MIT */
/*
 * Publishing, sums and comparisons of bounded counters.
 *
 * Invariants:
 *   - in every row |total - published| <= batch - 1, unless the row is closed;
 *   - who closes a row alone changes it until it opens it again. Meanwhile `published` is 2^63 off,
 *     so that no add fits; the total stays what it was, and is published by then;
 *   - b->value and b->published grow by what is published in one step. So value - published is
 *     what was counted outside slots, at any time, and with all totals the exact value;
 *   - `total` only ever receives adds.
 * What is not published yet is then at most batch - 1 a row, closed or not, and reads lack no more.
 *
 * Rows of CPUs are closed inside a restartable sequence, and may be opened from another CPU. Who
 * adds to a shard closes it for that long. Who finds a row closed counts outside: so one that loses
 * its CPU there keeps nobody, and a child of fork that inherits it closed keeps its bound.
 */
#include <fastmm/bounded.h>

#include <errno.h>

#include "counter/pair.h"
#include "counter/slab.h"
#include "counter/slots.h"

enum { TOTAL, PUBLISHED };

#define CLOSED ((uint64_t)1 << 63)

_Static_assert(offsetof(struct fastmm_counter_bounded, value) % 16 == 0 &&
                   offsetof(struct fastmm_counter_bounded, published) ==
                       offsetof(struct fastmm_counter_bounded, value) + sizeof(int64_t),
               "both words change in one step");

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

static struct pair *words_of(const struct fastmm_counter_bounded *b)
{
    return (struct pair *)(uintptr_t)&b->value;
}

static void add_outside(struct fastmm_counter_bounded *b, int64_t v)
{
    uint64_t before = (uint64_t)__atomic_fetch_add(&b->value, v, __ATOMIC_RELAXED);
    if (b->tracks_peak)
        note_peak(b, (int64_t)(before + (uint64_t)v));
}

/* What a row has kept back reaches the readers. */
static void publish(struct fastmm_counter_bounded *b, int64_t part)
{
    struct pair seen = pair_guess(words_of(b)), next;
    do {
        next.first = (int64_t)((uint64_t)seen.first + (uint64_t)part);
        next.second = (int64_t)((uint64_t)seen.second + (uint64_t)part);
    } while (!pair_replace(words_of(b), &seen, next));
    if (b->tracks_peak)
        note_peak(b, next.first);
}

/* What a row may keep back. Shards are more than CPUs and share what those may. */
static int64_t reach_of(const struct fastmm_counter_bounded *b, uintptr_t slots)
{
    int64_t reach = (int64_t)b->batch - 1;
    if (slots & FASTMM_COUNTER_TAG)
        reach = reach * fastmm_counter_cpus() / fastmm_counter_rows();
    return reach;
}

static int fits_in_a_slot(int64_t v, int64_t reach)
{
    return v <= reach && v >= -reach;
}

#ifdef FASTMM_COUNTER_RSEQ

/* Closes this CPU's row. Says which, and by how much less is published than counted there. */
static int rseq_close(uintptr_t slot, int64_t **row, int64_t *part)
{
    intptr_t id = fastmm_counter_id_offset();
    /* The results are in memory before the commit; an abort throws them away. */
    /* clang-format off */
    __asm__ goto(FASTMM_COUNTER_ENTER
                 "addq %[slot], %%rax\n\t"
                 "movq (%%rax), %%rdx\n\t"
                 "movq 8(%%rax), %%rcx\n\t"
                 "subq %%rdx, %%rcx\n\t"
                 "negq %%rcx\n\t"
                 "jo %l[slow]\n\t" /* 2^63 apart: closed */
                 "movq %%rcx, (%[part])\n\t"
                 "movq %%rax, (%[row])\n\t"
                 "btcq $63, %%rdx\n\t"
                 "movq %%rdx, 8(%%rax)\n"
                 FASTMM_COUNTER_LEAVE
                 :
                 : FASTMM_COUNTER_OPERANDS(id), [slot] "r"(slot), [row] "r"(row), [part] "r"(part)
                 : "rax", "rcx", "rdx", "cc", "memory"
                 : slow);
    /* clang-format on */
    return 1;
slow:
    return 0;
}

#else

static int rseq_close(uintptr_t slot, int64_t **row, int64_t *part)
{
    (void)slot;
    (void)row;
    (void)part;
    return 0;
}

#endif

void FASTMM_COUNTER_NAME(fastmm_counter_bounded_publish)(struct fastmm_counter_bounded *b,
                                                         int64_t v)
{
    uintptr_t slots = __atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE);
    int64_t reach = (int64_t)b->batch - 1;
    int64_t *row;
    int64_t part;
    if (fits_in_a_slot(v, reach) && rseq_close(slots, &row, &part)) {
        publish(b, part);
        __atomic_store_n(row + PUBLISHED, (int64_t)slots_load(row + TOTAL), __ATOMIC_RELEASE);
        if (fastmm_counter_bounded_rseq_add(slots, v, reach) == FASTMM_COUNTER_BOUNDED_DONE)
            return;
    }
    FASTMM_COUNTER_NAME(fastmm_counter_bounded_add_slow)(b, v);
}

static int close_shard(int64_t *published, uint64_t mark)
{
    int64_t open = (int64_t)mark;
    return __atomic_compare_exchange_n(published, &open, (int64_t)(mark ^ CLOSED), 0,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* A shard is shared by threads: who closes it is alone with both words. */
static void shard_add(struct fastmm_counter_bounded *b, uintptr_t slots, int64_t v)
{
    unsigned shard = fastmm_counter_shard();
    int64_t *total = slots_word(slots, shard, TOTAL);
    int64_t *published = slots_word(slots, shard, PUBLISHED);
    int64_t reach = reach_of(b, slots);
    uint64_t mark = slots_load(published);
    if (!fits_in_a_slot(v, reach) ||
        !fits_in_a_slot((int64_t)(slots_load(total) - mark), INT32_MAX) ||
        !close_shard(published, mark)) {
        add_outside(b, v);
        return;
    }
    uint64_t before = slots_load(total);
    int64_t part = (int64_t)(before - mark);
    if (!fits_in_a_slot(part + v, reach)) {
        publish(b, part);
        mark = before;
    }
    __atomic_store_n(total, (int64_t)(before + (uint64_t)v), __ATOMIC_RELAXED);
    __atomic_store_n(published, (int64_t)mark, __ATOMIC_RELEASE);
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
    add_outside(b, v);
}

int64_t fastmm_counter_bounded_sum(const struct fastmm_counter_bounded *b)
{
    uintptr_t slots = __atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE);
    if (!slots_percpu(slots))
        return fastmm_counter_bounded_read(b);
    struct pair words = pair_load(words_of(b));
    uint64_t outside = (uint64_t)words.first - (uint64_t)words.second;
    return (int64_t)(outside + slots_sum(slots, TOTAL));
}

int64_t fastmm_counter_bounded_error(const struct fastmm_counter_bounded *b)
{
    uintptr_t slots = __atomic_load_n(&b->group.slots, __ATOMIC_ACQUIRE);
    return slots_percpu(slots) ? reach_of(b, slots) * fastmm_counter_rows_used() : 0;
}

static int sign(int64_t value, int64_t rhs)
{
    return (value > rhs) - (value < rhs);
}

int fastmm_counter_bounded_compare(const struct fastmm_counter_bounded *b, int64_t rhs)
{
    int64_t read = fastmm_counter_bounded_read(b);
    int64_t margin = fastmm_counter_bounded_error(b); /* asked for later: rows only become more */
    /* Near the ends of the range the read may have wrapped where the value has not. */
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
    return PAIR_ATOMIC ? fastmm_counter_group_percpu(&b->group) : -ENOTSUP;
}

int fastmm_counter_bounded_atomic(struct fastmm_counter_bounded *b)
{
    uintptr_t slots = b->group.slots;
    if (slots == 0)
        return -EINVAL;
    if (!slots_percpu(slots))
        return 0;
    b->value = fastmm_counter_bounded_sum(b);
    b->published = 0;
    __atomic_store_n(&b->group.slots, fastmm_counter_slab_size(slots_row(slots, 0)),
                     __ATOMIC_RELEASE);
    FASTMM_COUNTER_NAME(fastmm_counter_free_slots)(slots);
    return 0;
}
