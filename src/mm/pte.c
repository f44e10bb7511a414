/* SPDX-License-Identifier: MIT */
/*
 * The exported twins of pte.h and swp.h, for callers that can't inline C, and the one codec that
 * can fail.
 */
#include <fastmm/swp.h>

#include <errno.h>

#define DEFINE_PREDICATE(name)                      \
    bool fastmm_pte_##name##_call(fastmm_pte_t pte) \
    {                                               \
        return fastmm_pte_##name(pte);              \
    }
#define DEFINE_CHANGE(name)                                 \
    fastmm_pte_t fastmm_pte_##name##_call(fastmm_pte_t pte) \
    {                                                       \
        return fastmm_pte_##name(pte);                      \
    }

FASTMM_PTE_PREDICATES(DEFINE_PREDICATE)
FASTMM_PTE_CHANGES(DEFINE_CHANGE)

uint64_t fastmm_pte_pfn_call(fastmm_pte_t pte)
{
    return fastmm_pte_pfn(pte);
}

fastmm_pte_t fastmm_pte_make_call(uint64_t pfn, uint64_t prot)
{
    return fastmm_pte_make(pfn, prot);
}

fastmm_pte_t fastmm_pte_advance_call(fastmm_pte_t pte, uint64_t n)
{
    return fastmm_pte_advance(pte, n);
}

fastmm_pte_t fastmm_pte_modify_call(fastmm_pte_t pte, uint64_t prot)
{
    return fastmm_pte_modify(pte, prot);
}

unsigned fastmm_va_bits_call(unsigned levels)
{
    return fastmm_va_bits(levels);
}

bool fastmm_va_canonical_call(uint64_t va, unsigned levels)
{
    return fastmm_va_canonical(va, levels);
}

uint64_t fastmm_va_user_end_call(unsigned levels)
{
    return fastmm_va_user_end(levels);
}

unsigned fastmm_va_index_call(uint64_t va, unsigned level)
{
    return fastmm_va_index(va, level);
}

uint64_t fastmm_va_next_call(uint64_t va, uint64_t end, unsigned level)
{
    return fastmm_va_next(va, end, level);
}

unsigned fastmm_swp_type_call(fastmm_pte_t pte)
{
    return fastmm_swp_type(pte);
}

uint64_t fastmm_swp_offset_call(fastmm_pte_t pte)
{
    return fastmm_swp_offset(pte);
}

int fastmm_swp_encode(unsigned type, uint64_t offset, uint64_t flags, fastmm_pte_t *pte)
{
    if (type > FASTMM_SWP_TYPE_MAX || offset > FASTMM_SWP_OFFSET_MAX || (flags & ~FASTMM_SWP_FLAGS))
        return -EINVAL;
    if (type == 0 && offset == FASTMM_SWP_OFFSET_MAX)
        return -ERANGE;
    *pte = (uint64_t)type << FASTMM_SWP_TYPE_SHIFT |
           (~offset & FASTMM_SWP_OFFSET_MAX) << FASTMM_SWP_OFFSET_SHIFT | flags;
    return 0;
}

bool fastmm_swp_exclusive_call(fastmm_pte_t pte)
{
    return fastmm_swp_exclusive(pte);
}

bool fastmm_swp_uffd_wp_call(fastmm_pte_t pte)
{
    return fastmm_swp_uffd_wp(pte);
}

bool fastmm_swp_soft_dirty_call(fastmm_pte_t pte)
{
    return fastmm_swp_soft_dirty(pte);
}

enum fastmm_swp_kind fastmm_swp_kind_call(const struct fastmm_swp_types *types, fastmm_pte_t pte)
{
    return fastmm_swp_kind(types, pte);
}

uint64_t fastmm_swp_pfn_call(fastmm_pte_t pte)
{
    return fastmm_swp_pfn(pte);
}

fastmm_pte_t fastmm_marker_make_call(uint64_t markers)
{
    return fastmm_marker_make(markers);
}

uint64_t fastmm_marker_flags_call(fastmm_pte_t pte)
{
    return fastmm_marker_flags(pte);
}

bool fastmm_pte_any_uffd_wp_call(fastmm_pte_t pte)
{
    return fastmm_pte_any_uffd_wp(pte);
}
