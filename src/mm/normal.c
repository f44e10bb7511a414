/* SPDX-License-Identifier: MIT */
/* The primitives of mm_inline.h out of line: a caller's slow path, and the exported twins. */
#include <fastmm/mm_inline.h>

uint64_t fastmm_bad_page(struct fastmm_frames *frames, const struct fastmm_vma *vma, uint64_t addr,
                         fastmm_pte_t pte)
{
    frames->bad = (struct fastmm_bad_entry){frames->bad.count + 1, addr, pte, vma->flags};
    return FASTMM_PFN_NONE;
}

uint64_t fastmm_normal_page_call(struct fastmm_frames *frames, const struct fastmm_vma *vma,
                                 uint64_t addr, fastmm_pte_t pte)
{
    return fastmm_normal_page_inline(frames, vma, addr, pte);
}

void fastmm_set_range_call(const struct fastmm_vma *vma, fastmm_pte_t *ptes, uint64_t pfn, size_t n,
                           unsigned flags, fastmm_pte_t orig)
{
    fastmm_set_range(vma, ptes, pfn, n, flags, orig);
}

void fastmm_set_range_gate_last_call(const struct fastmm_vma *vma, fastmm_pte_t *ptes, uint64_t pfn,
                                     size_t n, unsigned flags, fastmm_pte_t orig)
{
    fastmm_set_range_gate_last(vma, ptes, pfn, n, flags, orig);
}
