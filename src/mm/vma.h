/* SPDX-License-Identifier: MIT */
/* The mappings of an address space: a sorted array of pointers, searched by halving. */
#ifndef FASTMM_SRC_MM_VMA_H
#define FASTMM_SRC_MM_VMA_H

#include "machine.h"

/* No page of an object, nor of anonymous memory, has this number or a higher one. */
#define VMA_PGOFF_LIMIT (UINT64_C(1) << 52)

/* Index of the first mapping that ends above `addr`; vma_count if there is none. */
size_t fastmm_vma_at(const struct fastmm_mm *mm, uint64_t addr);

/* Puts a copy of *spec into its place, with a reference to its object. -ENOMEM. */
int fastmm_vma_insert(struct fastmm_mm *mm, const struct fastmm_vma *spec);

/* Takes a mapping out of its place without dropping anything, and puts one in. */
struct fastmm_vma *fastmm_vma_take(struct fastmm_mm *mm, size_t at);
void fastmm_vma_give(struct fastmm_mm *mm, struct fastmm_vma *vma);

/* Frees the tables that serve [start, end) alone, where nothing is mapped any more. */
void fastmm_vma_prune_tables(struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* Forgets mappings [first, first + count) and drops their references. */
void fastmm_vma_remove(struct fastmm_mm *mm, size_t first, size_t count);

/*
 * Splits mappings so that none reaches into or out of [start, end), and says which ones lie in it.
 * -ENOMEM, and nothing was split.
 */
int fastmm_vma_isolate(struct fastmm_mm *mm, uint64_t start, uint64_t end, size_t *first,
                       size_t *count);

/* 0 if [start, end) is a range and mapped from end to end; -EINVAL, -ERANGE; -ENOMEM. */
int fastmm_vma_check_mapped(const struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* The flags that any mapping of [start, end) has. */
uint32_t fastmm_vma_flags(const struct fastmm_mm *mm, uint64_t start, uint64_t end);

/* What becomes of an entry. */
typedef fastmm_pte_t (*vma_change_fn)(struct fastmm_mm *mm, const struct fastmm_vma *vma,
                                      uint64_t addr, fastmm_pte_t pte);

/* Puts change()'s result into each entry of [start, end) that isn't empty, mapping by mapping. */
void fastmm_vma_change_entries(struct fastmm_mm *mm, uint64_t start, uint64_t end,
                               vma_change_fn change);

/*
 * As fastmm_vma_isolate(), but only as far as something has to change: from the first to the last
 * mapping of the range whose flags under `mask` aren't `value`.
 */
int fastmm_vma_isolate_changing(struct fastmm_mm *mm, uint64_t start, uint64_t end, uint32_t mask,
                                uint32_t value, size_t *first, size_t *count);

/* Flags of a mapping that has just changed. fastmm_vma_settle() takes it off again. */
#define VMA_CHANGED (1u << 31)
/* Beside it, of one that became longer: it takes in what has no pages, whoever's its own may be. */
#define VMA_GREW (1u << 30)

/* Joins what changed among mappings [first, first + count) with neighbours that are alike. */
void fastmm_vma_settle(struct fastmm_mm *mm, size_t first, size_t count);

/* Called before a mapping gets its first anonymous page. */
void fastmm_vma_prepare_anon(struct fastmm_mm *mm, struct fastmm_vma *vma);

/*
 * Called before a mapping gets its first guard: fork copies its entries, whatever it maps, from
 * then on. In anonymous memory a guard counts like a page besides (seen on Linux 6.18).
 */
void fastmm_vma_prepare_guard(struct fastmm_mm *mm, struct fastmm_vma *vma);

/* A name for anonymous pages that have nothing to do with any others so far. */
uint32_t fastmm_vma_new_anon(struct fastmm_machine *machine);

/* Recomputes page_prot after a change of flags. */
void fastmm_vma_update_prot(struct fastmm_vma *vma);

/* True if the mapping wants to hear of the first write to each shared page. */
static inline bool vma_tracks_writes(const struct fastmm_vma *vma)
{
    return (vma->object && vma->object->kind == FASTMM_OBJECT_FILE) ||
           ((vma->flags & FASTMM_VM_UFFD_WP) && !FASTMM_MM_BUG(5)) ||
           (vma->flags & FASTMM_VM_SOFT_TRACKED);
}

/* Is the next write by way of the entry to be found out, as the first since clear_refs? */
static inline bool vma_awaits_write(const struct fastmm_vma *vma, fastmm_pte_t pte)
{
    return (vma->flags & FASTMM_VM_SOFT_TRACKED) && !fastmm_pte_soft_dirty(pte);
}

/* Writes go to private copies. */
static inline bool vma_is_cow(const struct fastmm_vma *vma)
{
    return (vma->flags & (FASTMM_VM_SHARED | FASTMM_VM_MAYWRITE)) == FASTMM_VM_MAYWRITE;
}

static inline bool vma_is_anonymous(const struct fastmm_vma *vma)
{
    return !vma->object && !(vma->flags & FASTMM_VM_PFNMAP);
}

/*
 * Empty anonymous entries are protected by markers on request only: a read could fill them any
 * time. Asynchronous protection, which nobody has to answer, is such a request.
 */
static inline bool vma_marks_empty(const struct fastmm_vma *vma)
{
    return vma->object || (vma->flags & (FASTMM_VM_UFFD_UNPOPULATED | FASTMM_VM_UFFD_ASYNC));
}

/* The part of [start, end) that lies in the mapping, which it meets. */
static inline uint64_t vma_clip_start(const struct fastmm_vma *vma, uint64_t start)
{
    return start > vma->start ? start : vma->start;
}

static inline uint64_t vma_clip_end(const struct fastmm_vma *vma, uint64_t end)
{
    return end < vma->end ? end : vma->end;
}

/* Page of the object, raw frame, or number of the anonymous page, that `addr` maps. */
static inline uint64_t vma_page(const struct fastmm_vma *vma, uint64_t addr)
{
    return vma->pgoff + ((addr - vma->start) >> FASTMM_PAGE_SHIFT);
}

#endif
