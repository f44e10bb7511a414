/* SPDX-License-Identifier: MIT */
/*
 * PAGEMAP_SCAN with PM_SCAN_WP_MATCHING: pages are looked at and, if they are what the caller
 * wants, write-protected in the same turn, so that no write falls between. What an entry is decides
 * how it says that it is protected: a page by its bit, one in swap by another, an empty one by a
 * marker.
 */
#include "pagemap.h"
#include "table.h"
#include "vma.h"

#include <errno.h>

static bool matches(const struct fastmm_page_match *match, unsigned categories)
{
    return ((categories ^ match->inverted) & match->mask) == match->mask;
}

static fastmm_pte_t protected_entry(fastmm_pte_t pte)
{
    if (fastmm_pte_none(pte))
        return fastmm_marker_make(FASTMM_MARKER_UFFD_WP);
    if (fastmm_pte_present(pte))
        return fastmm_pte_mkuffd_wp(FASTMM_MM_BUG(12) ? fastmm_pte_mkclean(pte) : pte);
    return pte | FASTMM_SWP_UFFD_WP;
}

static void protect_entries(struct fastmm_mm *mm, const struct fastmm_vma *vma,
                            const struct table_span *span, const struct fastmm_page_match *match)
{
    for (unsigned i = 0; i < span->count; i++) {
        uint64_t addr = span->addr + i * UINT64_C(4096);
        fastmm_pte_t pte = span->pte[i];
        unsigned is = fastmm_categories_of_entry(mm, vma, addr, pte);
        if (matches(match, is) && !fastmm_pte_any_uffd_wp(pte))
            span->pte[i] = protected_entry(pte);
    }
}

/* The part [start, end) of a mapping, table by table. */
static void protect_mapping(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t start,
                            uint64_t end, const struct fastmm_page_match *match)
{
    struct table_walk walk = table_walk(mm, start, end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span))
        protect_entries(mm, vma, &span, match);
}

/* Where pages match without a table, they need one to be marked in. */
static int make_tables(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t start,
                       uint64_t end, const struct fastmm_page_match *match)
{
    return matches(match, fastmm_categories_of_hole(mm, vma))
               ? fastmm_table_make_range(mm, start, end)
               : 0;
}

/* Mappings whose faults don't resolve by themselves are passed over, unless the caller minds. */
static int check_async(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++)
        if (!(mm->vmas[i]->flags & FASTMM_VM_UFFD_ASYNC))
            return -EPERM;
    return 0;
}

int fastmm_mm_protect_matching(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                               const struct fastmm_page_match *match)
{
    int rc = fastmm_check_range(mm->machine, start, end);
    if (!rc && ((match->mask | match->inverted) & ~FASTMM_PAGE_IS_ALL))
        rc = -EINVAL;
    if (!rc && match->check_async)
        rc = check_async(mm, start, end);
    for (size_t i = fastmm_vma_at(mm, start); !rc && i < mm->vma_count && mm->vmas[i]->start < end;
         i++) {
        const struct fastmm_vma *vma = mm->vmas[i];
        uint64_t from = vma_clip_start(vma, start), to = vma_clip_end(vma, end);
        if (!(vma->flags & FASTMM_VM_UFFD_ASYNC))
            continue;
        rc = make_tables(mm, vma, from, to, match);
        if (!rc)
            protect_mapping(mm, vma, from, to, match);
    }
    return rc;
}
