/* SPDX-License-Identifier: MIT */
/*
 * Page-table entries of x86-64 Linux as plain 64-bit values: geometry, present
 * leaves, and what an entry holds when its page is not in memory.
 *
 * Everything here is a pure function of its arguments: no state, no errno,
 * safe from any thread and any signal handler, on any architecture. Each inline
 * function has an exported twin named with the suffix _call, declared at the
 * end, for callers that can't inline C. What a leaf holds without a page is
 * in swp.h.
 *
 * Source of the semantics: Linux 6.18 on x86-64, observed on a running kernel
 * (raw entries read back after mprotect, fork, userfaultfd and swap). Where a
 * rule is older or newer than that the comment says so.
 */
#ifndef FASTMM_PTE_H
#define FASTMM_PTE_H

#include <fastmm/base.h>

#include <stdbool.h>

/*
 * Geometry. Levels are numbered from the leaf: 1 = PTE, 2 = PMD, 3 = PUD, and the root is level 4
 * or level 5 as the machine was configured. Every table has 512 entries in 4096 bytes.
 */
#define FASTMM_PAGE_SHIFT 12
#define FASTMM_PAGE_SIZE  4096u
#define FASTMM_PTES       512u
#define FASTMM_LEVEL_BITS 9

/* Bytes that one entry of a table of `level` covers. */
#define FASTMM_LEVEL_SHIFT(level) (FASTMM_PAGE_SHIFT + FASTMM_LEVEL_BITS * ((level)-1))
#define FASTMM_LEVEL_SIZE(level)  (UINT64_C(1) << FASTMM_LEVEL_SHIFT(level))

/* One entry of any level. */
typedef uint64_t fastmm_pte_t;

/* Present leaves. */
#define FASTMM_PTE_PRESENT     (UINT64_C(1) << 0)
#define FASTMM_PTE_RW          (UINT64_C(1) << 1)
#define FASTMM_PTE_USER        (UINT64_C(1) << 2)
#define FASTMM_PTE_PWT         (UINT64_C(1) << 3)
#define FASTMM_PTE_PCD         (UINT64_C(1) << 4)
#define FASTMM_PTE_ACCESSED    (UINT64_C(1) << 5)
#define FASTMM_PTE_DIRTY       (UINT64_C(1) << 6)
#define FASTMM_PTE_PAT         (UINT64_C(1) << 7) /* 4 KiB leaves only: */
#define FASTMM_PTE_PSE         (UINT64_C(1) << 7) /* at level 2 and 3 the same bit means "leaf" */
#define FASTMM_PTE_GLOBAL      (UINT64_C(1) << 8) /* with PRESENT */
#define FASTMM_PTE_PROTNONE    (UINT64_C(1) << 8) /* without PRESENT: a page nobody may touch */
#define FASTMM_PTE_SPECIAL     (UINT64_C(1) << 9)
#define FASTMM_PTE_UFFD_WP     (UINT64_C(1) << 10)
#define FASTMM_PTE_SOFT_DIRTY  (UINT64_C(1) << 11)
#define FASTMM_PTE_SAVED_DIRTY (UINT64_C(1) << 58)
#define FASTMM_PTE_PKEY        (UINT64_C(0xf) << 59)
#define FASTMM_PTE_NX          (UINT64_C(1) << 63)
#define FASTMM_PTE_PFN_MASK    UINT64_C(0x000ffffffffff000)

/* Frame numbers have 40 bits. */
#define FASTMM_PFN_LIMIT (UINT64_C(1) << 40)

/*
 * What mappings write into a leaf beside the frame number. NX comes off for executable ones.
 * Intermediate tables for user space permit everything: permissions are decided at the leaf.
 */
#define FASTMM_PROT_SHARED \
    (FASTMM_PTE_PRESENT | FASTMM_PTE_RW | FASTMM_PTE_USER | FASTMM_PTE_ACCESSED | FASTMM_PTE_NX)
#define FASTMM_PROT_READONLY (FASTMM_PROT_SHARED & ~FASTMM_PTE_RW)
#define FASTMM_PROT_NONE     (FASTMM_PTE_ACCESSED | FASTMM_PTE_PROTNONE)
#define FASTMM_PROT_TABLE \
    (FASTMM_PTE_PRESENT | FASTMM_PTE_RW | FASTMM_PTE_USER | FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY)

/* What fastmm_pte_modify() keeps of the old entry. RW, USER, NX and the protection key go. */
#define FASTMM_PTE_MODIFY_KEEPS                                                                    \
    (FASTMM_PTE_PWT | FASTMM_PTE_PCD | FASTMM_PTE_PAT | FASTMM_PTE_SPECIAL | FASTMM_PTE_ACCESSED | \
     FASTMM_PTE_DIRTY | FASTMM_PTE_SAVED_DIRTY | FASTMM_PTE_SOFT_DIRTY | FASTMM_PTE_UFFD_WP)

/* --- Addresses ------------------------------------------------------------------------------ */

/* Bits of an address that tables of that many levels translate: 48 or 57. */
FASTMM_INLINE unsigned fastmm_va_bits(unsigned levels)
{
    return FASTMM_PAGE_SHIFT + FASTMM_LEVEL_BITS * levels;
}

/* Bits above the translated ones must all equal the highest of those. */
FASTMM_INLINE bool fastmm_va_canonical(uint64_t va, unsigned levels)
{
    uint64_t top = va >> (fastmm_va_bits(levels) - 1);
    return top == 0 || top == (UINT64_MAX >> (fastmm_va_bits(levels) - 1));
}

/*
 * First address that no mapping may cover: the last page of the lower half is never mapped, so
 * that no instruction can run into the hole.
 */
FASTMM_INLINE uint64_t fastmm_va_user_end(unsigned levels)
{
    return (UINT64_C(1) << (fastmm_va_bits(levels) - 1)) - FASTMM_PAGE_SIZE;
}

/* Index into the table of `level` on the way to `va`: 0 .. 511 for every 64-bit address. */
FASTMM_INLINE unsigned fastmm_va_index(uint64_t va, unsigned level)
{
    return (unsigned)(va >> FASTMM_LEVEL_SHIFT(level)) & (FASTMM_PTES - 1);
}

/*
 * End of the part of [va, end) that one entry of `level` covers. An `end` of 0 stands for the top
 * of the 64-bit space, which is why the comparison is made one below.
 */
FASTMM_INLINE uint64_t fastmm_va_next(uint64_t va, uint64_t end, unsigned level)
{
    uint64_t boundary = (va + FASTMM_LEVEL_SIZE(level)) & ~(FASTMM_LEVEL_SIZE(level) - 1);
    return boundary - 1 < end - 1 ? boundary : end;
}

/* --- Predicates ----------------------------------------------------------------------------- */

/* Hardware may set A and D in an entry that isn't present (an erratum), so both are ignored. */
FASTMM_INLINE bool fastmm_pte_none(fastmm_pte_t pte)
{
    return (pte & ~(FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY)) == 0;
}

/* Has a page, as far as memory management is concerned: PROT_NONE pages count. */
FASTMM_INLINE bool fastmm_pte_present(fastmm_pte_t pte)
{
    return (pte & (FASTMM_PTE_PRESENT | FASTMM_PTE_PROTNONE)) != 0;
}

FASTMM_INLINE bool fastmm_pte_protnone(fastmm_pte_t pte)
{
    return (pte & (FASTMM_PTE_PRESENT | FASTMM_PTE_PROTNONE)) == FASTMM_PTE_PROTNONE;
}

/* Swap format: neither empty nor a page. */
FASTMM_INLINE bool fastmm_pte_is_swp(fastmm_pte_t pte)
{
    return !fastmm_pte_present(pte) && !fastmm_pte_none(pte);
}

FASTMM_INLINE bool fastmm_pte_write(fastmm_pte_t pte)
{
    return (pte & FASTMM_PTE_RW) != 0;
}

/* Written to since it was last clean, whether hardware's bit says so or the saved one. */
FASTMM_INLINE bool fastmm_pte_dirty(fastmm_pte_t pte)
{
    return (pte & (FASTMM_PTE_DIRTY | FASTMM_PTE_SAVED_DIRTY)) != 0;
}

FASTMM_INLINE bool fastmm_pte_young(fastmm_pte_t pte)
{
    return (pte & FASTMM_PTE_ACCESSED) != 0;
}

FASTMM_INLINE bool fastmm_pte_special(fastmm_pte_t pte)
{
    return (pte & FASTMM_PTE_SPECIAL) != 0;
}

FASTMM_INLINE bool fastmm_pte_uffd_wp(fastmm_pte_t pte)
{
    return (pte & FASTMM_PTE_UFFD_WP) != 0;
}

FASTMM_INLINE bool fastmm_pte_soft_dirty(fastmm_pte_t pte)
{
    return (pte & FASTMM_PTE_SOFT_DIRTY) != 0;
}

/* --- Frame numbers -------------------------------------------------------------------------- */

/*
 * What the frame field is XORed with. Without PRESENT it is stored inverted, so that a page walk
 * by a CPU that speculates past the clear bit (L1TF) ends at no real memory. A zero entry stays
 * zero.
 */
FASTMM_INLINE uint64_t fastmm_pte_invert(fastmm_pte_t pte)
{
    return pte != 0 && !(pte & FASTMM_PTE_PRESENT) ? FASTMM_PTE_PFN_MASK : 0;
}

/* Frame number of a present leaf; meaningless for anything else. */
FASTMM_INLINE uint64_t fastmm_pte_pfn(fastmm_pte_t pte)
{
    return ((pte ^ fastmm_pte_invert(pte)) & FASTMM_PTE_PFN_MASK) >> FASTMM_PAGE_SHIFT;
}

/* A leaf for frame `pfn` (below FASTMM_PFN_LIMIT) with the bits of `prot`, which has no PFN. */
FASTMM_INLINE fastmm_pte_t fastmm_pte_make(uint64_t pfn, uint64_t prot)
{
    return ((pfn << FASTMM_PAGE_SHIFT) ^ fastmm_pte_invert(prot)) | prot;
}

/* The entry of the n-th frame after this one: an inverted field counts down. */
FASTMM_INLINE fastmm_pte_t fastmm_pte_advance(fastmm_pte_t pte, uint64_t n)
{
    uint64_t step = n << FASTMM_PAGE_SHIFT;
    return pte & FASTMM_PTE_PRESENT ? pte + step : pte - step;
}

/* --- Dirty and write, which depend on each other -------------------------------------------- */

/*
 * Dirty without RW means "shadow stack" to hardware that knows shadow stacks. An entry that loses
 * RW therefore keeps its dirtiness in the saved bit, and gets it back with RW. Kernels older than
 * 6.6 lack the saved bit; there the entry is just `pte & ~FASTMM_PTE_RW`.
 */
FASTMM_INLINE fastmm_pte_t fastmm_pte_save_dirty(fastmm_pte_t pte)
{
    uint64_t move = (~pte >> 1) & (pte >> 6) & 1; /* D and not RW */
    return (pte | move << 58) & ~(move << 6);
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_restore_dirty(fastmm_pte_t pte)
{
    uint64_t move = (pte >> 1) & (pte >> 58) & 1; /* saved and RW */
    return (pte | move << 6) & ~(move << 58);
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_wrprotect(fastmm_pte_t pte)
{
    return fastmm_pte_save_dirty(pte & ~FASTMM_PTE_RW);
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_mkwrite(fastmm_pte_t pte)
{
    return fastmm_pte_restore_dirty(pte | FASTMM_PTE_RW);
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_mkdirty(fastmm_pte_t pte)
{
    return fastmm_pte_save_dirty(pte | FASTMM_PTE_DIRTY);
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_mkclean(fastmm_pte_t pte)
{
    return pte & ~(FASTMM_PTE_DIRTY | FASTMM_PTE_SAVED_DIRTY);
}

/* --- Other bits ----------------------------------------------------------------------------- */

FASTMM_INLINE fastmm_pte_t fastmm_pte_mkyoung(fastmm_pte_t pte)
{
    return pte | FASTMM_PTE_ACCESSED;
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_mkold(fastmm_pte_t pte)
{
    return pte & ~FASTMM_PTE_ACCESSED;
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_mkspecial(fastmm_pte_t pte)
{
    return pte | FASTMM_PTE_SPECIAL;
}

/* Write-protects too: the bit with RW would trap nothing. (Linux 6.1 left that to the caller.) */
FASTMM_INLINE fastmm_pte_t fastmm_pte_mkuffd_wp(fastmm_pte_t pte)
{
    return fastmm_pte_wrprotect(pte | FASTMM_PTE_UFFD_WP);
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_clear_uffd_wp(fastmm_pte_t pte)
{
    return pte & ~FASTMM_PTE_UFFD_WP;
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_mksoft_dirty(fastmm_pte_t pte)
{
    return pte | FASTMM_PTE_SOFT_DIRTY;
}

FASTMM_INLINE fastmm_pte_t fastmm_pte_clear_soft_dirty(fastmm_pte_t pte)
{
    return pte & ~FASTMM_PTE_SOFT_DIRTY;
}

/*
 * The present entry with the protection bits of `prot` (mprotect). Going to and from PROT_NONE
 * inverts the frame field; losing and getting RW moves the dirty bit.
 */
FASTMM_INLINE fastmm_pte_t fastmm_pte_modify(fastmm_pte_t pte, uint64_t prot)
{
    uint64_t bits = (pte & FASTMM_PTE_MODIFY_KEEPS) | (prot & ~FASTMM_PTE_MODIFY_KEEPS);
    return fastmm_pte_restore_dirty(
        fastmm_pte_save_dirty(fastmm_pte_make(fastmm_pte_pfn(pte), bits)));
}

/* --- Exported twins ------------------------------------------------------------------------- */

/* Functions of one entry, by the type of their result. */
#define FASTMM_PTE_PREDICATES(X) \
    X(none)                      \
    X(present) X(protnone) X(is_swp) X(write) X(dirty) X(young) X(special) X(uffd_wp) X(soft_dirty)
#define FASTMM_PTE_CHANGES(X) \
    X(save_dirty)             \
    X(restore_dirty)          \
    X(wrprotect)              \
    X(mkwrite)                \
    X(mkdirty)                \
    X(mkclean)                \
    X(mkyoung)                \
    X(mkold) X(mkspecial) X(mkuffd_wp) X(clear_uffd_wp) X(mksoft_dirty) X(clear_soft_dirty)

#define FASTMM_PTE_DECLARE_PREDICATE(name) \
    FASTMM_API bool fastmm_pte_##name##_call(fastmm_pte_t pte);
#define FASTMM_PTE_DECLARE_CHANGE(name) \
    FASTMM_API fastmm_pte_t fastmm_pte_##name##_call(fastmm_pte_t pte);

FASTMM_BEGIN_DECLS

FASTMM_PTE_PREDICATES(FASTMM_PTE_DECLARE_PREDICATE)
FASTMM_PTE_CHANGES(FASTMM_PTE_DECLARE_CHANGE)
FASTMM_API uint64_t fastmm_pte_pfn_call(fastmm_pte_t pte);
FASTMM_API fastmm_pte_t fastmm_pte_make_call(uint64_t pfn, uint64_t prot);
FASTMM_API fastmm_pte_t fastmm_pte_advance_call(fastmm_pte_t pte, uint64_t n);
FASTMM_API fastmm_pte_t fastmm_pte_modify_call(fastmm_pte_t pte, uint64_t prot);
FASTMM_API unsigned fastmm_va_bits_call(unsigned levels);
FASTMM_API bool fastmm_va_canonical_call(uint64_t va, unsigned levels);
FASTMM_API uint64_t fastmm_va_user_end_call(unsigned levels);
FASTMM_API unsigned fastmm_va_index_call(uint64_t va, unsigned level);
FASTMM_API uint64_t fastmm_va_next_call(uint64_t va, uint64_t end, unsigned level);

FASTMM_END_DECLS

#endif
