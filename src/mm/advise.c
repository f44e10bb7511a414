/* SPDX-License-Identifier: MIT */
/*
 * Advice: what fork is to do with a mapping, pages whose contents nobody needs any more, and pages
 * that are wanted before anybody touches them.
 */
#include "frame.h"
#include "swap.h"
#include "table.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

/* --- What fork does -------------------------------------------------------------------------- */

static const struct {
    uint32_t flag;
    bool set, anonymous_only, never_raw;
} advices[] = {
    [FASTMM_ADVICE_DONTFORK] = {FASTMM_VM_DONTCOPY, true, false, false},
    [FASTMM_ADVICE_DOFORK] = {FASTMM_VM_DONTCOPY, false, false, true},
    [FASTMM_ADVICE_WIPEONFORK] = {FASTMM_VM_WIPEONFORK, true, true, true},
    [FASTMM_ADVICE_KEEPONFORK] = {FASTMM_VM_WIPEONFORK, false, false, false},
};

static int check_anonymous(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++)
        if (!vma_is_anonymous(mm->vmas[i]))
            return -EINVAL;
    return 0;
}

int fastmm_mm_advise(struct fastmm_mm *mm, uint64_t start, uint64_t end, enum fastmm_advice advice)
{
    size_t first, count;
    if ((unsigned)advice >= sizeof(advices) / sizeof(advices[0]))
        return -EINVAL;
    int rc = fastmm_vma_check_mapped(mm, start, end);
    if (!rc && advices[advice].never_raw && (fastmm_vma_flags(mm, start, end) & FASTMM_VM_PFNMAP))
        rc = -EINVAL;
    if (!rc && advices[advice].anonymous_only)
        rc = check_anonymous(mm, start, end);
    const uint32_t flag = advices[advice].flag, value = advices[advice].set ? flag : 0;
    if (!rc)
        rc = fastmm_vma_isolate_changing(mm, start, end, flag, value, &first, &count);
    if (rc)
        return rc;
    for (size_t i = first; i < first + count; i++)
        if ((mm->vmas[i]->flags & flag) != value)
            mm->vmas[i]->flags = (mm->vmas[i]->flags & ~flag) | value | VMA_CHANGED;
    fastmm_vma_settle(mm, first, count);
    return 0;
}

/* --- MADV_FREE ------------------------------------------------------------------------------- */

/*
 * Others may want what the swap cache has, and what the page itself knows of writes is theirs, too,
 * while they map it. (Seen on Linux 6.18.)
 */
static bool make_lazy(uint64_t *word)
{
    if ((*word & FRAME_SWAPCACHE) || ((*word & FRAME_DIRTY) && frame_maps(*word) != 1))
        return false;
    *word = (*word & ~FRAME_DIRTY) | FRAME_LAZY;
    return true;
}

/* Swapped pages and poison go at once; pages forget that they were written. */
static fastmm_pte_t free_entry(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t addr,
                               fastmm_pte_t pte)
{
    struct fastmm_frames *frames = &mm->machine->frames;
    if (fastmm_pte_present(pte)) {
        uint64_t pfn = fastmm_normal_page(frames, vma, addr, pte);
        if (pfn == FASTMM_PFN_NONE || !make_lazy(&frames->word[pfn]))
            return pte;
        return fastmm_pte_mkclean(fastmm_pte_mkold(pte));
    }
    if (FASTMM_MM_BUG(17) && fastmm_pte_pfn(pte) == FASTMM_PFN_ZERO)
        return 0; /* looked at before it is known to be a page */
    uint64_t markers = fastmm_marker_flags(pte);
    if (markers)
        return markers & FASTMM_MARKER_POISON ? 0 : pte;
    rss_add(&mm->rss, FASTMM_RSS_SWAP, -1);
    fastmm_swap_put(mm->machine, pte);
    return 0;
}

int fastmm_mm_free(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = fastmm_vma_check_mapped(mm, start, end);
    if (!rc)
        rc = check_anonymous(mm, start, end);
    if (!rc)
        fastmm_vma_change_entries(mm, start, end, free_entry);
    return rc;
}

/* --- MADV_POPULATE_READ, _WRITE -------------------------------------------------------------- */

static int prefault_page(struct fastmm_mm *mm, uint64_t addr, enum fastmm_access access)
{
    const struct fastmm_vma *vma = fastmm_mm_find(mm, addr);
    if (!vma)
        return -ENOMEM;
    if ((vma->flags & FASTMM_VM_PFNMAP) ||
        !(vma->flags & (access == FASTMM_WRITE ? FASTMM_VM_WRITE : FASTMM_VM_READ)))
        return -EINVAL;
    const fastmm_pte_t *pte = fastmm_table_find(mm, addr);
    if (pte && fastmm_pte_present(*pte) && (access == FASTMM_READ || fastmm_pte_write(*pte))) {
        /* A clean entry stays clean: the page is told. */
        if (access == FASTMM_WRITE && !fastmm_pte_dirty(*pte))
            mm->machine->frames.word[fastmm_pte_pfn(*pte)] |= FRAME_DIRTY;
        return 0;
    }
    int rc = fastmm_mm_fault(mm, addr, access);
    if (rc <= 0)
        return rc;
    pte = fastmm_table_find(mm, addr);
    return pte && fastmm_marker_flags(*pte) == FASTMM_MARKER_POISON ? -EHWPOISON : -EFAULT;
}

int fastmm_mm_prefault(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                       enum fastmm_access access)
{
    int rc = fastmm_check_range(mm->machine, start, end);
    for (uint64_t addr = start; !rc && addr < end; addr += FASTMM_PAGE_SIZE)
        rc = prefault_page(mm, addr, access);
    return rc;
}
