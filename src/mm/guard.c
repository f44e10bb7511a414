/* SPDX-License-Identifier: MIT */
/*
 * Markers that somebody asks for: guards, which make every access SIGSEGV, and poison, which makes
 * it SIGBUS. A guard takes the place of whatever was there; poison only that of nothing.
 */
#include "table.h"
#include "vma.h"
#include "zap.h"

#include <errno.h>

/* Whole, and made of mappings that can hold markers. */
static int check_markable(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    const uint32_t none = FASTMM_VM_PFNMAP | FASTMM_VM_MIXEDMAP;
    int rc = fastmm_vma_check_mapped(mm, start, end);
    return !rc && (fastmm_vma_flags(mm, start, end) & none) ? -EINVAL : rc;
}

static bool is_guard(fastmm_pte_t pte)
{
    return fastmm_marker_flags(pte) & FASTMM_MARKER_GUARD;
}

static bool is_empty(fastmm_pte_t pte)
{
    return fastmm_pte_none(pte);
}

/* Every entry of [start, end) that is such a one becomes `to`. */
static void replace(struct fastmm_mm *mm, uint64_t start, uint64_t end, bool (*is)(fastmm_pte_t),
                    fastmm_pte_t to)
{
    struct table_walk walk = table_walk(mm, start, end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span))
        for (unsigned i = 0; i < span.count; i++)
            if (is(span.pte[i]))
                span.pte[i] = to;
}

/* --- Guards ---------------------------------------------------------------------------------- */

/*
 * Whether zapping [start, end) of the mapping would leave markers. The kernel zaps and looks again,
 * and doesn't get past them, ever (seen on Linux 6.18: the call only ends with the process).
 */
static bool leaves_markers(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t start,
                           uint64_t end)
{
    if (!zap_keeps_uffd_wp(vma))
        return false;
    struct table_walk walk = table_walk(mm, start, end);
    struct table_span span;
    bool any = false;
    while (fastmm_table_walk_next(&walk, &span))
        for (unsigned i = 0; i < span.count; i++)
            any = any || (fastmm_pte_any_uffd_wp(span.pte[i]) && !is_guard(span.pte[i]));
    return any;
}

/* Readies every mapping of the range for guards. */
static int prepare_mappings(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = 0;
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++) {
        struct fastmm_vma *vma = mm->vmas[i];
        fastmm_vma_prepare_guard(mm, vma);
        if (leaves_markers(mm, vma, vma_clip_start(vma, start), vma_clip_end(vma, end)))
            rc = -EAGAIN;
    }
    return rc;
}

int fastmm_mm_guard_install(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = check_markable(mm, start, end);
    if (!rc)
        rc = fastmm_table_make_range(mm, start, end);
    if (!rc)
        rc = prepare_mappings(mm, start, end);
    if (rc)
        return rc;
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++)
        fastmm_zap_range(mm, mm->vmas[i], vma_clip_start(mm->vmas[i], start),
                         vma_clip_end(mm->vmas[i], end), ZAP_ALL);
    replace(mm, start, end, is_empty, fastmm_marker_make(FASTMM_MARKER_GUARD));
    return 0;
}

int fastmm_mm_guard_remove(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = check_markable(mm, start, end);
    if (!rc)
        replace(mm, start, end, is_guard, 0);
    return rc;
}

/* --- Poison ---------------------------------------------------------------------------------- */

/*
 * The mapping at `start`, which must hold all of [start, end), be registered, and be able to have
 * poison. A private one is readied before any of that is looked at (seen on Linux 6.18).
 */
static int prepare_poison(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                          struct fastmm_vma **found)
{
    size_t at = fastmm_vma_at(mm, start);
    if (at == mm->vma_count || mm->vmas[at]->start > start)
        return -ENOENT;
    struct fastmm_vma *vma = *found = mm->vmas[at];
    if (vma_is_cow(vma) && !(vma->flags & FASTMM_VM_PFNMAP))
        fastmm_vma_prepare_anon(mm, vma);
    if (vma->end < end || !(vma->flags & FASTMM_VM_UFFD_WP))
        return -ENOENT;
    return vma->object && vma->object->kind == FASTMM_OBJECT_FILE ? -EINVAL : 0;
}

/* Each page must exist, as far as that is known, and its entry be empty. */
static int check_empty(const struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t start,
                       uint64_t end)
{
    for (uint64_t addr = start; addr < end; addr += FASTMM_PAGE_SIZE) {
        if (vma->object && vma_page(vma, addr) >= vma->object->pages)
            return -EFAULT;
        if (!fastmm_pte_none(*fastmm_table_find(mm, addr)))
            return -EEXIST;
    }
    return 0;
}

int fastmm_mm_uffd_poison(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    struct fastmm_vma *vma;
    int rc = fastmm_check_range(mm->machine, start, end);
    if (!rc)
        rc = prepare_poison(mm, start, end, &vma);
    if (!rc)
        rc = fastmm_table_make_range(mm, start, end);
    if (!rc)
        rc = check_empty(mm, vma, start, end);
    if (!rc)
        replace(mm, start, end, is_empty, fastmm_marker_make(FASTMM_MARKER_POISON));
    return rc;
}
