/* SPDX-License-Identifier: MIT */
/*
 * What the rivals of the walker have in common: page metadata as kernels lay it out, one cache
 * line a page with each count in a word of its own, beside the library's own tables and mappings.
 * A rival brings its own way of copying, zapping and scanning the entries of a mapping, and meets
 * the same contract as the library: same entries, counts, counters and errors.
 */
#ifndef FASTMM_BENCH_WALK_RIVAL_H
#define FASTMM_BENCH_WALK_RIVAL_H

#include "mm/frame.h"
#include "mm/table.h"
#include "mm/vma.h"

#include <fastmm/mm_inline.h>

#define PAGE_ANON      1u
#define PAGE_SHMEM     2u
#define PAGE_EXCLUSIVE 4u
#define PAGE_PINNED    8u
#define PAGE_DIRTY     16u
#define PAGE_YOUNG     32u

#define PAGE_COUNT_MAX (UINT32_C(1) << 31)

struct page {
    uint32_t refs, maps, flags, order;
    uint64_t rest[6]; /* mapping, index, list: what real ones hold beside */
} __attribute__((aligned(64)));

struct rival {
    struct fastmm_machine *machine;
    struct page *pages; /* by frame */
    uint64_t count;
};

/* The entries of one mapping, on their way into a child. */
struct rival_copy {
    struct rival *rival;
    struct fastmm_mm *parent, *child;
    const struct fastmm_vma *from, *to;
    bool cow, shared, keep_uffd_wp;
};

struct rival_ops {
    int (*copy)(const struct rival_copy *c);
    void (*zap)(struct rival *r, struct fastmm_mm *mm, const struct fastmm_vma *vma);
    void (*scan)(const struct fastmm_mm *mm, struct fastmm_scan *scan);
};

/* One each in a file of its own. */
extern const struct rival_ops rival_naive, rival_kernel_style, rival_level_unlocked;

/* Metadata for all frames of the machine, as they are now. False for want of memory. */
bool rival_open(struct rival *r, struct fastmm_machine *machine);
void rival_close(struct rival *r);

int rival_fork(struct rival *r, const struct rival_ops *ops, struct fastmm_mm *parent,
               struct fastmm_mm **child);

/* Unmaps everything, which is what exit does. */
void rival_unmap_all(struct rival *r, const struct rival_ops *ops, struct fastmm_mm *mm);

/* A copy for the child of a page that is pinned. Never happens in the layouts, and must be there.
 */
int rival_copy_pinned(const struct rival_copy *c, fastmm_pte_t source, fastmm_pte_t *target,
                      struct rss_change *rss);

/* The last reference of a page is gone. */
void rival_free_page(struct rival *r, uint64_t pfn);

#endif
