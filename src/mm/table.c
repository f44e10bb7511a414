/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <errno.h>

#define LEAF_LEVEL 1
#define PMD_LEVEL  2

static fastmm_pte_t *counted(struct fastmm_mm *mm, fastmm_pte_t *table)
{
    if (table) {
        mm->tables++;
        mm->machine->tables++;
    }
    return table;
}

fastmm_pte_t *fastmm_table_alloc(struct fastmm_mm *mm)
{
    return counted(mm, fastmm_arena_zalloc(&mm->machine->arena, TABLE_BYTES));
}

/* Holds anything. */
static fastmm_pte_t *alloc_unset(struct fastmm_mm *mm)
{
    return counted(mm, fastmm_arena_alloc(&mm->machine->arena, TABLE_BYTES));
}

static void table_free(struct fastmm_mm *mm, fastmm_pte_t *table)
{
    fastmm_arena_free(&mm->machine->arena, table, TABLE_BYTES);
    mm->tables--;
    mm->machine->tables--;
}

/*
 * The table of `level` on the way to *addr. Where there is none: NULL, and *addr is moved to the
 * first address that the missing entry doesn't cover.
 */
static fastmm_pte_t *descend(const struct fastmm_mm *mm, uint64_t *addr, unsigned level)
{
    fastmm_pte_t *table = mm->root;
    for (unsigned at = mm->machine->levels; at > level; at--) {
        fastmm_pte_t entry = table[fastmm_va_index(*addr, at)];
        if (!entry) {
            *addr = (*addr + FASTMM_LEVEL_SIZE(at)) & ~(FASTMM_LEVEL_SIZE(at) - 1);
            return NULL;
        }
        table = table_of(entry);
    }
    return table;
}

fastmm_pte_t *fastmm_table_find(const struct fastmm_mm *mm, uint64_t addr)
{
    uint64_t at = addr;
    fastmm_pte_t *table = descend(mm, &at, LEAF_LEVEL);
    return table ? table + fastmm_va_index(addr, LEAF_LEVEL) : NULL;
}

/* The leaf of `addr`; tables that are missing are made, the last of them by `alloc_leaf`. */
FASTMM_INLINE fastmm_pte_t *make(struct fastmm_mm *mm, uint64_t addr,
                                 fastmm_pte_t *(*alloc_leaf)(struct fastmm_mm *mm))
{
    fastmm_pte_t *table = mm->root;
    for (unsigned at = mm->machine->levels; at > LEAF_LEVEL; at--) {
        fastmm_pte_t *entry = &table[fastmm_va_index(addr, at)];
        if (!*entry) {
            fastmm_pte_t *made = at == PMD_LEVEL ? alloc_leaf(mm) : fastmm_table_alloc(mm);
            if (!made)
                return NULL;
            *entry = (uint64_t)(uintptr_t)made | FASTMM_PROT_TABLE;
        }
        table = table_of(*entry);
    }
    return table + fastmm_va_index(addr, LEAF_LEVEL);
}

fastmm_pte_t *fastmm_table_make(struct fastmm_mm *mm, uint64_t addr)
{
    return make(mm, addr, fastmm_table_alloc);
}

fastmm_pte_t *fastmm_table_make_unset(struct fastmm_mm *mm, uint64_t addr)
{
    return make(mm, addr, alloc_unset);
}

int fastmm_table_make_range(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    for (uint64_t addr = start; addr < end; addr = fastmm_va_next(addr, end, PMD_LEVEL))
        if (!fastmm_table_make(mm, addr))
            return -ENOMEM;
    return 0;
}

bool fastmm_table_walk_next(struct table_walk *walk, struct table_span *span)
{
    while (walk->addr < walk->end) {
        if (!walk->pmd) {
            walk->pmd = descend(walk->mm, &walk->addr, PMD_LEVEL);
            if (!walk->pmd)
                continue;
        }
        uint64_t addr = walk->addr;
        uint64_t next = fastmm_va_next(addr, walk->end, PMD_LEVEL);
        fastmm_pte_t *above = &walk->pmd[fastmm_va_index(addr, PMD_LEVEL)];
        walk->addr = next;
        if (fastmm_va_index(next, PMD_LEVEL) == 0)
            walk->pmd = NULL; /* the next entry is in another table */
        if (*above) {
            span->pte = table_of(*above) + fastmm_va_index(addr, LEAF_LEVEL);
            span->count = (unsigned)((next - addr) >> FASTMM_PAGE_SHIFT);
            span->addr = addr;
            span->above = above;
            return true;
        }
    }
    return false;
}

void fastmm_table_free_leaf(struct fastmm_mm *mm, const struct table_span *span)
{
    table_free(mm, table_of(*span->above));
    *span->above = 0;
}

static void free_subtree(struct fastmm_mm *mm, fastmm_pte_t *table, unsigned level)
{
    if (level > LEAF_LEVEL)
        for (unsigned i = 0; i < FASTMM_PTES; i++)
            if (table[i])
                free_subtree(mm, table_of(table[i]), level - 1);
    table_free(mm, table);
}

/* Does the work of fastmm_table_prune() below the entries of one table of `level`. */
static void prune(struct fastmm_mm *mm, fastmm_pte_t *table, unsigned level, uint64_t start,
                  uint64_t end, uint64_t floor, uint64_t ceiling)
{
    uint64_t next;
    for (uint64_t addr = start; addr < end; addr = next) {
        next = fastmm_va_next(addr, end, level);
        fastmm_pte_t *entry = &table[fastmm_va_index(addr, level)];
        if (!*entry)
            continue;
        uint64_t first = addr & ~(FASTMM_LEVEL_SIZE(level) - 1);
        if (first >= floor && first + FASTMM_LEVEL_SIZE(level) <= ceiling) {
            free_subtree(mm, table_of(*entry), level - 1);
            *entry = 0;
        } else if (level > PMD_LEVEL) {
            prune(mm, table_of(*entry), level - 1, addr, next, floor, ceiling);
        }
    }
}

void fastmm_table_prune(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint64_t floor,
                        uint64_t ceiling)
{
    prune(mm, mm->root, mm->machine->levels, start, end, floor, ceiling);
}
