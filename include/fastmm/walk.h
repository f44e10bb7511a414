/* SPDX-License-Identifier: MIT */
/*
 * Walking a range of an address space, with a callback for each thing that is met: mappings,
 * tables, leaves, holes. The walk is inlined whole, and its callbacks too where they are named in a
 * constant:
 *
 *     static const struct fastmm_walk_ops ops = {.leaf = count_dirty};
 *     rc = fastmm_walk(mm, start, end, &ops, &dirty);
 *
 * compiles to the loops that one would have written by hand. Below are walks that are ready made:
 * what /proc/PID/pagemap says of each page, the categories of PAGEMAP_SCAN, and what is resident.
 *
 * A walk only reads, holds no lock and allocates nothing; callbacks must change neither mappings
 * nor entries of this address space. Order is ascending, each address is met once.
 *
 * Semantics: Linux 6.18.
 */
#ifndef FASTMM_WALK_H
#define FASTMM_WALK_H

#include <fastmm/mm.h>

/*
 * Results of callbacks: 0 goes on, FASTMM_WALK_SKIP goes on without what lies inside (a mapping, a
 * table), and everything else ends the walk, which returns it.
 */
#define FASTMM_WALK_SKIP 1

/* Any of them may be NULL. */
struct fastmm_walk_ops {
    /*
     * A mapping that meets the range, before what is in it. With this callback or without, what the
     * others meet lies in mappings only.
     */
    int (*mapping)(void *context, const struct fastmm_vma *vma);
    /* A table of `level` (1: leaves) that serves [addr, end) of the mapping, before its entries. */
    int (*table)(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                 uint64_t end);
    /*
     * An entry of a leaf table, empty ones too, or a huge page's of `level` 2 or 3, which may reach
     * out of the range.
     */
    int (*leaf)(void *context, const struct fastmm_vma *vma, unsigned level, uint64_t addr,
                fastmm_pte_t pte);
    /* [addr, end) of the mapping, for which there is no table. */
    int (*hole)(void *context, const struct fastmm_vma *vma, uint64_t addr, uint64_t end);
};

/* Where the tables of an address space begin, for the walk. */
struct fastmm_walk_root {
    const fastmm_pte_t *table;
    unsigned levels;
};

FASTMM_BEGIN_DECLS

/* -EINVAL, -ERANGE as for ranges. */
FASTMM_API int fastmm_mm_walk_root(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                                   struct fastmm_walk_root *root);

/* The first mapping that ends above `addr`, or NULL. Valid as fastmm_mm_find()'s. */
FASTMM_API const struct fastmm_vma *fastmm_mm_next(const struct fastmm_mm *mm, uint64_t addr);

/* Is it a leaf of its level rather than a pointer to a table? Not for level 1, nor for empty ones.
 */
FASTMM_INLINE bool fastmm_walk_is_leaf(fastmm_pte_t entry)
{
    return (entry & (FASTMM_PTE_PRESENT | FASTMM_PTE_PSE)) != FASTMM_PTE_PRESENT;
}

/* Entries of a table hold its address where hardware's hold its frame. */
FASTMM_INLINE const fastmm_pte_t *fastmm_walk_table(fastmm_pte_t entry)
{
    return (const fastmm_pte_t *)(uintptr_t)(entry & FASTMM_PTE_PFN_MASK);
}

/* The part of [addr, end) in one mapping. */
FASTMM_INLINE int fastmm_walk_mapping(const struct fastmm_walk_root *root,
                                      const struct fastmm_walk_ops *ops, void *context,
                                      const struct fastmm_vma *vma, uint64_t addr, uint64_t end)
{
    const fastmm_pte_t *table[6];
    unsigned level = root->levels;
    table[level] = root->table;
    while (addr != end) {
        fastmm_pte_t entry = table[level][fastmm_va_index(addr, level)];
        uint64_t next = fastmm_va_next(addr, end, level);
        int rc = 0;
        if (level == 1 || (entry && fastmm_walk_is_leaf(entry))) {
            rc = ops->leaf ? ops->leaf(context, vma, level, addr, entry) : 0;
        } else if (!entry) {
            rc = ops->hole ? ops->hole(context, vma, addr, next) : 0;
        } else {
            rc = ops->table ? ops->table(context, vma, level - 1, addr, next) : 0;
            if (rc == 0) {
                table[--level] = fastmm_walk_table(entry);
                continue;
            }
            rc = rc == FASTMM_WALK_SKIP ? 0 : rc;
        }
        if (rc)
            return rc;
        addr = next;
        while (level < root->levels && fastmm_va_index(addr, level) == 0)
            level++; /* this table is done */
    }
    return 0;
}

/*
 * Walks [start, end), of which holes between mappings don't matter. Returns 0, what a callback
 * said, or -EINVAL, -ERANGE as for ranges.
 */
FASTMM_INLINE int fastmm_walk(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                              const struct fastmm_walk_ops *ops, void *context)
{
    struct fastmm_walk_root root;
    int rc = fastmm_mm_walk_root(mm, start, end, &root);
    while (!rc && start < end) {
        const struct fastmm_vma *vma = fastmm_mm_next(mm, start);
        if (!vma || vma->start >= end)
            break;
        uint64_t from = vma->start > start ? vma->start : start;
        start = vma->end < end ? vma->end : end;
        rc = ops->mapping ? ops->mapping(context, vma) : 0;
        if (rc == 0)
            rc = fastmm_walk_mapping(&root, ops, context, vma, from, start);
        else if (rc == FASTMM_WALK_SKIP)
            rc = 0;
    }
    return rc;
}

/* --- Ready-made walks ------------------------------------------------------------------------ */

/* A word of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define FASTMM_PAGEMAP_NUMBER     ((UINT64_C(1) << 55) - 1) /* frame; or swap type, offset << 5 */
#define FASTMM_PAGEMAP_SOFT_DIRTY (UINT64_C(1) << 55)
#define FASTMM_PAGEMAP_EXCLUSIVE  (UINT64_C(1) << 56) /* a page that is mapped once */
#define FASTMM_PAGEMAP_UFFD_WP    (UINT64_C(1) << 57)
#define FASTMM_PAGEMAP_GUARD      (UINT64_C(1) << 58)
#define FASTMM_PAGEMAP_FILE       (UINT64_C(1) << 61) /* a page that isn't anonymous */
#define FASTMM_PAGEMAP_SWAP       (UINT64_C(1) << 62) /* the swap format, markers too */
#define FASTMM_PAGEMAP_PRESENT    (UINT64_C(1) << 63)

/*
 * Puts the words of pages [start, start + 4096 * count) into words[], as a reader with privileges
 * sees them. -EINVAL, -ERANGE as for ranges.
 */
FASTMM_API int fastmm_mm_pagemap(const struct fastmm_mm *mm, uint64_t start, size_t count,
                                 uint64_t *words);

/* Categories of PAGEMAP_SCAN: its PAGE_IS_* bits. */
#define FASTMM_PAGE_IS_WPALLOWED  (1u << 0)
#define FASTMM_PAGE_IS_WRITTEN    (1u << 1)
#define FASTMM_PAGE_IS_FILE       (1u << 2)
#define FASTMM_PAGE_IS_PRESENT    (1u << 3)
#define FASTMM_PAGE_IS_SWAPPED    (1u << 4)
#define FASTMM_PAGE_IS_PFNZERO    (1u << 5)
#define FASTMM_PAGE_IS_HUGE       (1u << 6)
#define FASTMM_PAGE_IS_SOFT_DIRTY (1u << 7)
#define FASTMM_PAGE_IS_GUARD      (1u << 8)
#define FASTMM_PAGE_IS_ALL        (2 * FASTMM_PAGE_IS_GUARD - 1)

/* Puts the categories of the pages into categories[]; 0 where nothing is mapped. Errors as above.
 */
FASTMM_API int fastmm_mm_categories(const struct fastmm_mm *mm, uint64_t start, size_t count,
                                    uint16_t *categories);

/*
 * Pages that have all categories of `mask`, those of `inverted` turned round: in `mask` and
 * `inverted`, a category must be missing.
 */
struct fastmm_page_match {
    unsigned mask, inverted; /* FASTMM_PAGE_IS_* */
    bool check_async;        /* PM_SCAN_CHECK_WPASYNC */
};

/*
 * PAGEMAP_SCAN with PM_SCAN_WP_MATCHING: protects the pages of [start, end) that match, as
 * fastmm_mm_uffd_protect() does, in mappings registered with UFFD_ASYNC; others are left alone.
 * Holes don't matter. -EPERM with `check_async` where a mapping isn't registered so; -EINVAL,
 * -ERANGE as for ranges and for categories that don't exist; -ENOMEM, with what lies before the
 * table that couldn't be had done already.
 */
FASTMM_API int fastmm_mm_protect_matching(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                                          const struct fastmm_page_match *match);

/* Counts what of [start, end) belongs to each counter (enum fastmm_rss), entry by entry. Errors as
 * above. */
FASTMM_API int fastmm_mm_resident(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                                  int64_t rss[FASTMM_RSS_COUNTERS]);

FASTMM_END_DECLS

#endif
