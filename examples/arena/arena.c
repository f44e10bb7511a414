/* SPDX-License-Identifier: MIT */
/*
 * Blocks: handing them out, taking them back, and refusing what is no block.
 */
#include "arena.h"

#include <errno.h>
#include <fastmm/copy.h>

#include "internal.h"

/* ---- Lanes ---- */

static struct lane *lane_of(struct arena *a, unsigned number)
{
    return &a->lanes[number - 1];
}

/* Per-CPU statistics begin to pay. The footprint changes too seldom for them. */
static void begin_sharing(struct arena *a)
{
    __atomic_store_n(&a->lanes_seen, LANES_MANY, __ATOMIC_RELAXED);
    count_per_cpu(&a->statistics.traffic.group);
    charge_per_cpu(&a->statistics.limit);
}

static unsigned own_lane(struct arena *a)
{
    static unsigned threads;
    static _Thread_local unsigned own;
    if (!own)
        own = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % LANES + 1;
    unsigned seen = __atomic_load_n(&a->lanes_seen, __ATOMIC_RELAXED);
    if (seen == LANES_NONE)
        __atomic_store_n(&a->lanes_seen, own, __ATOMIC_RELAXED);
    else if (seen != LANES_MANY && seen != own)
        begin_sharing(a);
    return own;
}

static void list_insert(struct span **list, struct span *s)
{
    s->next = *list;
    if (s->next)
        s->next->place = &s->next;
    s->place = list;
    *list = s;
}

static void list_remove(struct span *s)
{
    *s->place = s->next;
    if (s->next)
        s->next->place = s->place;
    s->place = NULL;
}

/* ---- Small blocks ---- */

struct block {
    void *memory;
    size_t bytes;
    struct span *span;
    int zero; /* known to hold nothing but zeros */
};

static void *slot_memory(const struct span *s, unsigned slot)
{
    char *first = span_memory(span_region(s), s);
    return first + slot * class_bytes(s->class);
}

static struct span *begin_small(struct arena *a, unsigned number, unsigned class)
{
    struct span *s = arena_take_spans(a, 1, SPAN_SMALL);
    if (!s)
        return NULL;
    s->class = class;
    s->slots = (unsigned)(SPAN_BYTES / class_bytes(class));
    s->clean_from = s->soiled ? s->slots : 0;
    s->lowest = 0;
    __atomic_store_n(&s->lane, number, __ATOMIC_RELAXED);
    list_insert(&lane_of(a, number)->with_room[class], s);
    return s;
}

/* The lowest free slot, so that those used before are one stretch from the beginning. */
static unsigned take_slot(struct span *s)
{
    unsigned word = s->lowest;
    while (s->taken[word] == UINT64_MAX)
        word++;
    s->lowest = word;
    unsigned bit = (unsigned)__builtin_ctzll(~s->taken[word]);
    s->taken[word] |= (uint64_t)1 << bit;
    if (++s->used == s->slots)
        list_remove(s);
    return word * 64 + bit;
}

static struct block alloc_small(struct arena *a, unsigned class)
{
    struct block b = {.bytes = class_bytes(class)};
    unsigned number = own_lane(a);
    struct lane *lane = lane_of(a, number);
    pthread_mutex_lock(&lane->lock);
    b.span = lane->with_room[class];
    if (!b.span)
        b.span = begin_small(a, number, class);
    if (b.span) {
        unsigned slot = take_slot(b.span);
        b.zero = slot >= b.span->clean_from;
        if (b.zero)
            b.span->clean_from = slot + 1;
        b.memory = slot_memory(b.span, slot);
    }
    pthread_mutex_unlock(&lane->lock);
    return b;
}

static void free_slot(struct arena *a, struct span *s, unsigned slot)
{
    struct span **list = &lane_of(a, s->lane)->with_room[s->class];
    s->taken[slot / 64] &= ~((uint64_t)1 << slot % 64);
    if (slot / 64 < s->lowest)
        s->lowest = slot / 64;
    if (s->used-- == s->slots)
        list_insert(list, s);
    /* The last span of a class stays, or a block taken and freed in turn would take spans in turn.
     */
    if (s->used == 0 && (*list != s || s->next)) {
        list_remove(s);
        arena_give_spans(a, s);
    }
}

/* ---- Large blocks ---- */

static struct block alloc_large(struct arena *a, size_t bytes)
{
    struct block b = {.bytes = bytes};
    b.span = arena_take_spans(a, bytes / SPAN_BYTES, SPAN_LARGE);
    if (b.span) {
        b.memory = span_memory(span_region(b.span), b.span);
        b.zero = arena_spans_are_zero(b.span);
    }
    return b;
}

/* ---- Any block ---- */

/* What a block for `size` bytes holds; 0: there can be none. */
static size_t rounded(size_t size)
{
    if (size <= CLASS_MAX_BYTES)
        return class_bytes(class_of(size));
    if (size > PTRDIFF_MAX - SPAN_BYTES)
        return 0;
    return (size + SPAN_BYTES - 1) / SPAN_BYTES * SPAN_BYTES;
}

static struct block alloc_block(struct arena *a, size_t size)
{
    struct block b = {.memory = NULL};
    size_t bytes = rounded(size);
    if (bytes == 0 || !charge(&a->statistics.limit, (int64_t)bytes)) {
        errno = ENOMEM;
        return b;
    }
    b = bytes <= CLASS_MAX_BYTES ? alloc_small(a, class_of(bytes)) : alloc_large(a, bytes);
    if (!b.memory) {
        uncharge(&a->statistics.limit, (int64_t)bytes);
        errno = ENOMEM;
        return b;
    }
    count(&a->statistics.traffic.group, ALLOCATIONS, 1);
    return b;
}

/* ---- Taking blocks back ---- */

/* A block found in the tables, with the lock held that guards it. */
struct found {
    struct span *span;
    pthread_mutex_t *lock;
    unsigned slot;
    size_t bytes;
};

static void check_small(struct found *f, size_t offset, const void *p)
{
    f->bytes = class_bytes(f->span->class);
    f->slot = (unsigned)(offset / f->bytes);
    if (offset % f->bytes != 0 || f->slot >= f->span->slots)
        arena_misuse("points inside a block, not to its beginning", p);
    if (!(f->span->taken[f->slot / 64] >> f->slot % 64 & 1))
        arena_misuse("is free already (freed twice?)", p);
}

static void check_large(struct found *f, size_t offset, const void *p)
{
    f->bytes = f->span->count * SPAN_BYTES;
    if (offset != 0)
        arena_misuse("points inside a block, not to its beginning", p);
    if (!f->span->used)
        arena_misuse("is free already (freed twice?)", p);
}

/*
 * For a block that is in use all of this stands still. For anything else the tables may change
 * while they are read, so what was seen without the lock is looked at again under it.
 */
static struct found hold(struct arena *a, const void *p)
{
    struct found f = {0};
    struct region *r = arena_region_of(a, p);
    if (!r)
        arena_misuse("was never handed out by this arena", p);
    unsigned index = span_index(r, p);
    f.span = &r->spans[r->huge_bytes && index > TABLE_SPANS ? TABLE_SPANS : index];
    size_t offset = (uintptr_t)p - (uintptr_t)span_memory(r, f.span);
    enum span_state state = __atomic_load_n(&f.span->state, __ATOMIC_ACQUIRE);
    if (state == SPAN_UNUSED)
        arena_misuse("was never handed out by this arena", p);
    if (state == SPAN_TAIL)
        arena_misuse("points inside a block, not to its beginning", p);
    unsigned lane = __atomic_load_n(&f.span->lane, __ATOMIC_RELAXED);
    f.lock = state == SPAN_SMALL ? &lane_of(a, lane)->lock : &a->lock;
    pthread_mutex_lock(f.lock);
    if (f.span->state != state || (state == SPAN_SMALL && f.span->lane != lane))
        arena_misuse("is free already (freed twice?)", p);
    if (state == SPAN_SMALL)
        check_small(&f, offset, p);
    else
        check_large(&f, offset, p);
    return f;
}

/* ---- The interface ---- */

int arena_create(size_t limit, struct arena **out)
{
    struct arena *a = arena_map(limit < INT64_MAX ? (int64_t)limit : INT64_MAX);
    if (!a)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    for (unsigned i = 0; i < LANES; i++)
        pthread_mutex_init(&a->lanes[i].lock, NULL);
    *out = a;
    return 0;
}

void arena_destroy(struct arena *a)
{
    fastmm_counter_group_destroy(&a->statistics.footprint.group);
    fastmm_counter_group_destroy(&a->statistics.traffic.group);
    fastmm_quota_destroy(&a->statistics.limit);
    arena_unmap(a);
}

void *arena_alloc(struct arena *a, size_t size)
{
    return alloc_block(a, size).memory;
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    struct block b = alloc_block(a, bytes);
    if (!b.memory)
        return NULL;
    size_t cleared = 0;
    if (!b.zero && b.bytes > CLASS_MAX_BYTES) {
        cleared = arena_clear_spans(b.span);
    } else if (!b.zero) {
        cleared = b.bytes;
        if (b.bytes == FASTMM_COPY_PAGE)
            fastmm_page_clear(b.memory);
        else
            fastmm_clear(b.memory, b.bytes);
    }
    struct fastmm_counter_group *traffic = &a->statistics.traffic.group;
    if (cleared)
        count(traffic, CLEARED, (int64_t)cleared);
    if (cleared < b.bytes)
        count(traffic, FRESH, (int64_t)(b.bytes - cleared));
    return b.memory;
}

size_t arena_usable(struct arena *a, void *block)
{
    struct found f = hold(a, block);
    pthread_mutex_unlock(f.lock);
    return f.bytes;
}

void *arena_realloc(struct arena *a, void *block, size_t size)
{
    if (!block)
        return arena_alloc(a, size);
    size_t old = arena_usable(a, block);
    if (rounded(size) == old)
        return block;
    void *moved = arena_alloc(a, size);
    if (!moved)
        return NULL;
    size_t kept = size < old ? size : old;
    fastmm_copy(moved, block, kept);
    count(&a->statistics.traffic.group, COPIED, (int64_t)kept);
    arena_free(a, block);
    return moved;
}

void arena_free(struct arena *a, void *block)
{
    if (!block)
        return;
    struct found f = hold(a, block);
    if (f.bytes <= CLASS_MAX_BYTES)
        free_slot(a, f.span, f.slot);
    else
        f.span->used = 0;
    pthread_mutex_unlock(f.lock);
    if (f.bytes > CLASS_MAX_BYTES)
        arena_give_spans(a, f.span);
    uncharge(&a->statistics.limit, (int64_t)f.bytes);
    count(&a->statistics.traffic.group, FREES, 1);
}

void arena_get_stats(struct arena *a, struct arena_stats *out)
{
    int64_t footprint[FOOTPRINT_COUNT];
    int64_t traffic[TRAFFIC_COUNT];
    fastmm_counter_group_sums(&a->statistics.footprint.group, footprint);
    fastmm_counter_group_sums(&a->statistics.traffic.group, traffic);
    *out = (struct arena_stats){
        .mapped = footprint[MAPPED],
        .committed = footprint[COMMITTED],
        .purged = footprint[PURGED],
        .live_bytes = fastmm_quota_used(&a->statistics.limit),
        .allocations = traffic[ALLOCATIONS],
        .frees = traffic[FREES],
        .cleared = traffic[CLEARED],
        .fresh = traffic[FRESH],
        .copied = traffic[COPIED],
    };
}
