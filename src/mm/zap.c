/* SPDX-License-Identifier: MIT */
/*
 * Zap: what munmap, exit and MADV_DONTNEED do to each entry.
 *
 *   page                 uncounted, its dirtiness and age passed on; freed with the last user
 *   zero page, raw       cleared
 *   swap                 the slot loses a user
 *   uffd-wp, any form    DONTNEED in a file or shmem mapping leaves a marker. It is the mapping
 *                        that decides, not the page: a private copy in a file mapping leaves one
 *   guard                kept by DONTNEED
 *   poison               cleared
 *
 * (Each seen on Linux 6.18.) Counters change once per table.
 */
#include "zap.h"

#include "frame.h"
#include "span.h"
#include "swap.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

static void zap_page(const struct zap *z, uint64_t pfn, fastmm_pte_t pte, struct rss_change *rss)
{
    struct fastmm_machine *machine = z->mm->machine;
    uint64_t *word = &machine->frames.word[pfn];
    rss->by[frame_rss(*word)]--;
    if (!frame_is_anon(*word) && !FASTMM_MM_BUG(11))
        *word |=
            (fastmm_pte_dirty(pte) ? FRAME_DIRTY : 0) | (fastmm_pte_young(pte) ? FRAME_YOUNG : 0);
    frame_unmap(machine, pfn);
}

/* What stays of an entry that is neither empty nor a page. */
static fastmm_pte_t zap_swp(const struct zap *z, fastmm_pte_t pte, struct rss_change *rss)
{
    uint64_t markers = fastmm_marker_flags(pte);
    if (markers)
        return z->keep_guards && (markers & FASTMM_MARKER_GUARD) ? pte : 0;
    if (FASTMM_MM_BUG(18) && z->keep_guards && z->vma->object)
        return pte;
    rss->by[FASTMM_RSS_SWAP]--;
    fastmm_swap_put(z->mm->machine, pte);
    return 0;
}

static fastmm_pte_t zap_entry(const struct zap *z, uint64_t addr, fastmm_pte_t pte,
                              struct rss_change *rss)
{
    bool uffd_wp = z->keep_uffd_wp && fastmm_pte_any_uffd_wp(pte);
    fastmm_pte_t left = 0;
    if (FASTMM_LIKELY(fastmm_pte_present(pte))) {
        uint64_t pfn = fastmm_normal_page(&z->mm->machine->frames, z->vma, addr, pte);
        if (pfn != FASTMM_PFN_NONE)
            zap_page(z, pfn, pte, rss);
    } else {
        left = zap_swp(z, pte, rss);
    }
    return uffd_wp && !left ? fastmm_marker_make(FASTMM_MARKER_UFFD_WP) : left;
}

bool fastmm_zap_plain(const struct zap *z, const struct table_span *span)
{
    struct rss_change rss = {{0}};
    fastmm_pte_t left = 0;
    for (unsigned i = 0; i < span->count; i++) {
        fastmm_pte_t pte = span->pte[i];
        if (fastmm_pte_none(pte))
            continue;
        span->pte[i] = zap_entry(z, span->addr + i * UINT64_C(4096), pte, &rss);
        left |= span->pte[i];
    }
    rss_apply(&z->mm->rss, &rss);
    return left != 0;
}

/* Is the first page of a raw mapping a private copy by now? */
static inline bool first_is_copied(const struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    const fastmm_pte_t *first = fastmm_table_find(mm, vma->start);
    return (vma->flags & FASTMM_VM_PFNMAP) && first && !fastmm_pte_special(*first);
}

void fastmm_zap_range(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t start,
                      uint64_t end, enum zap_reason reason)
{
    struct zap z = {
        .mm = mm,
        .vma = vma,
        .keep_guards = reason != ZAP_UNMAP,
        .keep_uffd_wp = reason == ZAP_DONTNEED && zap_keeps_uffd_wp(vma),
    };
    if (FASTMM_MM_BUG(14) && reason == ZAP_UNMAP && first_is_copied(mm, vma))
        mm->machine->pfn_reservations++; /* the one of its own isn't found */
    struct table_walk walk = table_walk(mm, start, end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span)) {
        z.table_goes = reason == ZAP_UNMAP && span.count == FASTMM_PTES;
        bool left = mm->machine->span_ops->zap(&z, &span);
        /* Unmapping frees tables itself, by what else they serve. */
        if (reason == ZAP_DONTNEED && !left && span.count == FASTMM_PTES)
            fastmm_table_free_leaf(mm, &span);
    }
}

int fastmm_mm_zap(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = fastmm_vma_check_mapped(mm, start, end);
    if (rc)
        return rc;
    if (fastmm_vma_flags(mm, start, end) & FASTMM_VM_PFNMAP)
        return -EINVAL;
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++)
        fastmm_zap_range(mm, mm->vmas[i], vma_clip_start(mm->vmas[i], start),
                         vma_clip_end(mm->vmas[i], end), ZAP_DONTNEED);
    return 0;
}
