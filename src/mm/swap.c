/* SPDX-License-Identifier: MIT */
/* Slots, their users, the swap cache, and MADV_PAGEOUT. */
#include "swap.h"

#include "frame.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

#define MAX_SLOTS (UINT64_C(1) << 32)

static uint64_t frame_count(const struct fastmm_machine *machine)
{
    return machine->frames.highest + 1;
}

/* --- Areas ----------------------------------------------------------------------------------- */

static void free_area(struct fastmm_machine *machine, struct swap_area *area, uint64_t slots)
{
    fastmm_arena_free(&machine->arena, area->users, slots * sizeof(*area->users));
    fastmm_arena_free(&machine->arena, area->cache, slots * sizeof(*area->cache));
    *area = (struct swap_area){0};
}

void fastmm_swap_free_areas(struct fastmm_machine *machine)
{
    for (unsigned i = 0; i < SWAP_AREAS; i++)
        free_area(machine, &machine->swap[i], machine->swap[i].slots);
    fastmm_arena_free(&machine->arena, machine->swap_of,
                      frame_count(machine) * sizeof(*machine->swap_of));
}

int fastmm_machine_swap_on(struct fastmm_machine *machine, unsigned type, uint64_t slots)
{
    struct arena *arena = &machine->arena;
    if (type >= SWAP_AREAS || slots == 0 || slots > MAX_SLOTS)
        return -EINVAL;
    struct swap_area *area = &machine->swap[type];
    if (area->slots)
        return -EBUSY;
    const uint64_t bytes = frame_count(machine) * sizeof(*machine->swap_of);
    fastmm_pte_t *swap_of = machine->swap_of ? machine->swap_of : fastmm_arena_zalloc(arena, bytes);
    area->users = fastmm_arena_zalloc(arena, slots * sizeof(*area->users));
    area->cache = fastmm_arena_zalloc(arena, slots * sizeof(*area->cache));
    if (!swap_of || !area->users || !area->cache) {
        free_area(machine, area, slots);
        if (!machine->swap_of)
            fastmm_arena_free(arena, swap_of, bytes);
        return -ENOMEM;
    }
    machine->swap_of = swap_of;
    area->slots = slots;
    return 0;
}

/* --- Slots ----------------------------------------------------------------------------------- */

void fastmm_swap_cache(struct fastmm_machine *machine, fastmm_pte_t entry, uint64_t pfn)
{
    swap_area(machine, entry)->cache[fastmm_swp_offset(entry)] = pfn;
    *swap_slot(machine, entry) |= SWAP_CACHED;
    machine->swap_of[pfn] = entry & ~FASTMM_SWP_FLAGS;
    machine->frames.word[pfn] = (machine->frames.word[pfn] + FRAME_REF) | FRAME_SWAPCACHE;
}

void fastmm_swap_uncache(struct fastmm_machine *machine, fastmm_pte_t entry)
{
    uint64_t pfn = swap_area(machine, entry)->cache[fastmm_swp_offset(entry)];
    *swap_slot(machine, entry) &= ~SWAP_CACHED;
    /* Swap doesn't have its contents any more, which is what a dirty page is. */
    machine->frames.word[pfn] = (machine->frames.word[pfn] & ~FRAME_SWAPCACHE) | FRAME_DIRTY;
    frame_put(machine, pfn);
}

fastmm_pte_t fastmm_swap_find_free(struct fastmm_machine *machine)
{
    fastmm_pte_t entry;
    for (unsigned type = 0; type < SWAP_AREAS; type++) {
        struct swap_area *area = &machine->swap[type];
        for (uint64_t i = 0; i < area->slots; i++) {
            uint64_t slot = (area->next + i) % area->slots;
            if (area->users[slot] || fastmm_swp_encode(type, slot, 0, &entry))
                continue;
            area->next = slot + 1;
            return entry;
        }
    }
    return 0;
}

/* --- Out ------------------------------------------------------------------------------------- */

/* One entry maps the page, and nobody holds on to it if it is anonymous. Files aren't simulated. */
static bool may_go(const struct fastmm_frames *frames, uint64_t pfn)
{
    uint64_t word = frames->word[pfn];
    if (frame_is_anon(word))
        return frame_maps(word) == 1 && !(word & FRAME_PINNED);
    return frame_kind(word) == FASTMM_FRAME_SHMEM && frame_maps(word) == 1;
}

/* A page whose contents nobody needs goes for good, unless it was written since. */
static fastmm_pte_t drop_lazy(struct fastmm_mm *mm, fastmm_pte_t pte, uint64_t pfn)
{
    uint64_t *word = &mm->machine->frames.word[pfn];
    if (fastmm_pte_dirty(pte) || (*word & FRAME_DIRTY)) {
        *word = (*word & ~FRAME_LAZY) | FRAME_DIRTY;
        return pte;
    }
    rss_add(&mm->rss, FASTMM_RSS_ANON, -1);
    frame_unmap(mm->machine, pfn);
    return 0;
}

static fastmm_pte_t swap_out(struct fastmm_mm *mm, fastmm_pte_t pte, uint64_t pfn)
{
    struct fastmm_machine *machine = mm->machine;
    bool cached = machine->frames.word[pfn] & FRAME_SWAPCACHE;
    bool exclusive = frame_exclusive(&machine->frames, pfn);
    fastmm_pte_t entry = cached ? machine->swap_of[pfn] : fastmm_swap_find_free(machine);
    if (!entry)
        return pte;
    fastmm_swap_get(machine, entry);
    if (cached)
        fastmm_swap_uncache(machine, entry);
    if (exclusive)
        *swap_slot(machine, entry) |= SWAP_EXCLUSIVE;
    frame_unmap(machine, pfn);
    rss_add(&mm->rss, FASTMM_RSS_ANON, -1);
    rss_add(&mm->rss, FASTMM_RSS_SWAP, 1);
    return entry | (exclusive ? FASTMM_SWP_EXCLUSIVE : 0) |
           (fastmm_pte_uffd_wp(pte) ? FASTMM_SWP_UFFD_WP : 0) |
           (fastmm_pte_soft_dirty(pte) ? FASTMM_SWP_SOFT_DIRTY : 0);
}

/*
 * A page of shmem goes where its object finds it again; the entry is empty, or says it was tracked.
 * That somebody has pinned the page is seen only then, and it stays in the cache.
 */
static fastmm_pte_t page_out_shmem(struct fastmm_mm *mm, const struct fastmm_vma *vma,
                                   uint64_t addr, fastmm_pte_t pte, uint64_t pfn)
{
    bool tracked = (vma->flags & FASTMM_VM_UFFD_WP) && fastmm_pte_uffd_wp(pte);
    mm->machine->frames.word[pfn] |= fastmm_pte_dirty(pte) ? FRAME_DIRTY : 0;
    frame_unmap(mm->machine, pfn);
    rss_add(&mm->rss, FASTMM_RSS_SHMEM, -1);
    if (!(mm->machine->frames.word[pfn] & FRAME_PINNED))
        fastmm_object_page_out(vma->object, vma_page(vma, addr));
    return tracked ? fastmm_marker_make(FASTMM_MARKER_UFFD_WP) : 0;
}

static fastmm_pte_t page_out(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t addr,
                             fastmm_pte_t pte)
{
    struct fastmm_frames *frames = &mm->machine->frames;
    if (!fastmm_pte_present(pte))
        return pte;
    uint64_t pfn = fastmm_normal_page(frames, vma, addr, pte);
    if (pfn == FASTMM_PFN_NONE || !may_go(frames, pfn))
        return pte;
    if (!frame_is_anon(frames->word[pfn]))
        return page_out_shmem(mm, vma, addr, pte, pfn);
    pte = fastmm_pte_mkold(pte);
    return frames->word[pfn] & FRAME_LAZY ? drop_lazy(mm, pte, pfn) : swap_out(mm, pte, pfn);
}

int fastmm_mm_pageout(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = fastmm_vma_check_mapped(mm, start, end);
    if (!rc && (fastmm_vma_flags(mm, start, end) & FASTMM_VM_PFNMAP))
        rc = -EINVAL;
    if (!rc)
        fastmm_vma_change_entries(mm, start, end, page_out);
    return rc;
}
