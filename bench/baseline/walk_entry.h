/* SPDX-License-Identifier: MIT */
/*
 * What the rivals do to one entry. They differ in how they get there, in whether the lookup is a
 * call, and in whether counts and entries change by locked instructions; the compiler sees both
 * as constants.
 */
#ifndef FASTMM_BENCH_WALK_ENTRY_H
#define FASTMM_BENCH_WALK_ENTRY_H

#include "walk_rival.h"

#include "mm/swap.h"

#include <errno.h>

/* What of a page is changed by locked instructions. */
#define LOCK_REFS  1u
#define LOCK_MAPS  2u
#define LOCK_ENTRY 4u
#define LOCK_ALL   (LOCK_REFS | LOCK_MAPS | LOCK_ENTRY)

/* Where the normal-page lookup is: a call, inlined whole, or only its two-test fast path inlined.
 */
enum lookup { LOOKUP_CALL, LOOKUP_INLINE, LOOKUP_FAST };

typedef uint64_t (*lookup_call)(struct fastmm_frames *frames, const struct fastmm_vma *vma,
                                uint64_t addr, fastmm_pte_t pte);

struct style {
    unsigned locked; /* LOCK_* */
    enum lookup lookup;
    lookup_call call; /* the lookup out of line */
};

FASTMM_INLINE uint64_t page_of(struct rival *r, const struct fastmm_vma *vma, uint64_t addr,
                               fastmm_pte_t pte, struct style style)
{
    struct fastmm_frames *frames = &r->machine->frames;
    if (style.lookup == LOOKUP_INLINE)
        return fastmm_normal_page_inline(frames, vma, addr, pte);
    uint64_t pfn = fastmm_pte_pfn(pte);
    if (style.lookup == LOOKUP_FAST &&
        FASTMM_LIKELY(!fastmm_pte_special(pte) && pfn <= frames->highest))
        return pfn;
    return style.call(frames, vma, addr, pte);
}

FASTMM_INLINE uint32_t count_add(uint32_t *count, uint32_t by, bool locked)
{
    return locked ? __atomic_add_fetch(count, by, __ATOMIC_RELAXED) : (*count += by);
}

FASTMM_INLINE enum fastmm_rss rss_of_page(uint32_t flags)
{
    if (flags & PAGE_ANON)
        return FASTMM_RSS_ANON;
    return flags & PAGE_SHMEM ? FASTMM_RSS_SHMEM : FASTMM_RSS_FILE;
}

/* The saved dirty bit makes write protection a read-modify-write of two bits. */
FASTMM_INLINE fastmm_pte_t entry_wrprotect(fastmm_pte_t *entry, struct style style)
{
    fastmm_pte_t old = *entry;
    if (!(style.locked & LOCK_ENTRY))
        return *entry = fastmm_pte_wrprotect(old);
    while (!__atomic_compare_exchange_n(entry, &old, fastmm_pte_wrprotect(old), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return fastmm_pte_wrprotect(old);
}

FASTMM_INLINE fastmm_pte_t entry_take(fastmm_pte_t *entry, struct style style)
{
    if (style.locked & LOCK_ENTRY)
        return __atomic_exchange_n(entry, 0, __ATOMIC_RELAXED);
    fastmm_pte_t old = *entry;
    *entry = 0;
    return old;
}

/* --- Fork ------------------------------------------------------------------------------------ */

FASTMM_INLINE int copy_page(const struct rival_copy *c, uint64_t addr, fastmm_pte_t *source,
                            fastmm_pte_t *target, struct rss_change *rss, struct style style)
{
    uint64_t pfn = page_of(c->rival, c->from, addr, *source, style);
    if (pfn != FASTMM_PFN_NONE) {
        struct page *page = &c->rival->pages[pfn];
        const uint32_t own = PAGE_ANON | PAGE_PINNED | PAGE_EXCLUSIVE;
        if (FASTMM_UNLIKELY((page->flags & own) == own && c->parent->has_pinned))
            return rival_copy_pinned(c, *source, target, rss);
        if (FASTMM_UNLIKELY(page->refs >= PAGE_COUNT_MAX))
            return -EOVERFLOW;
        count_add(&page->refs, 1, style.locked & LOCK_REFS);
        count_add(&page->maps, 1, style.locked & LOCK_MAPS);
        page->flags &= ~PAGE_EXCLUSIVE;
        rss->by[rss_of_page(page->flags)]++;
    }
    fastmm_pte_t pte = *source;
    if (c->cow && fastmm_pte_write(pte))
        pte = entry_wrprotect(source, style);
    if (c->shared)
        pte = fastmm_pte_mkclean(pte);
    if (!c->keep_uffd_wp)
        pte = fastmm_pte_clear_uffd_wp(pte);
    *target = fastmm_pte_mkold(pte);
    return 0;
}

FASTMM_INLINE void copy_swp_entry(const struct rival_copy *c, fastmm_pte_t *source,
                                  fastmm_pte_t *target, struct rss_change *rss)
{
    uint64_t markers = fastmm_marker_flags(*source);
    if (markers) {
        *target = fastmm_marker_make(c->keep_uffd_wp ? markers : markers & ~FASTMM_MARKER_UFFD_WP);
        return;
    }
    *source &= ~FASTMM_SWP_EXCLUSIVE;
    *target = c->keep_uffd_wp ? *source : *source & ~FASTMM_SWP_UFFD_WP;
    fastmm_swap_get(c->rival->machine, *source);
    rss->by[FASTMM_RSS_SWAP]++;
}

FASTMM_INLINE int copy_one(const struct rival_copy *c, uint64_t addr, fastmm_pte_t *source,
                           fastmm_pte_t *target, struct rss_change *rss, struct style style)
{
    if (fastmm_pte_present(*source))
        return copy_page(c, addr, source, target, rss, style);
    if (!fastmm_pte_none(*source))
        copy_swp_entry(c, source, target, rss);
    return 0;
}

/* --- Zap, as exit does ------------------------------------------------------------------------ */

FASTMM_INLINE void zap_one(struct rival *r, const struct fastmm_vma *vma, uint64_t addr,
                           fastmm_pte_t *entry, struct rss_change *rss, struct style style)
{
    if (fastmm_pte_none(*entry))
        return;
    fastmm_pte_t pte = entry_take(entry, style);
    if (!fastmm_pte_present(pte)) {
        if (!fastmm_marker_flags(pte)) {
            rss->by[FASTMM_RSS_SWAP]--;
            fastmm_swap_put(r->machine, pte);
        }
        return;
    }
    uint64_t pfn = page_of(r, vma, addr, pte, style);
    if (pfn == FASTMM_PFN_NONE)
        return;
    struct page *page = &r->pages[pfn];
    if (!(page->flags & PAGE_ANON))
        page->flags |=
            (fastmm_pte_dirty(pte) ? PAGE_DIRTY : 0) | (fastmm_pte_young(pte) ? PAGE_YOUNG : 0);
    rss->by[rss_of_page(page->flags)]--;
    count_add(&page->maps, (uint32_t)-1, style.locked & LOCK_MAPS);
    if (count_add(&page->refs, (uint32_t)-1, style.locked & LOCK_REFS) == 0)
        rival_free_page(r, pfn);
}

/* --- Scan ------------------------------------------------------------------------------------ */

FASTMM_INLINE void scan_one(fastmm_pte_t pte, struct fastmm_scan *scan)
{
    if (fastmm_pte_present(pte)) {
        scan->present++;
        scan->writable += fastmm_pte_write(pte);
        scan->dirty += fastmm_pte_dirty(pte);
        scan->young += fastmm_pte_young(pte);
        scan->special += fastmm_pte_special(pte);
        scan->uffd_wp += fastmm_pte_uffd_wp(pte);
    } else if (fastmm_pte_none(pte)) {
        scan->none++;
    } else if (fastmm_marker_flags(pte)) {
        scan->markers++;
        scan->uffd_wp += (fastmm_marker_flags(pte) & FASTMM_MARKER_UFFD_WP) != 0;
    } else {
        scan->swap++;
        scan->uffd_wp += fastmm_swp_uffd_wp(pte);
    }
}

#endif
