/* SPDX-License-Identifier: MIT */
/*
 * mprotect, and userfaultfd's write protection, which are one walk with different rules for each
 * entry.
 *
 * Giving write permission back without a fault is only right where a fault would do nothing but
 * that: for private pages of one owner, and for shared file pages that are dirty already. In
 * shared mappings registered with userfaultfd the kernel never does it (seen on Linux 6.18).
 */
#include "frame.h"
#include "table.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

enum change { CHANGE_PROT, CHANGE_PROTECT, CHANGE_RESOLVE };

struct protect {
    struct fastmm_mm *mm;
    const struct fastmm_vma *vma;
    enum change change;
    bool upgrade;    /* write permission may come back */
    bool mark_empty; /* protecting leaves markers in empty entries */
};

/* Would a write fault do nothing but set RW? */
static bool may_upgrade(const struct protect *p, uint64_t addr, fastmm_pte_t pte)
{
    if (vma_awaits_write(p->vma, pte) && !FASTMM_MM_BUG(9))
        return false;
    if (fastmm_pte_write(pte) || (fastmm_pte_uffd_wp(pte) && (p->vma->flags & FASTMM_VM_UFFD_WP)))
        return false;
    if (p->vma->flags & FASTMM_VM_SHARED)
        return fastmm_pte_dirty(pte);
    struct fastmm_frames *frames = &p->mm->machine->frames;
    uint64_t pfn = fastmm_normal_page(frames, p->vma, addr, pte);
    return pfn != FASTMM_PFN_NONE && frame_is_anon(frames->word[pfn]) &&
           frame_exclusive(frames, pfn);
}

static fastmm_pte_t change_present(const struct protect *p, uint64_t addr, fastmm_pte_t pte)
{
    pte = fastmm_pte_modify(pte, p->vma->page_prot);
    if (p->change == CHANGE_PROTECT)
        pte = fastmm_pte_mkuffd_wp(pte);
    else if (p->change == CHANGE_RESOLVE)
        pte = fastmm_pte_clear_uffd_wp(pte);
    return p->upgrade && may_upgrade(p, addr, pte) ? fastmm_pte_mkwrite(pte) : pte;
}

/* Poison and guards outrank tracking: nothing here touches them. */
static fastmm_pte_t change_marker(const struct protect *p, fastmm_pte_t pte)
{
    bool only_uffd = fastmm_marker_flags(pte) == FASTMM_MARKER_UFFD_WP;
    return p->change == CHANGE_RESOLVE && only_uffd ? 0 : pte;
}

static fastmm_pte_t change_swap(const struct protect *p, fastmm_pte_t pte)
{
    if (p->change == CHANGE_PROTECT)
        return pte | FASTMM_SWP_UFFD_WP;
    return p->change == CHANGE_RESOLVE ? pte & ~FASTMM_SWP_UFFD_WP : pte;
}

static fastmm_pte_t change_entry(const struct protect *p, uint64_t addr, fastmm_pte_t pte)
{
    if (fastmm_pte_none(pte))
        return p->mark_empty ? fastmm_marker_make(FASTMM_MARKER_UFFD_WP) : pte;
    if (fastmm_pte_present(pte))
        return change_present(p, addr, pte);
    return fastmm_marker_flags(pte) ? change_marker(p, pte) : change_swap(p, pte);
}

static void change_range(const struct protect *p, uint64_t start, uint64_t end)
{
    struct table_walk walk = table_walk(p->mm, start, end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span))
        for (unsigned i = 0; i < span.count; i++)
            span.pte[i] = change_entry(p, span.addr + i * UINT64_C(4096), span.pte[i]);
}

static bool upgrades(const struct fastmm_vma *vma)
{
    if (!(vma->flags & FASTMM_VM_WRITE))
        return false;
    return !(vma->flags & FASTMM_VM_SHARED) ||
           (vma->object && vma->object->kind == FASTMM_OBJECT_FILE);
}

static void change_vma(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t start,
                       uint64_t end, enum change change)
{
    const struct protect p = {
        .mm = mm,
        .vma = vma,
        .change = change,
        .upgrade = change != CHANGE_PROTECT && upgrades(vma),
        .mark_empty = change == CHANGE_PROTECT && vma_marks_empty(vma),
    };
    change_range(&p, vma_clip_start(vma, start), vma_clip_end(vma, end));
}

/* --- mprotect -------------------------------------------------------------------------------- */

int fastmm_mm_protect(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint32_t prot)
{
    size_t first, count;
    int rc = prot & ~FASTMM_VM_PROT ? -EINVAL : fastmm_vma_check_mapped(mm, start, end);
    if (!rc)
        rc = fastmm_vma_isolate_changing(mm, start, end, FASTMM_VM_PROT, prot, &first, &count);
    if (rc)
        return rc;
    for (size_t i = first; i < first + count; i++) {
        struct fastmm_vma *vma = mm->vmas[i];
        if ((vma->flags & FASTMM_VM_PROT) == prot)
            continue;
        vma->flags = (vma->flags & ~FASTMM_VM_PROT) | prot | VMA_CHANGED;
        fastmm_vma_update_prot(vma);
        change_vma(mm, vma, vma->start, vma->end, CHANGE_PROT);
    }
    fastmm_vma_settle(mm, first, count);
    return 0;
}

/* --- userfaultfd ----------------------------------------------------------------------------- */

/* Of a range with holes, userfaultfd takes the mappings; `none` is for want of any. */
static int check_any(const struct fastmm_mm *mm, uint64_t start, uint64_t end, int none)
{
    size_t at = fastmm_vma_at(mm, start);
    return at < mm->vma_count && mm->vmas[at]->start < end ? 0 : none;
}

static int check_registrable(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                             uint32_t features)
{
    const uint32_t wanted = FASTMM_VM_UFFD_WP | features;
    int rc = check_any(mm, start, end, -EINVAL);
    for (size_t i = fastmm_vma_at(mm, start); !rc && i < mm->vma_count && mm->vmas[i]->start < end;
         i++) {
        const struct fastmm_vma *vma = mm->vmas[i];
        bool file = vma->object && vma->object->kind == FASTMM_OBJECT_FILE;
        if ((vma->flags & FASTMM_VM_PFNMAP) || (file && !(features & FASTMM_VM_UFFD_ASYNC)))
            rc = -EINVAL;
        else if ((vma->flags & FASTMM_VM_UFFD_WP) && (vma->flags & FASTMM_VM_UFFD) != wanted)
            rc = -EBUSY;
    }
    return rc;
}

int fastmm_mm_uffd_register(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint32_t features)
{
    size_t first, count;
    int rc = fastmm_check_range(mm->machine, start, end);
    if (!rc && (features & ~(FASTMM_VM_UFFD & ~FASTMM_VM_UFFD_WP)))
        rc = -EINVAL;
    if (!rc)
        rc = check_registrable(mm, start, end, features);
    const uint32_t wanted = FASTMM_VM_UFFD_WP | features;
    if (!rc)
        rc = fastmm_vma_isolate_changing(mm, start, end, FASTMM_VM_UFFD, wanted, &first, &count);
    if (rc)
        return rc;
    for (size_t i = first; i < first + count; i++) {
        struct fastmm_vma *vma = mm->vmas[i];
        if ((vma->flags & FASTMM_VM_UFFD) == wanted)
            continue;
        vma->flags = (vma->flags & ~FASTMM_VM_UFFD) | wanted | VMA_CHANGED;
        fastmm_vma_update_prot(vma);
    }
    fastmm_vma_settle(mm, first, count);
    return 0;
}

/* Files can be named only where they are registered. */
static int check_unregistrable(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = check_any(mm, start, end, -EINVAL);
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++) {
        const struct fastmm_vma *vma = mm->vmas[i];
        if (!(vma->flags & FASTMM_VM_UFFD_WP) &&
            ((vma->flags & FASTMM_VM_PFNMAP) ||
             (vma->object && vma->object->kind == FASTMM_OBJECT_FILE)))
            rc = -EINVAL;
    }
    return rc;
}

int fastmm_mm_uffd_unregister(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    size_t first, count;
    int rc = fastmm_check_range(mm->machine, start, end);
    if (!rc)
        rc = check_unregistrable(mm, start, end);
    if (!rc)
        rc = fastmm_vma_isolate_changing(mm, start, end, FASTMM_VM_UFFD, 0, &first, &count);
    if (rc)
        return rc;
    for (size_t i = first; i < first + count; i++) {
        struct fastmm_vma *vma = mm->vmas[i];
        if (!(vma->flags & FASTMM_VM_UFFD_WP))
            continue;
        if (!FASTMM_MM_BUG(6))
            change_vma(mm, vma, vma->start, vma->end, CHANGE_RESOLVE);
        vma->flags = (vma->flags & ~FASTMM_VM_UFFD) | VMA_CHANGED;
        fastmm_vma_update_prot(vma);
    }
    fastmm_vma_settle(mm, first, count);
    return 0;
}

/* Markers need tables to be in. They are made first, so that protecting itself can't fail. */
static int make_tables(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t start,
                       uint64_t end)
{
    return vma_marks_empty(vma) ? fastmm_table_make_range(mm, start, end) : 0;
}

static int check_registered(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = check_any(mm, start, end, -ENOENT);
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++)
        if (!(mm->vmas[i]->flags & FASTMM_VM_UFFD_WP))
            rc = -ENOENT;
    return rc;
}

static int uffd_change(struct fastmm_mm *mm, uint64_t start, uint64_t end, enum change change)
{
    int rc = fastmm_check_range(mm->machine, start, end);
    if (!rc)
        rc = check_registered(mm, start, end);
    for (size_t i = fastmm_vma_at(mm, start); !rc && i < mm->vma_count && mm->vmas[i]->start < end;
         i++)
        if (change == CHANGE_PROTECT)
            rc = make_tables(mm, mm->vmas[i], vma_clip_start(mm->vmas[i], start),
                             vma_clip_end(mm->vmas[i], end));
    if (rc)
        return rc;
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++)
        change_vma(mm, mm->vmas[i], start, end, change);
    return 0;
}

int fastmm_mm_uffd_protect(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    return uffd_change(mm, start, end, CHANGE_PROTECT);
}

int fastmm_mm_uffd_resolve(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    return uffd_change(mm, start, end, CHANGE_RESOLVE);
}
