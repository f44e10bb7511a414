/* SPDX-License-Identifier: MIT */
/*
 * Swap slots and the swap cache: which pages in memory have the contents of a slot.
 *
 * A page that goes out leaves the cache at once, as it does with devices that write synchronously.
 * One that comes in enters it only if other entries still want the slot, so that all of them find
 * the same page; with its last user a slot, and its page in the cache, is free. So a page in the
 * cache always has users of its slot besides, and can't be exclusive.
 */
#ifndef FASTMM_SRC_MM_SWAP_H
#define FASTMM_SRC_MM_SWAP_H

#include "machine.h"

static inline struct swap_area *swap_area(struct fastmm_machine *machine, fastmm_pte_t entry)
{
    return &machine->swap[fastmm_swp_type(entry)];
}

/* The users of the slot, and flags. */
static inline uint32_t *swap_slot(struct fastmm_machine *machine, fastmm_pte_t entry)
{
    return &swap_area(machine, entry)->users[fastmm_swp_offset(entry)];
}

/* Takes the page out of the cache. */
void fastmm_swap_uncache(struct fastmm_machine *machine, fastmm_pte_t entry);

/* One more user of a slot, which ends its being exclusive; one user less. The slot exists. */
static inline void fastmm_swap_get(struct fastmm_machine *machine, fastmm_pte_t entry)
{
    uint32_t *slot = swap_slot(machine, entry);
    *slot = (*slot & ~SWAP_EXCLUSIVE) + 1;
    machine->swap_used++;
}

static inline void fastmm_swap_put(struct fastmm_machine *machine, fastmm_pte_t entry)
{
    uint32_t *slot = swap_slot(machine, entry);
    *slot = (*slot & ~SWAP_EXCLUSIVE) - 1;
    machine->swap_used--;
    if (FASTMM_UNLIKELY(*slot == SWAP_CACHED))
        fastmm_swap_uncache(machine, entry);
}

/* The entry of a slot that nobody uses, in the first area that has one; 0 if all are full. */
fastmm_pte_t fastmm_swap_find_free(struct fastmm_machine *machine);

/* Puts page `pfn`, which has the slot's contents, into the cache. */
void fastmm_swap_cache(struct fastmm_machine *machine, fastmm_pte_t entry, uint64_t pfn);

void fastmm_swap_free_areas(struct fastmm_machine *machine);

#endif
