/* SPDX-License-Identifier: MIT */
#include "walk_rival.h"

static uint32_t flags_of(const struct fastmm_frames *frames, uint64_t pfn)
{
    uint64_t word = frames->word[pfn];
    uint32_t flags = frame_exclusive(frames, pfn) ? PAGE_EXCLUSIVE : 0;
    if (frame_is_anon(word))
        flags |= PAGE_ANON;
    if (frame_kind(word) == FASTMM_FRAME_SHMEM)
        flags |= PAGE_SHMEM;
    return flags | (word & FRAME_PINNED ? PAGE_PINNED : 0) | (word & FRAME_DIRTY ? PAGE_DIRTY : 0) |
           (word & FRAME_YOUNG ? PAGE_YOUNG : 0);
}

bool rival_open(struct rival *r, struct fastmm_machine *machine)
{
    const struct fastmm_frames *frames = &machine->frames;
    r->machine = machine;
    r->count = frames->highest + 1;
    /* In the same memory as the library's own metadata: huge pages, if there are any. */
    r->pages = fastmm_arena_zalloc(&machine->arena, r->count * sizeof(*r->pages));
    if (!r->pages)
        return false;
    for (uint64_t pfn = FRAME_FIRST; pfn < machine->next_fresh; pfn++) {
        uint64_t word = frames->word[pfn];
        if (frame_kind(word) < FASTMM_FRAME_ANON)
            continue;
        r->pages[pfn].refs = frame_refs(word);
        r->pages[pfn].maps = frame_maps(word);
        r->pages[pfn].flags = flags_of(frames, pfn);
    }
    return true;
}

void rival_close(struct rival *r)
{
    if (r->pages)
        fastmm_arena_free(&r->machine->arena, r->pages, r->count * sizeof(*r->pages));
}

static bool needs_entries(const struct fastmm_vma *from, const struct fastmm_vma *to)
{
    const uint32_t always =
        FASTMM_VM_UFFD_WP | FASTMM_VM_PFNMAP | FASTMM_VM_MIXEDMAP | FASTMM_VM_GUARD;
    return (to->flags & always) || (from->flags & FASTMM_VM_ANON_VMA);
}

static int copy_mapping(struct rival *r, const struct rival_ops *ops, struct fastmm_mm *parent,
                        struct fastmm_mm *child, const struct fastmm_vma *from)
{
    struct fastmm_vma spec = *from;
    if (!(from->flags & FASTMM_VM_UFFD_FORK))
        spec.flags &= ~FASTMM_VM_UFFD;
    if (from->flags & FASTMM_VM_WIPEONFORK)
        spec.flags &= ~(FASTMM_VM_ANON_VMA | FASTMM_VM_GUARD);
    fastmm_vma_update_prot(&spec);
    int rc = fastmm_vma_insert(child, &spec);
    if (rc || (from->flags & FASTMM_VM_WIPEONFORK) || !needs_entries(from, &spec))
        return rc;
    const struct rival_copy c = {
        .rival = r,
        .parent = parent,
        .child = child,
        .from = from,
        .to = child->vmas[child->vma_count - 1],
        .cow = vma_is_cow(from),
        .shared = from->flags & FASTMM_VM_SHARED,
        .keep_uffd_wp = spec.flags & FASTMM_VM_UFFD_WP,
    };
    return ops->copy(&c);
}

int rival_fork(struct rival *r, const struct rival_ops *ops, struct fastmm_mm *parent,
               struct fastmm_mm **child)
{
    struct fastmm_mm *made;
    int rc = fastmm_mm_create(parent->machine, &made);
    if (rc)
        return rc;
    for (size_t i = 0; i < parent->vma_count && !rc; i++)
        if (!(parent->vmas[i]->flags & FASTMM_VM_DONTCOPY))
            rc = copy_mapping(r, ops, parent, made, parent->vmas[i]);
    if (rc) {
        rival_unmap_all(r, ops, made);
        fastmm_mm_destroy(made, NULL);
        return rc;
    }
    *child = made;
    return 0;
}

void rival_unmap_all(struct rival *r, const struct rival_ops *ops, struct fastmm_mm *mm)
{
    uint64_t end = r->machine->user_end;
    for (size_t i = 0; i < mm->vma_count; i++)
        ops->zap(r, mm, mm->vmas[i]);
    fastmm_vma_remove(mm, 0, mm->vma_count);
    fastmm_table_prune(mm, 0, end, 0, end + FASTMM_PAGE_SIZE);
}

int rival_copy_pinned(const struct rival_copy *c, fastmm_pte_t source, fastmm_pte_t *target,
                      struct rss_change *rss)
{
    uint64_t pfn;
    int rc = fastmm_frame_alloc(c->child->machine, FASTMM_FRAME_ANON, &pfn);
    if (rc)
        return rc;
    c->rival->pages[pfn] = (struct page){.refs = 1, .maps = 1, .flags = PAGE_ANON | PAGE_EXCLUSIVE};
    fastmm_pte_t pte = fastmm_fault_entry(c->to, pfn, FASTMM_SET_WRITE);
    *target = c->keep_uffd_wp && fastmm_pte_uffd_wp(source) ? fastmm_pte_mkuffd_wp(pte) : pte;
    rss->by[FASTMM_RSS_ANON]++;
    return 0;
}

void rival_free_page(struct rival *r, uint64_t pfn)
{
    r->pages[pfn].flags = 0;
    fastmm_frame_free(r->machine, pfn);
}
