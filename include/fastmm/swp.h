/* SPDX-License-Identifier: MIT */
/*
 * The swap format: what a leaf holds when there is no page behind it.
 *
 * Bits 59..63 are a type, bits 9..58 the bitwise complement of an offset, bits
 * 1..3 flags. Bits 0, 7 and 8 are 0, so that the entry is neither present nor
 * PROT_NONE nor mistaken for a huge page. The offset is stored inverted for the
 * same reason as a PROT_NONE frame number; bits 5 and 6 carry nothing, because
 * hardware may set Accessed and Dirty in any entry.
 *
 * Most types name a swap file. The highest ones mean something else: the offset
 * is then a frame number (migration, hardware poison, device memory) or a set
 * of flags (markers). Which number means what depends on how a kernel was
 * configured, hence struct fastmm_swp_types; only the marker is always last.
 *
 * Pure functions with exported twins, as everything in pte.h.
 */
#ifndef FASTMM_SWP_H
#define FASTMM_SWP_H

#include <fastmm/pte.h>

#define FASTMM_SWP_SOFT_DIRTY (UINT64_C(1) << 1)
#define FASTMM_SWP_UFFD_WP    (UINT64_C(1) << 2)
#define FASTMM_SWP_EXCLUSIVE  (UINT64_C(1) << 3)
#define FASTMM_SWP_FLAGS      (FASTMM_SWP_SOFT_DIRTY | FASTMM_SWP_UFFD_WP | FASTMM_SWP_EXCLUSIVE)

#define FASTMM_SWP_OFFSET_SHIFT 9
#define FASTMM_SWP_OFFSET_BITS  50
#define FASTMM_SWP_OFFSET_MAX   ((UINT64_C(1) << FASTMM_SWP_OFFSET_BITS) - 1)
#define FASTMM_SWP_TYPE_SHIFT   59
#define FASTMM_SWP_TYPE_MAX     31u
#define FASTMM_SWP_TYPE_MARKER  31u

/* Offset flags of a migration entry, above the frame number. */
#define FASTMM_SWP_MIGRATION_YOUNG FASTMM_PFN_LIMIT
#define FASTMM_SWP_MIGRATION_DIRTY (FASTMM_PFN_LIMIT << 1)

/*
 * Offset flags of a marker. The uffd-wp marker is not the same as FASTMM_SWP_UFFD_WP, which it
 * does not set. Guard markers exist from Linux 6.13.
 */
#define FASTMM_MARKER_UFFD_WP UINT64_C(1)
#define FASTMM_MARKER_POISON  UINT64_C(2)
#define FASTMM_MARKER_GUARD   UINT64_C(4)
#define FASTMM_MARKER_ALL     UINT64_C(7)

/* What a type of the swap format means. */
enum fastmm_swp_kind {
    FASTMM_SWP_SWAP,                     /* offset: slot of swap file `type` */
    FASTMM_SWP_HWPOISON,                 /* offset: frame */
    FASTMM_SWP_MIGRATION_READ,           /* offset: frame, young, dirty */
    FASTMM_SWP_MIGRATION_READ_EXCLUSIVE, /* likewise */
    FASTMM_SWP_MIGRATION_WRITE,          /* likewise */
    FASTMM_SWP_DEVICE,                   /* offset: frame of device memory */
    FASTMM_SWP_MARKER                    /* offset: FASTMM_MARKER_* */
};

/* First type number of each special kind; those below `hwpoison` are swap files. */
struct fastmm_swp_types {
    uint8_t hwpoison;  /* 1 type */
    uint8_t migration; /* 3 types: read, read-exclusive, write */
    uint8_t device;    /* the rest up to the marker */
};

/* Numbers of a kernel with every option on, counted down from the marker. */
#define FASTMM_SWP_TYPES_ALL \
    {                        \
        23, 24, 27           \
    }

FASTMM_INLINE unsigned fastmm_swp_type(fastmm_pte_t pte)
{
    return (unsigned)(pte >> FASTMM_SWP_TYPE_SHIFT);
}

FASTMM_INLINE uint64_t fastmm_swp_offset(fastmm_pte_t pte)
{
    return (~pte >> FASTMM_SWP_OFFSET_SHIFT) & FASTMM_SWP_OFFSET_MAX;
}

FASTMM_INLINE bool fastmm_swp_exclusive(fastmm_pte_t pte)
{
    return (pte & FASTMM_SWP_EXCLUSIVE) != 0;
}

FASTMM_INLINE bool fastmm_swp_uffd_wp(fastmm_pte_t pte)
{
    return (pte & FASTMM_SWP_UFFD_WP) != 0;
}

FASTMM_INLINE bool fastmm_swp_soft_dirty(fastmm_pte_t pte)
{
    return (pte & FASTMM_SWP_SOFT_DIRTY) != 0;
}

/* Meaning of an entry in the swap format under a kernel's numbering. */
FASTMM_INLINE enum fastmm_swp_kind fastmm_swp_kind(const struct fastmm_swp_types *types,
                                                   fastmm_pte_t pte)
{
    unsigned type = fastmm_swp_type(pte);
    if (FASTMM_LIKELY(type < types->hwpoison))
        return FASTMM_SWP_SWAP;
    if (type == FASTMM_SWP_TYPE_MARKER)
        return FASTMM_SWP_MARKER;
    if (type == types->hwpoison)
        return FASTMM_SWP_HWPOISON;
    if (type >= types->device)
        return FASTMM_SWP_DEVICE;
    return (enum fastmm_swp_kind)(FASTMM_SWP_MIGRATION_READ + (type - types->migration));
}

FASTMM_INLINE bool fastmm_swp_is_migration(enum fastmm_swp_kind kind)
{
    return kind >= FASTMM_SWP_MIGRATION_READ && kind <= FASTMM_SWP_MIGRATION_WRITE;
}

/* Frame of a migration or hardware-poison entry. */
FASTMM_INLINE uint64_t fastmm_swp_pfn(fastmm_pte_t pte)
{
    return fastmm_swp_offset(pte) & (FASTMM_PFN_LIMIT - 1);
}

/* The marker with those flags (FASTMM_MARKER_*, at least one); no flags give the empty entry. */
FASTMM_INLINE fastmm_pte_t fastmm_marker_make(uint64_t markers)
{
    uint64_t offset = ~markers & FASTMM_SWP_OFFSET_MAX;
    uint64_t pte = (uint64_t)FASTMM_SWP_TYPE_MARKER << FASTMM_SWP_TYPE_SHIFT |
                   offset << FASTMM_SWP_OFFSET_SHIFT;
    return markers ? pte : 0;
}

/* FASTMM_MARKER_* of a marker, 0 for every other entry. */
FASTMM_INLINE uint64_t fastmm_marker_flags(fastmm_pte_t pte)
{
    if (!fastmm_pte_is_swp(pte) || fastmm_swp_type(pte) != FASTMM_SWP_TYPE_MARKER)
        return 0;
    return fastmm_swp_offset(pte) & FASTMM_MARKER_ALL;
}

/* uffd-wp in any form: on a page, in a swap entry, or as a marker. */
FASTMM_INLINE bool fastmm_pte_any_uffd_wp(fastmm_pte_t pte)
{
    if (fastmm_pte_present(pte))
        return fastmm_pte_uffd_wp(pte);
    return fastmm_pte_is_swp(pte) &&
           (fastmm_swp_uffd_wp(pte) || (fastmm_marker_flags(pte) & FASTMM_MARKER_UFFD_WP));
}

FASTMM_BEGIN_DECLS

/*
 * Makes the entry of (type, offset) with any of FASTMM_SWP_FLAGS. -EINVAL for a type, an offset
 * or a flag that doesn't fit; -ERANGE for type 0 with the highest offset, whose entry would be
 * all zeros, that is "none": a page would be lost. That one is refused whatever the flags, since
 * flags come and go.
 */
FASTMM_API int fastmm_swp_encode(unsigned type, uint64_t offset, uint64_t flags, fastmm_pte_t *pte);

/* Exported twins. */

FASTMM_API unsigned fastmm_swp_type_call(fastmm_pte_t pte);
FASTMM_API uint64_t fastmm_swp_offset_call(fastmm_pte_t pte);
FASTMM_API bool fastmm_swp_exclusive_call(fastmm_pte_t pte);
FASTMM_API bool fastmm_swp_uffd_wp_call(fastmm_pte_t pte);
FASTMM_API bool fastmm_swp_soft_dirty_call(fastmm_pte_t pte);
FASTMM_API enum fastmm_swp_kind fastmm_swp_kind_call(const struct fastmm_swp_types *types,
                                                     fastmm_pte_t pte);
FASTMM_API uint64_t fastmm_swp_pfn_call(fastmm_pte_t pte);
FASTMM_API fastmm_pte_t fastmm_marker_make_call(uint64_t markers);
FASTMM_API uint64_t fastmm_marker_flags_call(fastmm_pte_t pte);
FASTMM_API bool fastmm_pte_any_uffd_wp_call(fastmm_pte_t pte);

FASTMM_END_DECLS

#endif
