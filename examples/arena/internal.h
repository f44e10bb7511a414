/* SPDX-License-Identifier: MIT */
/*
 * The arena's tables.
 *
 * Address space comes in regions of 64 MiB, aligned to their size, cut into spans of 64 KiB. A span
 * holds small blocks of one class, or begins a run of spans that is one large block. A region's
 * first spans hold its own tables:
 *
 *     region: | tables       | span | span | run of 3 spans        | ...
 *                              |      |      |      `- TAIL  TAIL
 *                              |      |      `- LARGE, count 3
 *                              |      `- SMALL, class of 96 bytes
 *                              `- never used, or free again
 *
 * A block that doesn't fit in a region gets one of its own, as long as it takes. A directory tells
 * the region of any address, so that a wild pointer is known before it is followed.
 *
 * Locks: each thread allocates small blocks in a lane, under that lane's lock; spans are handed to
 * lanes, and large blocks to threads, under the arena's. Order: lane, then arena.
 */
#ifndef ARENA_INTERNAL_H
#define ARENA_INTERNAL_H

#include <pthread.h>

#include "arena.h"
#include "classes.h"
#include "statistics.h"

enum {
    PAGE_BYTES = 4096,
    SPAN_BYTES = 64 * 1024,
    SPAN_SLOTS = SPAN_BYTES / CLASS_STEP,
    REGION_SHIFT = 26,
    REGION_SPANS = (1 << REGION_SHIFT) / SPAN_BYTES,
    REGION_WORDS = REGION_SPANS / 64,
    ADDRESS_BITS = 48,
    LANES = 16,
    LANES_NONE = 0,
    LANES_MANY = LANES + 1,
};

#define REGION_BYTES ((size_t)1 << REGION_SHIFT)

enum span_state {
    SPAN_UNUSED, /* never handed out; else what it is, or was last */
    SPAN_SMALL,
    SPAN_LARGE,
    SPAN_TAIL,
};

struct span {
    enum span_state state;
    unsigned lane;
    unsigned class;
    unsigned slots;
    unsigned used;       /* slots handed out; of a large block: 1 or 0 */
    unsigned clean_from; /* slots at and above this one hold nothing but zeros */
    unsigned lowest;     /* all words of `taken` below this one are full */
    unsigned soiled;     /* the span was used before and may hold something else than zeros */
    size_t count;        /* spans in the run */
    struct span *next;   /* in the lane's list of spans with room */
    struct span **place; /* what points to this one there; NULL: not in it */
    uint64_t taken[SPAN_SLOTS / 64];
};

/* One bit for each span. */
struct span_set {
    uint64_t words[REGION_WORDS];
};

struct region {
    struct region *next;
    size_t bytes;      /* of address space */
    size_t huge_bytes; /* of the block, where the region is one block's own */
    struct span_set busy;
    struct span_set committed;
    struct span spans[REGION_SPANS];
};

enum { TABLE_SPANS = (sizeof(struct region) + SPAN_BYTES - 1) / SPAN_BYTES };

/* Numbered from 1. */
struct lane {
    pthread_mutex_t lock;
    struct span *with_room[CLASS_COUNT];
} __attribute__((aligned(64)));

struct arena {
    struct statistics statistics;
    unsigned lanes_seen; /* LANES_NONE, LANES_MANY, or the number of the only one */
    pthread_mutex_t lock;
    struct region *regions;
    size_t lost; /* bytes of address space that the kernel would not take back */
    struct lane lanes[LANES];
    struct region *directory[(size_t)1 << (ADDRESS_BITS - REGION_SHIFT)];
};

/* ---- spans.c: address space ---- */

/* The region that p lies in, or NULL. Any pointer will do. */
struct region *arena_region_of(struct arena *a, const void *p);

static inline unsigned span_index(const struct region *r, const void *p)
{
    return (unsigned)(((uintptr_t)p - (uintptr_t)r) / SPAN_BYTES);
}

static inline void *span_memory(const struct region *r, const struct span *s)
{
    return (void *)((uintptr_t)r + (size_t)(s - r->spans) * SPAN_BYTES);
}

static inline struct region *span_region(const struct span *s)
{
    return (struct region *)((uintptr_t)s & ~(REGION_BYTES - 1));
}

/* The arena's own memory, with everything zero. */
struct arena *arena_map(int64_t limit);
void arena_unmap(struct arena *a);

/*
 * A run of `count` spans, readable and writable; NULL: no memory. `state` is what it becomes.
 */
struct span *arena_take_spans(struct arena *a, size_t count, enum span_state state);
void arena_give_spans(struct arena *a, struct span *s);

/* Whether all of the run holds nothing but zeros. */
int arena_spans_are_zero(const struct span *s);

/* Writes zeros where the run isn't zero; returns the bytes written. */
size_t arena_clear_spans(struct span *s);

/* ---- misuse.c ---- */

/* Says that `p` must not be given to the arena, and why, and aborts. */
_Noreturn void arena_misuse(const char *why, const void *p);

#endif
