/* SPDX-License-Identifier: MIT */
/*
 * The two primitives that fork, zap and faults spend their time in, for a
 * caller's own loops.
 *
 * The normal-page lookup: does this entry map a page that is counted, and
 * which? Three builds with one answer: out of line (fastmm_normal_page_call),
 * inlined whole (fastmm_normal_page_inline), and the one to use by default,
 * whose two-test fast path is inlined and whose rest is a call
 * (fastmm_normal_page).
 *
 * The setter: n entries for n consecutive frames after a fault. If the entry
 * that the fault found was a uffd-wp marker, the new ones are write-protected.
 * Hardly any fault finds one, so what matters is how that is ruled out:
 *
 *   gate first   the mapping's flag, which is in a register already, says no
 *   gate last    the entry is decoded whenever the fault had one to decode
 *
 * Both give the same entries over all reachable states. The unreachable
 * difference: a marker in a mapping that isn't registered any more. A fault
 * clears such a marker and starts over before any setter runs; called on one
 * all the same, gate last protects and gate first doesn't.
 *
 * Semantics: Linux 6.18 (gate last: 6.6 to 6.9).
 */
#ifndef FASTMM_MM_INLINE_H
#define FASTMM_MM_INLINE_H

#include <fastmm/mm.h>

/* What a fault knows when it sets entries. */
#define FASTMM_SET_WRITE      (1u << 0) /* a write: dirty, and RW if the mapping is writable */
#define FASTMM_SET_ORIG_VALID (1u << 1) /* `orig` is the entry that the fault found */
#define FASTMM_SET_SOFT_DIRTY (1u << 2) /* writes are soft-dirty: the machine tracks that */

#define fastmm_normal_page_call FASTMM_EPOCH_NAME(fastmm_normal_page_call, FASTMM_MM_EPOCH)
#define fastmm_bad_page         FASTMM_EPOCH_NAME(fastmm_bad_page, FASTMM_MM_EPOCH)
#define fastmm_set_range_call   FASTMM_EPOCH_NAME(fastmm_set_range_call, FASTMM_MM_EPOCH)
#define fastmm_set_range_gate_last_call \
    FASTMM_EPOCH_NAME(fastmm_set_range_gate_last_call, FASTMM_MM_EPOCH)

FASTMM_BEGIN_DECLS

/* --- Normal page ---------------------------------------------------------------------------- */

/*
 * Frame of the present leaf `pte` at `addr` of `vma`, or FASTMM_PFN_NONE where there is no page
 * that is counted: the zero page, raw frames, and entries that make no sense, which are recorded.
 */
FASTMM_API uint64_t fastmm_normal_page_call(struct fastmm_frames *frames,
                                            const struct fastmm_vma *vma, uint64_t addr,
                                            fastmm_pte_t pte);

/* Records an entry that makes no sense. Returns FASTMM_PFN_NONE. */
FASTMM_API uint64_t fastmm_bad_page(struct fastmm_frames *frames, const struct fastmm_vma *vma,
                                    uint64_t addr, fastmm_pte_t pte);

FASTMM_INLINE uint64_t fastmm_normal_page_inline(struct fastmm_frames *frames,
                                                 const struct fastmm_vma *vma, uint64_t addr,
                                                 fastmm_pte_t pte)
{
    uint64_t pfn = fastmm_pte_pfn(pte);
    if (FASTMM_UNLIKELY(fastmm_pte_special(pte))) {
        if (vma->flags & (FASTMM_VM_PFNMAP | FASTMM_VM_MIXEDMAP))
            return FASTMM_PFN_NONE;
        if (pfn == FASTMM_PFN_ZERO)
            return FASTMM_PFN_NONE;
        return fastmm_bad_page(frames, vma, addr, pte);
    }
    if (FASTMM_UNLIKELY(pfn > frames->highest))
        return fastmm_bad_page(frames, vma, addr, pte);
    return pfn;
}

FASTMM_INLINE uint64_t fastmm_normal_page(struct fastmm_frames *frames,
                                          const struct fastmm_vma *vma, uint64_t addr,
                                          fastmm_pte_t pte)
{
    uint64_t pfn = fastmm_pte_pfn(pte);
    if (FASTMM_LIKELY(!fastmm_pte_special(pte) && pfn <= frames->highest))
        return pfn;
    return fastmm_normal_page_call(frames, vma, addr, pte);
}

/* --- Setter --------------------------------------------------------------------------------- */

/* The entry for `pfn` after a fault, before any uffd-wp. Protections of mappings are never dirty.
 */
FASTMM_INLINE fastmm_pte_t fastmm_fault_entry(const struct fastmm_vma *vma, uint64_t pfn,
                                              unsigned flags)
{
    uint64_t prot = vma->page_prot;
    if (flags & FASTMM_SET_WRITE) {
        if (FASTMM_LIKELY(vma->flags & FASTMM_VM_WRITE))
            prot |= FASTMM_PTE_RW | FASTMM_PTE_DIRTY;
        else
            prot = fastmm_pte_mkdirty(prot);
        if (flags & FASTMM_SET_SOFT_DIRTY)
            prot |= FASTMM_PTE_SOFT_DIRTY;
    }
    return fastmm_pte_make(pfn, prot);
}

/* fastmm_marker_flags(pte) & FASTMM_MARKER_UFFD_WP by one comparison: a set flag is a clear bit. */
FASTMM_INLINE bool fastmm_is_uffd_wp_marker(fastmm_pte_t pte)
{
    const uint64_t marker = (uint64_t)FASTMM_SWP_TYPE_MARKER << FASTMM_SWP_TYPE_SHIFT;
    return (pte & (marker | FASTMM_PTE_PRESENT | FASTMM_PTE_PROTNONE |
                   FASTMM_MARKER_UFFD_WP << FASTMM_SWP_OFFSET_SHIFT)) == marker;
}

FASTMM_INLINE bool fastmm_orig_uffd_wp_gate_first(const struct fastmm_vma *vma, unsigned flags,
                                                  fastmm_pte_t orig)
{
    if (FASTMM_LIKELY(!(vma->flags & FASTMM_VM_UFFD_WP)))
        return false;
    return (flags & FASTMM_SET_ORIG_VALID) && fastmm_is_uffd_wp_marker(orig);
}

FASTMM_INLINE bool fastmm_orig_uffd_wp_gate_last(unsigned flags, fastmm_pte_t orig)
{
    return (flags & FASTMM_SET_ORIG_VALID) && fastmm_is_uffd_wp_marker(orig);
}

/* Two entries that are stored at once. */
typedef uint64_t fastmm_pte_pair __attribute__((vector_size(16), aligned(8), may_alias));

FASTMM_INLINE void fastmm_store_range(fastmm_pte_t *ptes, fastmm_pte_t pte, size_t n)
{
    /* An inverted frame number counts down. */
    const uint64_t step =
        pte & FASTMM_PTE_PRESENT ? FASTMM_PAGE_SIZE : UINT64_C(0) - FASTMM_PAGE_SIZE;
    const fastmm_pte_pair by2 = {2 * step, 2 * step};
    const fastmm_pte_pair by4 = by2 + by2, by6 = by4 + by2;
    fastmm_pte_pair pair = {pte, pte + step};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        *(fastmm_pte_pair *)(void *)(ptes + i) = pair;
        *(fastmm_pte_pair *)(void *)(ptes + i + 2) = pair + by2;
        *(fastmm_pte_pair *)(void *)(ptes + i + 4) = pair + by4;
        *(fastmm_pte_pair *)(void *)(ptes + i + 6) = pair + by6;
        pair += by4 + by4;
    }
    for (pte = pair[0]; i < n; i++, pte += step)
        ptes[i] = pte;
}

/*
 * Sets ptes[0 .. n) to frames pfn, pfn + 1, ... for a fault that found `orig` and had `flags`
 * (FASTMM_SET_*). All n lie in one table and in `vma`.
 */
FASTMM_INLINE void fastmm_set_range(const struct fastmm_vma *vma, fastmm_pte_t *ptes, uint64_t pfn,
                                    size_t n, unsigned flags, fastmm_pte_t orig)
{
    fastmm_pte_t pte = fastmm_fault_entry(vma, pfn, flags);
    if (FASTMM_UNLIKELY(fastmm_orig_uffd_wp_gate_first(vma, flags, orig)))
        pte = fastmm_pte_mkuffd_wp(pte);
    fastmm_store_range(ptes, pte, n);
}

FASTMM_INLINE void fastmm_set_range_gate_last(const struct fastmm_vma *vma, fastmm_pte_t *ptes,
                                              uint64_t pfn, size_t n, unsigned flags,
                                              fastmm_pte_t orig)
{
    fastmm_pte_t pte = fastmm_fault_entry(vma, pfn, flags);
    if (FASTMM_UNLIKELY(fastmm_orig_uffd_wp_gate_last(flags, orig)))
        pte = fastmm_pte_mkuffd_wp(pte);
    fastmm_store_range(ptes, pte, n);
}

/* The same, out of line. */
FASTMM_API void fastmm_set_range_call(const struct fastmm_vma *vma, fastmm_pte_t *ptes,
                                      uint64_t pfn, size_t n, unsigned flags, fastmm_pte_t orig);
FASTMM_API void fastmm_set_range_gate_last_call(const struct fastmm_vma *vma, fastmm_pte_t *ptes,
                                                uint64_t pfn, size_t n, unsigned flags,
                                                fastmm_pte_t orig);

FASTMM_END_DECLS

#endif
