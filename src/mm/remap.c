/* SPDX-License-Identifier: MIT */
/*
 * mremap: a mapping becomes longer or shorter where it is, or goes elsewhere with its entries.
 *
 * What a moved anonymous mapping keeps is the page number at which it was first mapped, once it has
 * had pages: they are found by it. It joins its new neighbours only if the numbers continue theirs.
 */
#include "table.h"
#include "vma.h"

#include <errno.h>

/* The mapping that holds all of [start, end), or -EFAULT. */
static int find_whole(const struct fastmm_mm *mm, uint64_t start, uint64_t end,
                      struct fastmm_vma **vma)
{
    size_t at = fastmm_vma_at(mm, start);
    if (at == mm->vma_count || mm->vmas[at]->start > start || mm->vmas[at]->end < end)
        return -EFAULT;
    *vma = mm->vmas[at];
    return 0;
}

/* What may not become longer, and by how much at most. */
static int check_growth(const struct fastmm_vma *vma, uint64_t start, uint64_t size)
{
    if (vma->flags & FASTMM_VM_PFNMAP)
        return -EFAULT;
    uint64_t first = vma_page(vma, start), pages = size >> FASTMM_PAGE_SHIFT;
    return pages > VMA_PGOFF_LIMIT - first ? -EINVAL : 0;
}

/* --- In place -------------------------------------------------------------------------------- */

static int grow(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint64_t new_end)
{
    struct fastmm_vma *vma;
    int rc = find_whole(mm, start, end, &vma);
    if (!rc)
        rc = check_growth(vma, start, new_end - start);
    if (rc)
        return rc;
    size_t at = fastmm_vma_at(mm, start);
    if (vma->end != end || (at + 1 < mm->vma_count && mm->vmas[at + 1]->start < new_end))
        return -ENOMEM;
    vma->end = new_end;
    vma->flags |= VMA_CHANGED | VMA_GREW;
    fastmm_vma_settle(mm, at + 1, 0); /* what lies below hasn't come closer */
    return 0;
}

int fastmm_mm_resize(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint64_t new_end)
{
    int rc = fastmm_check_range(mm->machine, start, end);
    if (!rc)
        rc = fastmm_check_range(mm->machine, start, new_end);
    if (rc)
        return rc;
    if (new_end > end)
        return grow(mm, start, end, new_end);
    if (!fastmm_mm_find(mm, start))
        return -EFAULT;
    return new_end < end ? fastmm_mm_unmap(mm, new_end, end) : 0;
}

/* --- Elsewhere ------------------------------------------------------------------------------- */

struct move {
    struct fastmm_mm *mm;
    uint64_t start, end, to;
    bool keep_uffd_wp;
};

/* Tables at the destination for whatever there is one for at the source. */
static int make_destination(const struct move *m)
{
    struct table_walk walk = table_walk(m->mm, m->start, m->end);
    struct table_span span;
    int rc = 0;
    while (!rc && fastmm_table_walk_next(&walk, &span)) {
        uint64_t to = m->to + (span.addr - m->start);
        rc = fastmm_table_make_range(m->mm, to, to + (uint64_t)span.count * FASTMM_PAGE_SIZE);
    }
    return rc;
}

static fastmm_pte_t without_uffd_wp(fastmm_pte_t pte)
{
    if (fastmm_pte_present(pte))
        return fastmm_pte_clear_uffd_wp(pte);
    uint64_t markers = fastmm_marker_flags(pte);
    return markers ? fastmm_marker_make(markers & ~FASTMM_MARKER_UFFD_WP)
                   : pte & ~FASTMM_SWP_UFFD_WP;
}

/* What moves counts as written where it arrives; markers have the bit, too. */
static fastmm_pte_t arriving(const struct move *m, fastmm_pte_t pte)
{
    if (!m->keep_uffd_wp)
        pte = without_uffd_wp(pte);
    if (fastmm_pte_none(pte) || !m->mm->machine->soft_dirty)
        return pte;
    return pte | (fastmm_pte_present(pte) ? FASTMM_PTE_SOFT_DIRTY : FASTMM_SWP_SOFT_DIRTY);
}

static void move_entries(const struct move *m)
{
    struct table_walk walk = table_walk(m->mm, m->start, m->end);
    struct table_span span;
    while (fastmm_table_walk_next(&walk, &span))
        for (unsigned i = 0; i < span.count; i++) {
            fastmm_pte_t pte = span.pte[i];
            if (fastmm_pte_none(pte))
                continue;
            uint64_t to = m->to + (span.addr - m->start) + i * (uint64_t)FASTMM_PAGE_SIZE;
            *fastmm_table_find(m->mm, to) = arriving(m, pte);
            span.pte[i] = 0;
        }
}

/* The mapping's description, as it is at the destination. */
static void readdress(struct fastmm_vma *vma, uint64_t to, uint64_t size)
{
    vma->start = to;
    vma->end = to + size;
    if (vma_is_anonymous(vma) && !vma->anon_vma)
        vma->pgoff = to >> FASTMM_PAGE_SHIFT;
    vma->flags |= VMA_CHANGED;
}

static void lose_registration(struct fastmm_vma *vma, bool entries_too)
{
    vma->flags = (vma->flags & ~FASTMM_VM_UFFD) | (entries_too ? 0 : FASTMM_VM_UFFD_LOST);
    fastmm_vma_update_prot(vma);
}

/*
 * A registration that doesn't follow ends only after the mapping has joined its new neighbours, and
 * takes theirs with it, but not the protection of their entries. One of these neighbours may be
 * what the mapping was a part of, while the part that moves is still there. (Seen on Linux 6.18.)
 */
struct former {
    uint64_t start, end; /* the mapping that a part of moves */
    bool joins;
};

static struct former former_of(const struct fastmm_mm *mm, const struct move *m, uint64_t size)
{
    const struct fastmm_vma *vma = fastmm_mm_find(mm, m->start);
    bool adjacent = m->to == vma->end || m->to + size == vma->start;
    bool renumbered = vma_is_anonymous(vma) && !vma->anon_vma;
    return (struct former){vma->start, vma->end, adjacent && renumbered};
}

static void end_registration(struct fastmm_mm *mm, const struct move *m, uint64_t size,
                             const struct former *former)
{
    struct fastmm_vma *vma = mm->vmas[fastmm_vma_at(mm, m->to)];
    lose_registration(vma, vma->start == m->to && vma->end == m->to + size);
    for (size_t i = fastmm_vma_at(mm, former->start);
         former->joins && i < mm->vma_count && mm->vmas[i]->start < former->end; i++)
        lose_registration(mm->vmas[i], false);
}

/* Nothing is mapped at the destination. */
static int move_mapping(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint64_t to,
                        uint64_t size)
{
    struct move m = {.mm = mm, .start = start, .end = end, .to = to};
    const struct former former = former_of(mm, &m, size);
    size_t first, count;
    int rc = make_destination(&m);
    if (!rc)
        rc = fastmm_vma_isolate(mm, start, end, &first, &count);
    if (rc) {
        fastmm_vma_prune_tables(mm, to, to + size);
        return rc;
    }
    struct fastmm_vma *vma = fastmm_vma_take(mm, first);
    bool ends = (vma->flags & FASTMM_VM_UFFD_WP) && !(vma->flags & FASTMM_VM_UFFD_REMAP);
    m.keep_uffd_wp = !ends || FASTMM_MM_BUG(4);
    move_entries(&m);
    readdress(vma, to, size);
    fastmm_vma_give(mm, vma);
    fastmm_vma_prune_tables(mm, start, end);
    fastmm_vma_settle(mm, fastmm_vma_at(mm, to), 1);
    if (ends)
        end_registration(mm, &m, size, &former);
    return 0;
}

int fastmm_mm_move(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint64_t to, uint64_t size)
{
    struct fastmm_vma *vma;
    int rc = fastmm_check_range(mm->machine, start, end);
    if (!rc && to + size < to)
        rc = -ERANGE;
    if (!rc)
        rc = fastmm_check_range(mm->machine, to, to + size);
    if (!rc && to < end && start < to + size)
        rc = -EINVAL;
    if (!rc)
        rc = find_whole(mm, start, size < end - start ? start + size : end, &vma);
    if (!rc && size > end - start)
        rc = check_growth(vma, start, size);
    if (!rc)
        rc = fastmm_mm_unmap(mm, to, to + size);
    if (!rc && size < end - start) {
        rc = fastmm_mm_unmap(mm, start + size, end);
        end = start + size;
    }
    return rc ? rc : move_mapping(mm, start, end, to, size);
}
