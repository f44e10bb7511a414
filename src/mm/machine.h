/* SPDX-License-Identifier: MIT */
/* The structs behind the opaque types of mm.h, and what each file here offers the others. */
#ifndef FASTMM_SRC_MM_MACHINE_H
#define FASTMM_SRC_MM_MACHINE_H

#include "arena.h"
#include "bug.h"
#include "rss.h"

#include <fastmm/mm.h>

#define SWAP_AREAS     23
#define SWAP_EXCLUSIVE (UINT32_C(1) << 31) /* its one user, entry or object, wants no other */
#define SWAP_CACHED    (UINT32_C(1) << 30) /* the swap cache has a page with its contents */
#define SWAP_USERS     (SWAP_CACHED - 1)

struct swap_area {
    uint32_t *users; /* entries and objects that refer to each slot, and flags */
    uint64_t *cache; /* that page, where the flag says so */
    uint64_t slots;
    uint64_t next; /* where to look for a free slot first */
};

struct span_ops;

struct fastmm_machine {
    struct fastmm_frames frames;
    struct arena arena;
    unsigned levels;
    uint64_t user_end;
    const struct span_ops *span_ops; /* chosen at creation: span.h */
    uint64_t soft_dirty;             /* what a write sets in an entry besides Dirty: a bit, or 0 */

    uint64_t free_head;  /* most recently freed frame, 0 for none; linked through the words */
    uint64_t next_fresh; /* frames from here on were never used */
    uint64_t frames_used, frames_freed, frames_reserved;
    uint32_t *pins; /* by frame */

    struct swap_area swap[SWAP_AREAS];
    fastmm_pte_t *swap_of; /* by frame: the slot of a page in the swap cache; NULL without areas */
    uint64_t swap_used;

    uint32_t anon_vmas; /* the last name given: see vma.h */
    uint64_t tables, objects, mms, pfn_reservations;
    struct fastmm_mm *first_mm;
    struct fastmm_object *first_object;
};

struct fastmm_mm {
    struct fastmm_machine *machine;
    fastmm_pte_t *root;
    struct fastmm_vma **vmas; /* in order of address, never overlapping */
    size_t vma_count, vma_room;
    struct rss rss;
    uint64_t tables;
    bool keep_apart; /* neighbours that are alike stay as they are */
    bool has_pinned; /* a page of this address space was pinned once */
    struct fastmm_mm *next, **link;
};

struct fastmm_object {
    struct fastmm_machine *machine;
    uint64_t pages;
    uint64_t **chunks; /* 512 in each: frame numbers, entries of swap slots, 0 for neither */
    uint64_t refs;
    enum fastmm_object_kind kind;
    struct fastmm_object *next, **link;
};

/* Where an array of that many frame numbers for an object starts. */
#define OBJECT_CHUNK FASTMM_PTES

/* The cached page, or FASTMM_PFN_NONE. `index` is in range. */
uint64_t fastmm_object_peek(const struct fastmm_object *object, uint64_t index);

/* The page, brought in if need be. -ENOMEM. `index` is in range. */
int fastmm_object_page(struct fastmm_object *object, uint64_t index, uint64_t *pfn);

/*
 * Takes the page at `index`, which nothing but the cache holds, out of memory: into a swap slot if
 * it was written, else for good. It stays if there is no free slot.
 */
void fastmm_object_page_out(struct fastmm_object *object, uint64_t index);

/* Forgets pages [first, end), none of which is mapped any more; beyond the end there are none. */
void fastmm_object_drop(struct fastmm_object *object, uint64_t first, uint64_t end);

/* Makes frame `pfn`, reserved before, the page at `index`, which isn't cached. -ENOMEM. */
int fastmm_object_adopt(struct fastmm_object *object, uint64_t index, uint64_t pfn);

/* 0, -EINVAL, -ERANGE as mm.h says for ranges. */
int fastmm_check_range(const struct fastmm_machine *machine, uint64_t start, uint64_t end);

#endif
