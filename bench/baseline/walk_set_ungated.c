/* SPDX-License-Identifier: MIT */
/* The setter as it was before the gate: whatever the mapping, decode the entry that was there. */
#include "walk_set_ungated.h"

#include "walk_set_marker.h"

void set_ungated(const struct fastmm_vma *vma, fastmm_pte_t *pte, uint64_t pfn, unsigned flags,
                 fastmm_pte_t orig)
{
    fastmm_pte_t entry = fastmm_pte_make(pfn, vma->page_prot);
    if (flags & FASTMM_SET_WRITE) {
        entry = fastmm_pte_mkdirty(entry);
        if (vma->flags & FASTMM_VM_WRITE)
            entry = fastmm_pte_mkwrite(entry);
    }
    if (marker_uffd_wp(orig))
        entry = fastmm_pte_mkuffd_wp(entry);
    *pte = entry;
}
