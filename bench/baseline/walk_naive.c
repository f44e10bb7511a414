/* SPDX-License-Identifier: MIT */
/*
 * The first thing that works: for every page down from the root, by calls, each count and entry
 * changed by a locked instruction.
 */
#include "walk_entry.h"

static const struct style style = {LOCK_ALL, LOOKUP_CALL, fastmm_normal_page_call};

static int copy(const struct rival_copy *c)
{
    struct rss_change rss = {{0}};
    int rc = 0;
    for (uint64_t addr = c->from->start; addr < c->from->end && !rc; addr += FASTMM_PAGE_SIZE) {
        fastmm_pte_t *source = fastmm_table_find(c->parent, addr);
        if (!source || fastmm_pte_none(*source))
            continue;
        fastmm_pte_t *target = fastmm_table_make(c->child, addr);
        rc = target ? copy_one(c, addr, source, target, &rss, style) : -ENOMEM;
    }
    rss_apply(&c->child->rss, &rss);
    return rc;
}

static void zap(struct rival *r, struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    struct rss_change rss = {{0}};
    for (uint64_t addr = vma->start; addr < vma->end; addr += FASTMM_PAGE_SIZE) {
        fastmm_pte_t *entry = fastmm_table_find(mm, addr);
        if (entry)
            zap_one(r, vma, addr, entry, &rss, style);
    }
    rss_apply(&mm->rss, &rss);
}

static void scan(const struct fastmm_mm *mm, struct fastmm_scan *scan)
{
    for (size_t i = 0; i < mm->vma_count; i++)
        for (uint64_t addr = mm->vmas[i]->start; addr < mm->vmas[i]->end;
             addr += FASTMM_PAGE_SIZE) {
            const fastmm_pte_t *entry = fastmm_table_find(mm, addr);
            if (entry)
                scan_one(*entry, scan);
        }
}

const struct rival_ops rival_naive = {copy, zap, scan};
