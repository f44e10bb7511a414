/* SPDX-License-Identifier: MIT */
/*
 * Fork: the child gets the parent's mappings, and of the entries those that faults couldn't bring
 * back. Private pages become read-only in both, so that the first write copies.
 *
 * Which mappings have their entries copied (seen on Linux 6.18): raw ones, those in which the
 * child keeps write-protect tracking, and those that ever had an anonymous page or a guard. A
 * mapping that was only read has neither: its zero pages and file pages are left behind.
 *
 * What may follow the entry into the child is decided by the child's mapping, never the parent's:
 * tracking bits end with a registration that isn't inherited.
 */
#include "frame.h"
#include "span.h"
#include "swap.h"
#include "vma.h"

#include <fastmm/mm_inline.h>
#include <string.h>

/* The child's entry for a page that both map from now on; the parent's changes with it. */
static fastmm_pte_t share_entry(const struct copy *c, fastmm_pte_t *source)
{
    fastmm_pte_t pte = *source;
    if (c->cow && fastmm_pte_write(pte))
        *source = pte = fastmm_pte_wrprotect(pte);
    if (c->shared)
        pte = fastmm_pte_mkclean(pte);
    if (!c->keep_uffd_wp)
        pte = fastmm_pte_clear_uffd_wp(pte);
    return fastmm_pte_mkold(pte);
}

/*
 * A page that may be under DMA can't become read-only: the next write of its owner would move to a
 * copy that the device doesn't know. The child gets the copy at once, and the owner keeps all.
 */
static int copy_pinned(const struct copy *c, fastmm_pte_t source, fastmm_pte_t *target,
                       struct rss_change *rss)
{
    uint64_t pfn;
    int rc = frame_alloc_anon(c->child->machine, &pfn);
    if (rc)
        return rc;
    fastmm_pte_t pte =
        fastmm_fault_entry(c->to, pfn, FASTMM_SET_WRITE) | c->child->machine->soft_dirty;
    *target = c->keep_uffd_wp && fastmm_pte_uffd_wp(source) ? fastmm_pte_mkuffd_wp(pte) : pte;
    rss->by[FASTMM_RSS_ANON]++;
    return 0;
}

static int copy_present(const struct copy *c, uint64_t addr, fastmm_pte_t *source,
                        fastmm_pte_t *target, struct rss_change *rss)
{
    struct fastmm_frames *frames = c->frames;
    uint64_t pfn = fastmm_normal_page(frames, c->from, addr, *source);
    if (FASTMM_LIKELY(pfn != FASTMM_PFN_NONE)) {
        uint64_t word = frames->word[pfn];
        if (frame_is_anon(word)) {
            if (FASTMM_UNLIKELY(word & FRAME_PINNED) && frame_exclusive(frames, pfn) &&
                c->parent->has_pinned)
                return copy_pinned(c, *source, target, rss);
        }
        int rc = frame_map(frames, pfn);
        if (rc)
            return rc;
        frame_clear_exclusive(frames, pfn);
        rss->by[frame_rss(word)]++;
    }
    *target = share_entry(c, source);
    return 0;
}

static void copy_swp(const struct copy *c, fastmm_pte_t *source, fastmm_pte_t *target,
                     struct rss_change *rss)
{
    uint64_t markers = fastmm_marker_flags(*source);
    if (markers) {
        markers &= ~(FASTMM_MM_BUG(3) ? FASTMM_MARKER_POISON : UINT64_C(0));
        bool keep_uffd_wp = c->keep_uffd_wp || FASTMM_MM_BUG(2);
        *target =
            fastmm_marker_make(markers & ~(keep_uffd_wp ? UINT64_C(0) : FASTMM_MARKER_UFFD_WP));
        return;
    }
    *source &= ~FASTMM_SWP_EXCLUSIVE;
    *target = *source & ~(c->keep_uffd_wp ? UINT64_C(0) : FASTMM_SWP_UFFD_WP);
    fastmm_swap_get(c->child->machine, *source);
    rss->by[FASTMM_RSS_SWAP]++;
}

int fastmm_copy_plain(const struct copy *c, const struct table_span *span, fastmm_pte_t *target)
{
    struct rss_change rss = {{0}};
    unsigned i = 0;
    int rc = 0;
    for (; i < span->count && !rc; i++) {
        fastmm_pte_t *source = span->pte + i;
        target[i] = 0;
        if (fastmm_pte_present(*source))
            rc = copy_present(c, span->addr + i * UINT64_C(4096), source, target + i, &rss);
        else if (!fastmm_pte_none(*source))
            copy_swp(c, source, target + i, &rss);
    }
    memset(target + i, 0, (span->count - i) * sizeof(*target));
    rss_apply(&c->child->rss, &rss);
    return rc;
}

/* Where the span's entries go. No other mapping reaches into a table that this one fills. */
static fastmm_pte_t *make_target(const struct copy *c, const struct table_span *span)
{
    return span->count == FASTMM_PTES ? fastmm_table_make_unset(c->child, span->addr)
                                      : fastmm_table_make(c->child, span->addr);
}

static int copy_entries(const struct copy *c)
{
    const struct span_ops *ops = c->parent->machine->span_ops;
    struct table_walk walk = table_walk(c->parent, c->from->start, c->from->end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span)) {
        fastmm_pte_t *target = make_target(c, &span);
        int rc = target ? ops->copy(c, &span, target) : -ENOMEM;
        if (rc)
            return rc;
    }
    return 0;
}

static bool needs_entries(const struct fastmm_vma *from, const struct fastmm_vma *to)
{
    const uint32_t always =
        FASTMM_VM_UFFD_WP | FASTMM_VM_PFNMAP | FASTMM_VM_MIXEDMAP | FASTMM_VM_GUARD;
    return (to->flags & always) || (from->flags & FASTMM_VM_ANON_VMA);
}

static int copy_mapping(struct fastmm_mm *parent, struct fastmm_mm *child,
                        const struct fastmm_vma *from)
{
    struct fastmm_vma spec = *from;
    if (!(from->flags & FASTMM_VM_UFFD_FORK))
        spec.flags &= ~FASTMM_VM_UFFD;
    if (from->flags & FASTMM_VM_WIPEONFORK)
        spec.flags &= ~(FASTMM_VM_ANON_VMA | FASTMM_VM_GUARD | FASTMM_VM_FORKED);
    spec.anon_vma = 0;
    if (spec.flags & FASTMM_VM_ANON_VMA) {
        spec.anon_vma = fastmm_vma_new_anon(child->machine);
        spec.flags |= FASTMM_VM_FORKED;
    }
    fastmm_vma_update_prot(&spec);
    int rc = fastmm_vma_insert(child, &spec);
    if (rc || (from->flags & FASTMM_VM_WIPEONFORK) || !needs_entries(from, &spec))
        return rc;
    const struct copy c = {
        .parent = parent,
        .child = child,
        .frames = &parent->machine->frames,
        .from = from,
        .to = child->vmas[child->vma_count - 1],
        .cow = vma_is_cow(from),
        .shared = from->flags & FASTMM_VM_SHARED,
        .keep_uffd_wp = (FASTMM_MM_BUG(1) ? from->flags : spec.flags) & FASTMM_VM_UFFD_WP,
    };
    return copy_entries(&c);
}

int fastmm_mm_fork(struct fastmm_mm *parent, struct fastmm_mm **child)
{
    struct fastmm_mm *made;
    int rc = fastmm_mm_create(parent->machine, &made);
    if (rc)
        return rc;
    for (size_t i = 0; i < parent->vma_count && !rc; i++)
        if (!(parent->vmas[i]->flags & FASTMM_VM_DONTCOPY))
            rc = copy_mapping(parent, made, parent->vmas[i]);
    if (rc) {
        fastmm_mm_destroy(made, NULL);
        return rc;
    }
    *child = made;
    return 0;
}
