/* SPDX-License-Identifier: MIT */
/*
 * Three primitives as one would write them first, for `fastmm mm try`: a lookup that asks the
 * mapping before the entry, a setter that takes one entry after the other, and a fork body without
 * any haste.
 */
#include "fastmm_try.h"

/* Mistakes for the tests, one at a time, each of which a try must notice. */
#ifndef BROKEN
#    define BROKEN 0
#endif

/* Raw mappings have no pages; elsewhere it is the entry that says. */
static uint64_t my_normal_page(struct fastmm_frames *frames, const struct fastmm_vma *vma,
                               uint64_t addr, fastmm_pte_t pte)
{
    uint64_t pfn = fastmm_pte_pfn(pte);
    bool raw = vma->flags & (FASTMM_VM_PFNMAP | FASTMM_VM_MIXEDMAP);
    if (fastmm_pte_special(pte))
        return raw || pfn == FASTMM_PFN_ZERO ? FASTMM_PFN_NONE
                                             : fastmm_bad_page(frames, vma, addr, pte);
    return pfn < frames->highest + (BROKEN != 1) ? pfn : fastmm_bad_page(frames, vma, addr, pte);
}

static void my_set_range(const struct fastmm_vma *vma, fastmm_pte_t *ptes, uint64_t pfn, size_t n,
                         unsigned flags, fastmm_pte_t orig)
{
    bool tracked = BROKEN != 2 && fastmm_orig_uffd_wp_gate_first(vma, flags, orig);
    for (size_t i = 0; i < n; i++) {
        fastmm_pte_t pte = fastmm_fault_entry(vma, pfn + i, flags);
        ptes[i] = tracked ? fastmm_pte_mkuffd_wp(pte) : pte;
    }
}

/* --- Fork ------------------------------------------------------------------------------------ */

static bool inherits_tracking(const struct fastmm_try_fork *f)
{
    return (BROKEN == 3 ? f->from : f->to)->flags & FASTMM_VM_UFFD_WP;
}

static bool copies_on_write(const struct fastmm_vma *vma)
{
    return (vma->flags & (FASTMM_VM_SHARED | FASTMM_VM_MAYWRITE)) == FASTMM_VM_MAYWRITE;
}

static fastmm_pte_t child_entry(const struct fastmm_try_fork *f, fastmm_pte_t *source)
{
    fastmm_pte_t pte = *source;
    if (copies_on_write(f->from) && fastmm_pte_write(pte) && BROKEN != 5)
        *source = pte = fastmm_pte_wrprotect(pte);
    if ((f->from->flags & FASTMM_VM_SHARED) && BROKEN != 4)
        pte = fastmm_pte_mkclean(pte);
    if (!inherits_tracking(f))
        pte = fastmm_pte_clear_uffd_wp(pte);
    return fastmm_pte_mkold(pte);
}

static int copy_page(const struct fastmm_try_fork *f, fastmm_pte_t source, fastmm_pte_t *target)
{
    uint64_t pfn;
    int rc = f->host->new_page(f->context, &pfn);
    if (rc)
        return rc;
    *target = fastmm_fault_entry(f->to, pfn, FASTMM_SET_WRITE);
    if (inherits_tracking(f) && fastmm_pte_uffd_wp(source))
        *target = fastmm_pte_mkuffd_wp(*target);
    f->rss[FASTMM_RSS_ANON]++;
    return 0;
}

static int fork_page(const struct fastmm_try_fork *f, unsigned i)
{
    static const enum fastmm_rss counters[] = {[FASTMM_FRAME_ANON] = FASTMM_RSS_ANON,
                                               [FASTMM_FRAME_FILE] = FASTMM_RSS_FILE,
                                               [FASTMM_FRAME_SHMEM] = FASTMM_RSS_SHMEM};
    uint64_t addr = f->addr + i * (uint64_t)FASTMM_PAGE_SIZE;
    uint64_t pfn = my_normal_page(f->frames, f->from, addr, f->source[i]);
    if (pfn != FASTMM_PFN_NONE) {
        if (f->host->must_copy(f->context, pfn))
            return copy_page(f, f->source[i], &f->target[i]);
        int rc = f->host->share(f->context, pfn);
        if (rc)
            return rc;
        f->rss[counters[f->host->kind(f->context, pfn)]]++;
    }
    f->target[i] = child_entry(f, &f->source[i]);
    return 0;
}

static void fork_swp(const struct fastmm_try_fork *f, unsigned i)
{
    uint64_t markers = fastmm_marker_flags(f->source[i]);
    if (markers) {
        f->target[i] = fastmm_marker_make(
            inherits_tracking(f) ? markers
                                 : markers & (BROKEN == 6 ? 0 : ~(uint64_t)FASTMM_MARKER_UFFD_WP));
        return;
    }
    f->source[i] &= ~(fastmm_pte_t)FASTMM_SWP_EXCLUSIVE;
    f->target[i] = f->source[i];
    if (!inherits_tracking(f))
        f->target[i] &= ~(fastmm_pte_t)FASTMM_SWP_UFFD_WP;
    f->host->share_swap(f->context, f->source[i]);
    f->rss[FASTMM_RSS_SWAP]++;
}

static int my_fork_range(const struct fastmm_try_fork *f)
{
    int rc = 0;
    for (unsigned i = 0; i < f->count && !rc; i++) {
        if (fastmm_pte_present(f->source[i]))
            rc = fork_page(f, i);
        else if (fastmm_pte_is_swp(f->source[i]))
            fork_swp(f, i);
    }
    return rc;
}

__attribute__((visibility("default"))) extern const struct fastmm_try fastmm_try;

const struct fastmm_try fastmm_try = {
    .version = FASTMM_TRY_VERSION,
    .name = "one after the other",
    .normal_page = my_normal_page,
    .set_range = my_set_range,
    .fork_range = my_fork_range,
};
