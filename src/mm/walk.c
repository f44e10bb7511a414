/* SPDX-License-Identifier: MIT */
/* Looking without touching: single entries, runs of them, and statistics. */
#include "span.h"

#include <errno.h>
#include <string.h>

int fastmm_mm_lookup(const struct fastmm_mm *mm, uint64_t addr, fastmm_pte_t *pte)
{
    unsigned levels = mm->machine->levels;
    if (!fastmm_va_canonical(addr, levels))
        return -EFAULT;
    if (addr >> (fastmm_va_bits(levels) - 1))
        return -ERANGE;
    const fastmm_pte_t *found = fastmm_table_find(mm, addr);
    *pte = found ? *found : 0;
    return 0;
}

int fastmm_mm_read(const struct fastmm_mm *mm, uint64_t start, size_t count, fastmm_pte_t *ptes)
{
    if (count > mm->machine->user_end >> FASTMM_PAGE_SHIFT)
        return -ERANGE;
    uint64_t end = start + ((uint64_t)count << FASTMM_PAGE_SHIFT);
    int rc = fastmm_check_range(mm->machine, start, end);
    if (rc)
        return rc;
    memset(ptes, 0, count * sizeof(*ptes));
    struct table_walk walk = table_walk(mm, start, end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span))
        memcpy(ptes + ((span.addr - start) >> FASTMM_PAGE_SHIFT), span.pte,
               span.count * sizeof(*ptes));
    return 0;
}

static void scan_entry(fastmm_pte_t pte, struct fastmm_scan *scan)
{
    scan->uffd_wp += fastmm_pte_any_uffd_wp(pte);
    if (fastmm_pte_present(pte)) {
        scan->present++;
        scan->writable += fastmm_pte_write(pte);
        scan->dirty += fastmm_pte_dirty(pte);
        scan->young += fastmm_pte_young(pte);
        scan->special += fastmm_pte_special(pte);
    } else if (fastmm_pte_none(pte)) {
        scan->none++;
    } else if (fastmm_marker_flags(pte)) {
        scan->markers++;
    } else {
        scan->swap++;
    }
}

void fastmm_scan_plain(const struct table_span *span, struct fastmm_scan *scan)
{
    struct fastmm_scan all = *scan; /* in registers */
    for (unsigned i = 0; i < span->count; i++)
        scan_entry(span->pte[i], &all);
    *scan = all;
}

int fastmm_mm_scan(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                   struct fastmm_scan *scan)
{
    if (end == UINT64_MAX)
        end = mm->machine->user_end;
    int rc = fastmm_check_range(mm->machine, start, end);
    if (rc)
        return rc;
    struct fastmm_scan all = {0};
    struct table_walk walk = table_walk(mm, start, end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span))
        mm->machine->span_ops->scan(&span, &all);
    *scan = all;
    return 0;
}
