/* SPDX-License-Identifier: MIT */
/*
 * Tables: finding, making and freeing them, and going over those of a range.
 *
 * An entry that points to a table holds the address of that table where a real one would hold its
 * frame number: tables are page-aligned and host addresses have at most 52 bits, so entries keep
 * their format and following one costs a mask.
 *
 * Operations don't recurse over levels themselves. They go over spans, each the part of one leaf
 * table that lies in their range; what is above costs once per table, and is the only code that
 * knows how many levels there are.
 */
#ifndef FASTMM_SRC_MM_TABLE_H
#define FASTMM_SRC_MM_TABLE_H

#include "machine.h"

#define TABLE_BYTES (FASTMM_PTES * sizeof(fastmm_pte_t))

static inline fastmm_pte_t *table_of(fastmm_pte_t entry)
{
    return (fastmm_pte_t *)(uintptr_t)(entry & FASTMM_PTE_PFN_MASK);
}

/* The leaf of `addr` (in the user half), or NULL where there is no table for it. */
fastmm_pte_t *fastmm_table_find(const struct fastmm_mm *mm, uint64_t addr);

/* The same, making tables on the way. NULL for want of memory; tables made until then stay. */
fastmm_pte_t *fastmm_table_make(struct fastmm_mm *mm, uint64_t addr);

/* The same for a leaf table that doesn't exist yet, all of which the caller will set. */
fastmm_pte_t *fastmm_table_make_unset(struct fastmm_mm *mm, uint64_t addr);

/* Leaf tables for all of [start, end). -ENOMEM; tables made until then stay. */
int fastmm_table_make_range(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* A zeroed table; NULL for want of memory. */
fastmm_pte_t *fastmm_table_alloc(struct fastmm_mm *mm);

/*
 * Frees the tables that serve [start, end) alone: nothing is mapped from `floor` to `ceiling`,
 * which enclose the range. Their leaves must be empty.
 */
void fastmm_table_prune(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint64_t floor,
                        uint64_t ceiling);

/* The part of a leaf table that lies in a range. */
struct table_span {
    fastmm_pte_t *pte; /* the entry of `addr` */
    unsigned count;
    uint64_t addr;
    fastmm_pte_t *above; /* the entry that points to the table */
};

struct table_walk {
    const struct fastmm_mm *mm;
    uint64_t addr, end;
    fastmm_pte_t *pmd; /* the level-2 table of addr, NULL when it isn't known */
};

static inline struct table_walk table_walk(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    return (struct table_walk){mm, start, end, NULL};
}

/* The next span in order of address; false after the last. */
bool fastmm_table_walk_next(struct table_walk *walk, struct table_span *span);

/* Frees the leaf table of a span, whose entries are empty, all of them. */
void fastmm_table_free_leaf(struct fastmm_mm *mm, const struct table_span *span);

#endif
