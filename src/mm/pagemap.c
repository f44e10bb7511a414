/* SPDX-License-Identifier: MIT */
/* The ready-made walks of walk.h: what the kernel's own files say of each page. */
#include "pagemap.h"

#include "frame.h"
#include "table.h"
#include "vma.h"

#include <fastmm/mm_inline.h>
#include <fastmm/walk.h>
#include <string.h>

int fastmm_mm_walk_root(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                        struct fastmm_walk_root *root)
{
    *root = (struct fastmm_walk_root){mm->root, mm->machine->levels};
    return fastmm_check_range(mm->machine, start, end);
}

const struct fastmm_vma *fastmm_mm_next(const struct fastmm_mm *mm, uint64_t addr)
{
    return fastmm_mm_vma(mm, fastmm_vma_at(mm, addr));
}

/* What a walk over pages needs, and where its results go. */
struct pages {
    const struct fastmm_mm *mm;
    uint64_t start;
    uint64_t *words;
    uint16_t *categories;
    int64_t *rss;
};

static size_t page_index(const struct pages *p, uint64_t addr)
{
    return (size_t)((addr - p->start) >> FASTMM_PAGE_SHIFT);
}

/* The end of `count` pages, or an address that no range may have. */
static uint64_t end_of(const struct fastmm_mm *mm, uint64_t start, size_t count)
{
    return count <= mm->machine->user_end >> FASTMM_PAGE_SHIFT
               ? start + ((uint64_t)count << FASTMM_PAGE_SHIFT)
               : UINT64_MAX & ~(uint64_t)(FASTMM_PAGE_SIZE - 1);
}

/* The word of the page that an entry maps, or 0 for none. */
static uint64_t frame_word(const struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t addr,
                           fastmm_pte_t pte)
{
    if (!fastmm_pte_present(pte))
        return 0;
    struct fastmm_frames *frames = &mm->machine->frames;
    uint64_t pfn = fastmm_normal_page(frames, vma, addr, pte);
    return pfn != FASTMM_PFN_NONE ? frames->word[pfn] : 0;
}

/* All of a mapping counts as soft-dirty until somebody begins to track it. */
static bool counts_as_written(const struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    return mm->machine->soft_dirty && !(vma->flags & FASTMM_VM_SOFT_TRACKED);
}

/* --- pagemap --------------------------------------------------------------------------------- */

static uint64_t present_word(const struct pages *p, const struct fastmm_vma *vma, uint64_t addr,
                             fastmm_pte_t pte)
{
    uint64_t frame = frame_word(p->mm, vma, addr, pte);
    uint64_t word = FASTMM_PAGEMAP_PRESENT | fastmm_pte_pfn(pte);
    if (frame && frame_maps(frame) == 1)
        word |= FASTMM_PAGEMAP_EXCLUSIVE;
    if (frame && !frame_is_anon(frame))
        word |= FASTMM_PAGEMAP_FILE;
    return fastmm_pte_soft_dirty(pte) ? word | FASTMM_PAGEMAP_SOFT_DIRTY : word;
}

static uint64_t swap_word(fastmm_pte_t pte)
{
    uint64_t word = FASTMM_PAGEMAP_SWAP | fastmm_swp_type(pte) |
                    (fastmm_swp_offset(pte) << 5 & FASTMM_PAGEMAP_NUMBER);
    if (fastmm_marker_flags(pte) & FASTMM_MARKER_GUARD)
        word |= FASTMM_PAGEMAP_GUARD;
    if (FASTMM_MM_BUG(20) && fastmm_swp_exclusive(pte))
        word |= FASTMM_PAGEMAP_EXCLUSIVE;
    return fastmm_swp_soft_dirty(pte) ? word | FASTMM_PAGEMAP_SOFT_DIRTY : word;
}

/* Mappings of raw frames show nothing. */
static int pagemap_leaf(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                        fastmm_pte_t pte)
{
    const struct pages *p = context;
    (void)level;
    if (vma->flags & FASTMM_VM_PFNMAP)
        return 0;
    uint64_t word = counts_as_written(p->mm, vma) ? FASTMM_PAGEMAP_SOFT_DIRTY : 0;
    if (!fastmm_pte_none(pte))
        word |= fastmm_pte_present(pte) ? present_word(p, vma, addr, pte) : swap_word(pte);
    if (fastmm_pte_any_uffd_wp(pte))
        word |= FASTMM_PAGEMAP_UFFD_WP;
    p->words[page_index(p, addr)] = word;
    return 0;
}

static int pagemap_hole(void *context, const struct fastmm_vma *vma, uint64_t addr, uint64_t end)
{
    for (; addr < end; addr += FASTMM_PAGE_SIZE)
        pagemap_leaf(context, vma, 1, addr, 0);
    return 0;
}

int fastmm_mm_pagemap(const struct fastmm_mm *mm, uint64_t start, size_t count, uint64_t *words)
{
    static const struct fastmm_walk_ops ops = {.leaf = pagemap_leaf, .hole = pagemap_hole};
    struct pages p = {.mm = mm, .start = start, .words = words};
    uint64_t end = end_of(mm, start, count);
    int rc = fastmm_check_range(mm->machine, start, end);
    if (rc)
        return rc;
    memset(words, 0, count * sizeof(*words));
    return fastmm_walk(mm, start, end, &ops, &p);
}

/* --- PAGEMAP_SCAN ---------------------------------------------------------------------------- */

static unsigned categories_of_mapping(const struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    return (vma->flags & FASTMM_VM_UFFD_ASYNC ? FASTMM_PAGE_IS_WPALLOWED : 0) |
           (counts_as_written(mm, vma) ? FASTMM_PAGE_IS_SOFT_DIRTY : 0);
}

unsigned fastmm_categories_of_entry(const struct fastmm_mm *mm, const struct fastmm_vma *vma,
                                    uint64_t addr, fastmm_pte_t pte)
{
    unsigned is = categories_of_mapping(mm, vma);
    if (!fastmm_pte_any_uffd_wp(pte))
        is |= FASTMM_PAGE_IS_WRITTEN;
    if (fastmm_pte_present(pte)) {
        uint64_t frame = frame_word(mm, vma, addr, pte);
        is |= FASTMM_PAGE_IS_PRESENT;
        is |= frame && !frame_is_anon(frame) ? FASTMM_PAGE_IS_FILE : 0;
        is |= fastmm_pte_pfn(pte) == FASTMM_PFN_ZERO ? FASTMM_PAGE_IS_PFNZERO : 0;
        is |= fastmm_pte_soft_dirty(pte) ? FASTMM_PAGE_IS_SOFT_DIRTY : 0;
    } else if (!fastmm_pte_none(pte)) {
        is |= FASTMM_PAGE_IS_SWAPPED;
        is |= fastmm_marker_flags(pte) & FASTMM_MARKER_GUARD ? FASTMM_PAGE_IS_GUARD : 0;
        is |= fastmm_swp_soft_dirty(pte) ? FASTMM_PAGE_IS_SOFT_DIRTY : 0;
    }
    return is;
}

static int categories_leaf(void *context, const struct fastmm_vma *vma, unsigned level,
                           uint64_t addr, fastmm_pte_t pte)
{
    const struct pages *p = context;
    (void)level;
    p->categories[page_index(p, addr)] =
        (uint16_t)fastmm_categories_of_entry(p->mm, vma, addr, pte);
    return 0;
}

/*
 * Without a table a page is said to be written in registered mappings alone, although an empty
 * entry of a table is in all. (Seen on Linux 6.18.)
 */
unsigned fastmm_categories_of_hole(const struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    return categories_of_mapping(mm, vma) |
           (vma->flags & FASTMM_VM_UFFD_WP ? FASTMM_PAGE_IS_WRITTEN : 0);
}

static int categories_hole(void *context, const struct fastmm_vma *vma, uint64_t addr, uint64_t end)
{
    const struct pages *p = context;
    uint16_t is = (uint16_t)fastmm_categories_of_hole(p->mm, vma);
    for (; addr < end; addr += FASTMM_PAGE_SIZE)
        p->categories[page_index(p, addr)] = is;
    return 0;
}

/* Mappings of raw frames are left out. */
static int categories_mapping(void *context, const struct fastmm_vma *vma)
{
    (void)context;
    return vma->flags & FASTMM_VM_PFNMAP ? FASTMM_WALK_SKIP : 0;
}

int fastmm_mm_categories(const struct fastmm_mm *mm, uint64_t start, size_t count,
                         uint16_t *categories)
{
    static const struct fastmm_walk_ops ops = {
        .mapping = categories_mapping, .leaf = categories_leaf, .hole = categories_hole};
    struct pages p = {.mm = mm, .start = start, .categories = categories};
    uint64_t end = end_of(mm, start, count);
    int rc = fastmm_check_range(mm->machine, start, end);
    if (rc)
        return rc;
    memset(categories, 0, count * sizeof(*categories));
    return fastmm_walk(mm, start, end, &ops, &p);
}

/* --- Resident set ---------------------------------------------------------------------------- */

static int resident_leaf(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                         fastmm_pte_t pte)
{
    const struct pages *p = context;
    (void)level;
    if (fastmm_pte_is_swp(pte)) {
        p->rss[FASTMM_RSS_SWAP] += !fastmm_marker_flags(pte);
        return 0;
    }
    uint64_t frame = frame_word(p->mm, vma, addr, pte);
    if (frame)
        p->rss[frame_rss(frame)]++;
    return 0;
}

int fastmm_mm_resident(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                       int64_t rss[FASTMM_RSS_COUNTERS])
{
    static const struct fastmm_walk_ops ops = {.leaf = resident_leaf};
    struct pages p = {.mm = mm, .start = start, .rss = rss};
    int rc = fastmm_check_range(mm->machine, start, end);
    if (rc)
        return rc;
    memset(rss, 0, FASTMM_RSS_COUNTERS * sizeof(*rss));
    return fastmm_walk(mm, start, end, &ops, &p);
}
