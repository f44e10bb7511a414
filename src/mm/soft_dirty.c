/* SPDX-License-Identifier: MIT */
/*
 * Tracking what is written by a bit of its own (clear_refs): all pages become read-only and lose
 * the bit, and a write gets both back in one fault. So nothing else may make an entry writable that
 * doesn't have the bit.
 *
 * Not compared with a running kernel: that of the comparison is built without it.
 */
#include "frame.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

/* A page under DMA is written all the time, and can't become read-only. */
static bool is_pinned(const struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t addr,
                      fastmm_pte_t pte)
{
    struct fastmm_frames *frames = &mm->machine->frames;
    if (!fastmm_pte_write(pte) || !vma_is_cow(vma) || !mm->has_pinned)
        return false;
    uint64_t pfn = fastmm_normal_page(frames, vma, addr, pte);
    return pfn != FASTMM_PFN_NONE && (frames->word[pfn] & FRAME_PINNED);
}

static fastmm_pte_t clear_entry(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t addr,
                                fastmm_pte_t pte)
{
    if (!fastmm_pte_present(pte))
        return pte & ~FASTMM_SWP_SOFT_DIRTY;
    if (is_pinned(mm, vma, addr, pte))
        return pte;
    pte = fastmm_pte_clear_soft_dirty(pte);
    return fastmm_pte_write(pte) ? fastmm_pte_wrprotect(pte) : pte;
}

int fastmm_mm_clear_refs(struct fastmm_mm *mm)
{
    if (!mm->machine->soft_dirty)
        return -ENOTSUP;
    for (size_t i = 0; i < mm->vma_count; i++) {
        struct fastmm_vma *vma = mm->vmas[i];
        vma->flags |= FASTMM_VM_SOFT_TRACKED;
        fastmm_vma_update_prot(vma);
        if (!(vma->flags & FASTMM_VM_PFNMAP))
            fastmm_vma_change_entries(mm, vma->start, vma->end, clear_entry);
    }
    return 0;
}
