/* SPDX-License-Identifier: MIT */
/* Table by table, entry by entry, in either style. */
#ifndef FASTMM_BENCH_WALK_LEVEL_H
#define FASTMM_BENCH_WALK_LEVEL_H

#include "walk_entry.h"

FASTMM_INLINE int level_copy_span(const struct rival_copy *c, const struct table_span *span,
                                  fastmm_pte_t *target, struct style style)
{
    struct rss_change rss = {{0}};
    int rc = 0;
    for (unsigned i = 0; i < span->count && !rc; i++)
        rc = copy_one(c, span->addr + i * UINT64_C(4096), span->pte + i, target + i, &rss, style);
    rss_apply(&c->child->rss, &rss);
    return rc;
}

FASTMM_INLINE int level_copy(const struct rival_copy *c, struct style style)
{
    struct table_walk walk = table_walk(c->parent, c->from->start, c->from->end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span)) {
        fastmm_pte_t *target = fastmm_table_make(c->child, span.addr);
        int rc = target ? level_copy_span(c, &span, target, style) : -ENOMEM;
        if (rc)
            return rc;
    }
    return 0;
}

FASTMM_INLINE void level_zap(struct rival *r, struct fastmm_mm *mm, const struct fastmm_vma *vma,
                             struct style style)
{
    struct table_walk walk = table_walk(mm, vma->start, vma->end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span)) {
        struct rss_change rss = {{0}};
        for (unsigned i = 0; i < span.count; i++)
            zap_one(r, vma, span.addr + i * UINT64_C(4096), span.pte + i, &rss, style);
        rss_apply(&mm->rss, &rss);
    }
}

FASTMM_INLINE void level_scan(const struct fastmm_mm *mm, struct fastmm_scan *scan)
{
    struct fastmm_scan all = *scan; /* in registers */
    for (size_t i = 0; i < mm->vma_count; i++) {
        struct table_walk walk = table_walk(mm, mm->vmas[i]->start, mm->vmas[i]->end);
        struct table_span span;
        while (fastmm_table_walk_next(&walk, &span))
            for (unsigned j = 0; j < span.count; j++)
                scan_one(span.pte[j], &all);
    }
    *scan = all;
}

#endif
