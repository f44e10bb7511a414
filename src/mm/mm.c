/* SPDX-License-Identifier: MIT */
/* The life of an address space, and what is mapped in it. */
#include "frame.h"
#include "table.h"
#include "vma.h"
#include "zap.h"

#include <errno.h>

#define MAP_FLAGS                                                                \
    (FASTMM_VM_PROT | FASTMM_VM_SHARED | FASTMM_VM_PFNMAP | FASTMM_VM_DONTCOPY | \
     FASTMM_VM_WIPEONFORK)

int fastmm_mm_create(struct fastmm_machine *machine, struct fastmm_mm **mm)
{
    struct fastmm_mm *made = fastmm_arena_zalloc(&machine->arena, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->machine = machine;
    made->root = fastmm_table_alloc(made);
    if (!made->root) {
        if (!FASTMM_MM_BUG(19))
            fastmm_arena_free(&machine->arena, made, sizeof(*made));
        return -ENOMEM;
    }
    rss_open(&made->rss); /* four counters always fit */
    made->next = machine->first_mm;
    made->link = &machine->first_mm;
    if (made->next)
        made->next->link = &made->next;
    machine->first_mm = made;
    machine->mms++;
    *mm = made;
    return 0;
}

int fastmm_mm_destroy(struct fastmm_mm *mm, int64_t residue[FASTMM_RSS_COUNTERS + 1])
{
    struct fastmm_machine *machine = mm->machine;
    for (size_t i = 0; i < mm->vma_count; i++)
        fastmm_zap_range(mm, mm->vmas[i], mm->vmas[i]->start, mm->vmas[i]->end, ZAP_UNMAP);
    fastmm_vma_remove(mm, 0, mm->vma_count);
    fastmm_table_prune(mm, 0, machine->user_end, 0, machine->user_end + FASTMM_PAGE_SIZE);

    int64_t rest[FASTMM_RSS_COUNTERS + 1];
    fastmm_mm_rss(mm, rest);
    rest[FASTMM_RSS_COUNTERS] = (int64_t)mm->tables - 1;
    int64_t any = 0;
    for (unsigned i = 0; i <= FASTMM_RSS_COUNTERS; i++) {
        any |= rest[i];
        if (residue)
            residue[i] = rest[i];
    }

    rss_close(&mm->rss);
    fastmm_arena_free(&machine->arena, mm->root, TABLE_BYTES);
    machine->tables--;
    fastmm_arena_free(&machine->arena, mm->vmas, mm->vma_room * sizeof(struct fastmm_vma *));
    *mm->link = mm->next;
    if (mm->next)
        mm->next->link = mm->link;
    machine->mms--;
    fastmm_arena_free(&machine->arena, mm, sizeof(*mm));
    return any ? -EUCLEAN : 0;
}

/* --- Mapping --------------------------------------------------------------------------------- */

static int check_flags(const struct fastmm_mm *mm, const struct fastmm_map *map)
{
    bool shared = map->flags & FASTMM_VM_SHARED, raw = map->flags & FASTMM_VM_PFNMAP;
    bool wipe = map->flags & FASTMM_VM_WIPEONFORK;
    if (map->flags & ~MAP_FLAGS)
        return -EINVAL;
    if (map->object && (raw || map->object->machine != mm->machine))
        return -EINVAL;
    if (shared && !map->object && !raw)
        return -EINVAL;
    return wipe && (shared || map->object || raw) ? -EINVAL : 0;
}

static bool is_anonymous(const struct fastmm_map *map)
{
    return !map->object && !(map->flags & FASTMM_VM_PFNMAP);
}

static int check_offset(const struct fastmm_map *map)
{
    uint64_t limit = map->flags & FASTMM_VM_PFNMAP ? FASTMM_PFN_LIMIT : VMA_PGOFF_LIMIT;
    uint64_t pages = (map->end - map->start) >> FASTMM_PAGE_SHIFT;
    if (is_anonymous(map))
        return map->pgoff ? -EINVAL : 0;
    return map->pgoff >= limit || pages > limit - map->pgoff ? -EOVERFLOW : 0;
}

/* Raw frames are there from the start, each entry marked special. */
static int enter_raw(struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    for (uint64_t addr = vma->start; addr < vma->end; addr += FASTMM_PAGE_SIZE) {
        fastmm_pte_t *pte = fastmm_table_make(mm, addr);
        if (!pte)
            return -ENOMEM;
        *pte = fastmm_pte_mkspecial(fastmm_pte_make(vma_page(vma, addr), vma->page_prot));
    }
    return 0;
}

int fastmm_mm_map(struct fastmm_mm *mm, const struct fastmm_map *map)
{
    int rc = fastmm_check_range(mm->machine, map->start, map->end);
    if (!rc)
        rc = check_flags(mm, map);
    if (!rc)
        rc = check_offset(map);
    if (rc)
        return rc;
    size_t at = fastmm_vma_at(mm, map->start);
    if (at < mm->vma_count && mm->vmas[at]->start < map->end)
        return -EEXIST;

    struct fastmm_vma vma = {
        .start = map->start,
        .end = map->end,
        .pgoff = is_anonymous(map) ? map->start >> FASTMM_PAGE_SHIFT : map->pgoff,
        .object = map->object,
        .flags = map->flags | FASTMM_VM_MAYWRITE,
    };
    fastmm_vma_update_prot(&vma);
    rc = fastmm_vma_insert(mm, &vma);
    if (!rc) {
        at = fastmm_vma_at(mm, map->start);
        mm->vmas[at]->flags |= VMA_CHANGED;
        fastmm_vma_settle(mm, at, 1);
    }
    if (!rc && (map->flags & FASTMM_VM_PFNMAP)) {
        rc = enter_raw(mm, &vma);
        if (rc)
            fastmm_mm_unmap(mm, map->start, map->end); /* its own mapping alone: can't fail */
    }
    return rc;
}

int fastmm_mm_unmap(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    size_t first, count;
    int rc = fastmm_check_range(mm->machine, start, end);
    if (!rc)
        rc = fastmm_vma_isolate(mm, start, end, &first, &count);
    if (rc)
        return rc;
    for (size_t i = first; i < first + count; i++)
        fastmm_zap_range(mm, mm->vmas[i], mm->vmas[i]->start, mm->vmas[i]->end, ZAP_UNMAP);
    fastmm_vma_remove(mm, first, count);
    fastmm_vma_prune_tables(mm, start, end);
    return 0;
}

/* --- Simple answers -------------------------------------------------------------------------- */

void fastmm_mm_rss(const struct fastmm_mm *mm, int64_t rss[FASTMM_RSS_COUNTERS])
{
    rss_exact(&mm->rss, rss);
}

uint64_t fastmm_mm_tables(const struct fastmm_mm *mm)
{
    return mm->tables;
}

struct fastmm_machine *fastmm_mm_machine(const struct fastmm_mm *mm)
{
    return mm->machine;
}
