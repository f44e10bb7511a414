/* SPDX-License-Identifier: MIT */
/*
 * The hot word of a frame: all that fork, zap and faults touch of a page, in 8 bytes, so that a
 * cache line holds eight pages.
 *
 *   bits  0..24  mappings      entries that map it, over all address spaces
 *   bits 25..50  references    mappings + page cache or swap cache + pins
 *   bits 51..54  order         of the folio, in its head
 *   bits 55..57  kind          enum fastmm_frame_kind
 *   bit  58      pinned        there are pins; how many is elsewhere
 *   bit  59      dirty         what entries that are gone knew
 *   bit  60      young         likewise; of an anonymous page: lazy, that is, nobody needs the
 *                              contents unless they were written since
 *   bit  61      exclusive     an anonymous page of one address space alone
 *   bit  62      swap cache    the page has the contents of a slot: swap.h
 *   bit  63      overflow      counts continue elsewhere (not in use yet)
 *
 * A mapping always comes with a reference: both change by one addition. The top bit of each count
 * is a guard, and no count grows any more once it is set. A free frame holds the number of the
 * next free one instead.
 */
#ifndef FASTMM_SRC_MM_FRAME_H
#define FASTMM_SRC_MM_FRAME_H

#include "machine.h"

#include <errno.h>

#define FRAME_MAP         UINT64_C(1)
#define FRAME_MAP_MASK    ((UINT64_C(1) << 25) - 1)
#define FRAME_MAP_GUARD   (UINT64_C(1) << 24)
#define FRAME_REF_SHIFT   25
#define FRAME_REF         (UINT64_C(1) << FRAME_REF_SHIFT)
#define FRAME_REF_MASK    (((UINT64_C(1) << 26) - 1) << FRAME_REF_SHIFT)
#define FRAME_REF_GUARD   (UINT64_C(1) << 50)
#define FRAME_ORDER_SHIFT 51
#define FRAME_ORDER_MASK  (UINT64_C(15) << FRAME_ORDER_SHIFT)
#define FRAME_KIND_SHIFT  55
#define FRAME_KIND_MASK   (UINT64_C(7) << FRAME_KIND_SHIFT)
#define FRAME_KIND(kind)  ((uint64_t)(kind) << FRAME_KIND_SHIFT)
#define FRAME_PINNED      (UINT64_C(1) << 58)
#define FRAME_DIRTY       (UINT64_C(1) << 59)
#define FRAME_YOUNG       (UINT64_C(1) << 60)
#define FRAME_LAZY        FRAME_YOUNG
#define FRAME_SWAPCACHE   (UINT64_C(1) << 62)
#define FRAME_EXCLUSIVE   (UINT64_C(1) << 61)
#define FRAME_OVERFLOW    (UINT64_C(1) << 63)
#define FRAME_NEXT_MASK   (FASTMM_PFN_LIMIT - 1)
#define FRAME_MAPPED      (FRAME_MAP | FRAME_REF)
#define FRAME_GUARDS      (FRAME_MAP_GUARD | FRAME_REF_GUARD)
#define FRAME_FIRST       UINT64_C(512) /* those below are the machine's own */

static inline enum fastmm_frame_kind frame_kind(uint64_t word)
{
    return (enum fastmm_frame_kind)((word & FRAME_KIND_MASK) >> FRAME_KIND_SHIFT);
}

static inline uint32_t frame_maps(uint64_t word)
{
    return (uint32_t)(word & FRAME_MAP_MASK);
}

static inline uint32_t frame_refs(uint64_t word)
{
    return (uint32_t)((word & FRAME_REF_MASK) >> FRAME_REF_SHIFT);
}

/* The counter that a mapping of such a page belongs to. */
static inline enum fastmm_rss frame_rss(uint64_t word)
{
    enum fastmm_frame_kind kind = frame_kind(word);
    if (kind == FASTMM_FRAME_ANON)
        return FASTMM_RSS_ANON;
    return kind == FASTMM_FRAME_SHMEM ? FASTMM_RSS_SHMEM : FASTMM_RSS_FILE;
}

static inline bool frame_is_anon(uint64_t word)
{
    return (word & FRAME_KIND_MASK) == FRAME_KIND(FASTMM_FRAME_ANON);
}

static inline bool frame_exclusive(const struct fastmm_frames *frames, uint64_t pfn)
{
    return (frames->word[pfn] & FRAME_EXCLUSIVE) != 0;
}

static inline void frame_set_exclusive(struct fastmm_frames *frames, uint64_t pfn)
{
    frames->word[pfn] |= FRAME_EXCLUSIVE;
}

static inline void frame_clear_exclusive(struct fastmm_frames *frames, uint64_t pfn)
{
    frames->word[pfn] &= ~FRAME_EXCLUSIVE;
}

/* One more mapping of a page that is in use. -EOVERFLOW when its counts are full. */
static inline int frame_map(struct fastmm_frames *frames, uint64_t pfn)
{
    if (FASTMM_UNLIKELY(frames->word[pfn] & FRAME_GUARDS))
        return -EOVERFLOW;
    frames->word[pfn] += FRAME_MAPPED;
    return 0;
}

/* A free frame of that kind without counts. -ENOMEM. */
int fastmm_frame_alloc(struct fastmm_machine *machine, enum fastmm_frame_kind kind, uint64_t *pfn);

/* Puts a frame without references back. */
void fastmm_frame_free(struct fastmm_machine *machine, uint64_t pfn);

/* A new anonymous page, mapped once and exclusive. -ENOMEM. */
static inline int frame_alloc_anon(struct fastmm_machine *machine, uint64_t *pfn)
{
    int rc = fastmm_frame_alloc(machine, FASTMM_FRAME_ANON, pfn);
    if (rc)
        return rc;
    machine->frames.word[*pfn] += FRAME_MAPPED;
    frame_set_exclusive(&machine->frames, *pfn);
    return 0;
}

/* One mapping less; the last reference frees the frame. */
static inline void frame_unmap(struct fastmm_machine *machine, uint64_t pfn)
{
    uint64_t word = machine->frames.word[pfn] -= FRAME_MAPPED;
    if (!(word & FRAME_REF_MASK))
        fastmm_frame_free(machine, pfn);
}

/* One reference less that isn't a mapping. */
static inline void frame_put(struct fastmm_machine *machine, uint64_t pfn)
{
    uint64_t word = machine->frames.word[pfn] -= FRAME_REF;
    if (!(word & FRAME_REF_MASK))
        fastmm_frame_free(machine, pfn);
}

/* A reserved frame comes into use. */
void fastmm_frame_claim(struct fastmm_machine *machine, uint64_t pfn, enum fastmm_frame_kind kind);

#endif
