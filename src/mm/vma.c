/* SPDX-License-Identifier: MIT */
#include "vma.h"

#include "table.h"

#include <errno.h>
#include <string.h>

size_t fastmm_vma_at(const struct fastmm_mm *mm, uint64_t addr)
{
    size_t low = 0, high = mm->vma_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mm->vmas[middle]->end > addr)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct fastmm_vma *fastmm_mm_find(const struct fastmm_mm *mm, uint64_t addr)
{
    size_t at = fastmm_vma_at(mm, addr);
    return at < mm->vma_count && mm->vmas[at]->start <= addr ? mm->vmas[at] : NULL;
}

const struct fastmm_vma *fastmm_mm_vma(const struct fastmm_mm *mm, size_t index)
{
    return index < mm->vma_count ? mm->vmas[index] : NULL;
}

/* A page only ever becomes writable after a fault has seen the write, where that matters. */
void fastmm_vma_update_prot(struct fastmm_vma *vma)
{
    if (!(vma->flags & FASTMM_VM_PROT)) {
        vma->page_prot = FASTMM_PROT_NONE;
        return;
    }
    bool writable = (vma->flags & FASTMM_VM_SHARED) && (vma->flags & FASTMM_VM_WRITE) &&
                    !vma_tracks_writes(vma);
    vma->page_prot = writable ? FASTMM_PROT_SHARED : FASTMM_PROT_READONLY;
    if (vma->flags & FASTMM_VM_EXEC)
        vma->page_prot &= ~FASTMM_PTE_NX;
}

/* Room for `more` pointers. */
static int reserve(struct fastmm_mm *mm, size_t more)
{
    if (mm->vma_count + more <= mm->vma_room)
        return 0;
    struct arena *arena = &mm->machine->arena;
    size_t room = mm->vma_room ? 2 * mm->vma_room : 8;
    struct fastmm_vma **vmas = fastmm_arena_alloc(arena, room * sizeof(struct fastmm_vma *));
    if (!vmas)
        return -ENOMEM;
    if (mm->vma_count)
        memcpy(vmas, mm->vmas, mm->vma_count * sizeof(struct fastmm_vma *));
    fastmm_arena_free(arena, mm->vmas, mm->vma_room * sizeof(struct fastmm_vma *));
    mm->vmas = vmas;
    mm->vma_room = room;
    return 0;
}

/* Room must have been reserved. */
static void put_in_place(struct fastmm_mm *mm, struct fastmm_vma *vma)
{
    size_t at = fastmm_vma_at(mm, vma->start);
    memmove(mm->vmas + at + 1, mm->vmas + at, (mm->vma_count - at) * sizeof(struct fastmm_vma *));
    mm->vmas[at] = vma;
    mm->vma_count++;
}

/* What exists once for each mapping, however it came to be. */
static void count_in(const struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    if (vma->object)
        vma->object->refs++;
    if (vma->flags & FASTMM_VM_PFNMAP)
        mm->machine->pfn_reservations++;
}

int fastmm_vma_insert(struct fastmm_mm *mm, const struct fastmm_vma *spec)
{
    if (reserve(mm, 1))
        return -ENOMEM;
    struct fastmm_vma *vma = fastmm_arena_alloc(&mm->machine->arena, sizeof(*vma));
    if (!vma)
        return -ENOMEM;
    *vma = *spec;
    count_in(mm, vma);
    put_in_place(mm, vma);
    return 0;
}

void fastmm_vma_give(struct fastmm_mm *mm, struct fastmm_vma *vma)
{
    put_in_place(mm, vma);
}

struct fastmm_vma *fastmm_vma_take(struct fastmm_mm *mm, size_t at)
{
    struct fastmm_vma *vma = mm->vmas[at];
    mm->vma_count--;
    memmove(mm->vmas + at, mm->vmas + at + 1, (mm->vma_count - at) * sizeof(struct fastmm_vma *));
    return vma;
}

void fastmm_vma_prune_tables(struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    size_t next = fastmm_vma_at(mm, start);
    uint64_t floor = next ? mm->vmas[next - 1]->end : 0;
    uint64_t ceiling =
        next < mm->vma_count ? mm->vmas[next]->start : mm->machine->user_end + FASTMM_PAGE_SIZE;
    fastmm_table_prune(mm, start, end, floor, ceiling);
}

void fastmm_vma_remove(struct fastmm_mm *mm, size_t first, size_t count)
{
    if (count == 0) /* there may be no array yet */
        return;
    for (size_t i = first; i < first + count; i++) {
        struct fastmm_vma *vma = mm->vmas[i];
        if (vma->object)
            fastmm_object_put(vma->object);
        if (vma->flags & FASTMM_VM_PFNMAP)
            mm->machine->pfn_reservations--;
        fastmm_arena_free(&mm->machine->arena, vma, sizeof(*vma));
    }
    if (!count) /* there may be no array yet, and memmove() wants one */
        return;
    mm->vma_count -= count;
    memmove(mm->vmas + first, mm->vmas + first + count,
            (mm->vma_count - first) * sizeof(struct fastmm_vma *));
}

/* The mapping that `addr` would split, or NULL. */
static struct fastmm_vma *split_by(const struct fastmm_mm *mm, uint64_t addr)
{
    size_t at = fastmm_vma_at(mm, addr);
    return at < mm->vma_count && mm->vmas[at]->start < addr ? mm->vmas[at] : NULL;
}

/* Splits at `addr` with `upper` for the upper part. */
static void split(struct fastmm_mm *mm, struct fastmm_vma *lower, uint64_t addr,
                  struct fastmm_vma *upper)
{
    *upper = *lower;
    upper->pgoff = vma_page(lower, addr);
    upper->start = addr;
    lower->end = addr;
    count_in(mm, upper);
    put_in_place(mm, upper);
}

int fastmm_vma_isolate(struct fastmm_mm *mm, uint64_t start, uint64_t end, size_t *first,
                       size_t *count)
{
    struct arena *arena = &mm->machine->arena;
    struct fastmm_vma *upper[2] = {NULL, NULL};
    const uint64_t cut[2] = {start, end};

    size_t splits = (split_by(mm, start) != NULL) + (size_t)(split_by(mm, end) != NULL);
    if (splits && reserve(mm, splits))
        return -ENOMEM;
    for (int i = 0; i < 2; i++) {
        if (!split_by(mm, cut[i]))
            continue;
        upper[i] = fastmm_arena_alloc(arena, sizeof(*upper[i]));
        if (!upper[i]) {
            fastmm_arena_free(arena, upper[0], sizeof(*upper[0]));
            return -ENOMEM;
        }
    }
    for (int i = 0; i < 2; i++)
        if (upper[i])
            split(mm, split_by(mm, cut[i]), cut[i], upper[i]);
    *first = fastmm_vma_at(mm, start);
    *count = 0;
    while (*first + *count < mm->vma_count && mm->vmas[*first + *count]->start < end)
        ++*count;
    return 0;
}

int fastmm_vma_check_mapped(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    uint64_t mapped = start;
    int rc = fastmm_check_range(mm->machine, start, end);
    if (rc)
        return rc;
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start <= mapped;
         i++)
        mapped = mm->vmas[i]->end;
    return mapped < end ? -ENOMEM : 0;
}

uint32_t fastmm_vma_flags(const struct fastmm_mm *mm, uint64_t start, uint64_t end)
{
    uint32_t flags = 0;
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++)
        flags |= mm->vmas[i]->flags;
    return flags;
}

void fastmm_vma_change_entries(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                               vma_change_fn change)
{
    for (size_t i = fastmm_vma_at(mm, start); i < mm->vma_count && mm->vmas[i]->start < end; i++) {
        const struct fastmm_vma *vma = mm->vmas[i];
        struct table_walk walk = table_walk(mm, vma_clip_start(vma, start), vma_clip_end(vma, end));
        struct table_span span;
        while (fastmm_table_walk_next(&walk, &span))
            for (unsigned j = 0; j < span.count; j++)
                if (!fastmm_pte_none(span.pte[j]))
                    span.pte[j] =
                        change(mm, vma, span.addr + j * (uint64_t)FASTMM_PAGE_SIZE, span.pte[j]);
    }
}

int fastmm_vma_isolate_changing(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint32_t mask,
                                uint32_t value, size_t *first, size_t *count)
{
    const struct fastmm_vma *from = NULL, *to = NULL;
    *first = fastmm_vma_at(mm, start);
    *count = 0;
    for (size_t i = *first; i < mm->vma_count && mm->vmas[i]->start < end; i++)
        if ((mm->vmas[i]->flags & mask) != value) {
            to = mm->vmas[i];
            from = from ? from : to;
        }
    if (!from)
        return 0;
    return fastmm_vma_isolate(mm, vma_clip_start(from, start), vma_clip_end(to, end), first, count);
}

/* --- Joining --------------------------------------------------------------------------------- */

/* What a mapping has been through doesn't set it apart by itself. */
#define HISTORY                                                                         \
    (FASTMM_VM_SOFT_TRACKED | FASTMM_VM_ANON_VMA | FASTMM_VM_GUARD | FASTMM_VM_FORKED | \
     FASTMM_VM_UFFD_LOST | VMA_CHANGED | VMA_GREW)

/* Is b what a would be if it were longer, apart from flags in `ignored`? */
static bool continues(const struct fastmm_vma *a, const struct fastmm_vma *b, uint32_t ignored)
{
    if (a->end != b->start || ((a->flags ^ b->flags) & ~(HISTORY | ignored)) ||
        (a->flags & (FASTMM_VM_PFNMAP | FASTMM_VM_MIXEDMAP)))
        return false;
    return a->object == b->object && b->pgoff == vma_page(a, b->start);
}

/*
 * Anonymous pages must be looked for in one place. A mapping without any may join one that has
 * some, but not if those can be a parent's.
 */
static bool anon_agrees(const struct fastmm_vma *a, const struct fastmm_vma *b)
{
    if (a->anon_vma == b->anon_vma || ((a->flags & VMA_GREW) && !b->anon_vma))
        return true;
    return (!a->anon_vma || !b->anon_vma) && !((a->flags | b->flags) & FASTMM_VM_FORKED);
}

static bool joins(const struct fastmm_vma *a, const struct fastmm_vma *b)
{
    return ((a->flags | b->flags) & VMA_CHANGED) && continues(a, b, 0) && anon_agrees(a, b);
}

void fastmm_vma_settle(struct fastmm_mm *mm, size_t first, size_t count)
{
    size_t at = first ? first : 1, end = first + count;
    while (!mm->keep_apart && at <= end && at < mm->vma_count) {
        struct fastmm_vma *a = mm->vmas[at - 1];
        const struct fastmm_vma *b = mm->vmas[at];
        if (!joins(a, b)) {
            at++;
            continue;
        }
        uint32_t tracked = a->flags & b->flags & FASTMM_VM_SOFT_TRACKED;
        a->end = b->end;
        /* Who is next beyond one that didn't change itself stays apart. */
        a->flags = (a->flags & ~(VMA_CHANGED | VMA_GREW)) | b->flags;
        a->flags = (a->flags & ~FASTMM_VM_SOFT_TRACKED) | tracked; /* or all counts as written */
        fastmm_vma_update_prot(a);
        a->anon_vma |= b->anon_vma; /* equal, or one is 0 */
        fastmm_vma_remove(mm, at, 1);
        end--;
    }
    for (at = first ? first - 1 : 0; at <= end && at < mm->vma_count; at++)
        mm->vmas[at]->flags &= ~(VMA_CHANGED | VMA_GREW);
}

uint32_t fastmm_vma_new_anon(struct fastmm_machine *machine)
{
    if (++machine->anon_vmas == 0) /* after 2^32 of them: a collision would only join too much */
        machine->anon_vmas = 1;
    return machine->anon_vmas;
}

/*
 * Neighbours that differ in nothing but protection, and in which features they are registered with,
 * share, so that they can be joined later on.
 */
#define MAY_DIFFER (FASTMM_VM_PROT | (FASTMM_VM_UFFD & ~FASTMM_VM_UFFD_WP))

static uint32_t neighbours_anon(const struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    size_t at = fastmm_vma_at(mm, vma->start);
    const struct fastmm_vma *next = fastmm_mm_vma(mm, at + 1);
    const struct fastmm_vma *before = at ? mm->vmas[at - 1] : NULL;
    if (next && continues(vma, next, MAY_DIFFER) && !(next->flags & FASTMM_VM_FORKED) &&
        next->anon_vma)
        return next->anon_vma;
    if (before && continues(before, vma, MAY_DIFFER) && !(before->flags & FASTMM_VM_FORKED))
        return before->anon_vma;
    return 0;
}

void fastmm_vma_prepare_anon(struct fastmm_mm *mm, struct fastmm_vma *vma)
{
    if (FASTMM_LIKELY(vma->flags & FASTMM_VM_ANON_VMA))
        return;
    vma->anon_vma = neighbours_anon(mm, vma);
    if (!vma->anon_vma)
        vma->anon_vma = fastmm_vma_new_anon(mm->machine);
    vma->flags |= FASTMM_VM_ANON_VMA;
}

void fastmm_vma_prepare_guard(struct fastmm_mm *mm, struct fastmm_vma *vma)
{
    if (vma_is_anonymous(vma))
        fastmm_vma_prepare_anon(mm, vma);
    vma->flags |= FASTMM_VM_GUARD;
}
