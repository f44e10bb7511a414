/* SPDX-License-Identifier: MIT */
/*
 * MADV_REMOVE: pages of an object cease to exist, in every address space. There is no reverse map:
 * all mappings of the machine are asked whether they map the object, which is fine for something
 * that is done seldom.
 *
 * Private copies stay, as do their swap entries; so do markers of any kind, and a page that was
 * protected leaves one (seen on Linux 6.18).
 */
#include "frame.h"
#include "vma.h"

#include <fastmm/mm_inline.h>

static fastmm_pte_t remove_entry(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t addr,
                                 fastmm_pte_t pte)
{
    struct fastmm_machine *machine = mm->machine;
    if (!fastmm_pte_present(pte))
        return pte;
    uint64_t pfn = fastmm_normal_page(&machine->frames, vma, addr, pte);
    if (pfn == FASTMM_PFN_NONE || frame_is_anon(machine->frames.word[pfn]))
        return pte;
    rss_add(&mm->rss, frame_rss(machine->frames.word[pfn]), -1);
    frame_unmap(machine, pfn);
    return fastmm_pte_uffd_wp(pte) ? fastmm_marker_make(FASTMM_MARKER_UFFD_WP) : 0;
}

/* Pages [first, end) of the object, wherever they are mapped. */
static void unmap_pages(struct fastmm_object *object, uint64_t first, uint64_t end)
{
    for (struct fastmm_mm *mm = object->machine->first_mm; mm; mm = mm->next)
        for (size_t i = 0; i < mm->vma_count; i++) {
            const struct fastmm_vma *vma = mm->vmas[i];
            uint64_t pages = (vma->end - vma->start) >> FASTMM_PAGE_SHIFT;
            uint64_t from = first > vma->pgoff ? first : vma->pgoff;
            uint64_t to = end < vma->pgoff + pages ? end : vma->pgoff + pages;
            if (vma->object == object && from < to)
                fastmm_vma_change_entries(
                    mm, vma->start + ((from - vma->pgoff) << FASTMM_PAGE_SHIFT),
                    vma->start + ((to - vma->pgoff) << FASTMM_PAGE_SHIFT), remove_entry);
        }
}

static int check_removable(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = fastmm_vma_check_mapped(mm, start, end);
    for (size_t i = fastmm_vma_at(mm, start); !rc && i < mm->vma_count && mm->vmas[i]->start < end;
         i++)
        if (!mm->vmas[i]->object)
            rc = -EINVAL;
        else if (!(mm->vmas[i]->flags & FASTMM_VM_SHARED))
            rc = -EACCES;
        else if (mm->vmas[i]->object->kind != FASTMM_OBJECT_SHMEM)
            rc = -ENOTSUP;
    return rc;
}

int fastmm_mm_remove(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    int rc = check_removable(mm, start, end);
    for (size_t i = fastmm_vma_at(mm, start); !rc && i < mm->vma_count && mm->vmas[i]->start < end;
         i++) {
        const struct fastmm_vma *vma = mm->vmas[i];
        uint64_t from = vma_page(vma, vma_clip_start(vma, start));
        uint64_t to =
            from + ((vma_clip_end(vma, end) - vma_clip_start(vma, start)) >> FASTMM_PAGE_SHIFT);
        unmap_pages(vma->object, from, to);
        fastmm_object_drop(vma->object, from, to);
    }
    return rc;
}
