/* SPDX-License-Identifier: MIT */
/*
 * A seam for primitives of one's own: what a kernel engineer has in mind, in place of the
 * library's, under the same simulated machine. A shared object that exports
 *
 *     const struct fastmm_try fastmm_try = {.version = FASTMM_TRY_VERSION, .name = "mine",
 *                                           .normal_page = my_normal_page};
 *
 * is tried by `fastmm mm try mine.so`: held against the library's answers, run under random traces
 * and the running kernel, and timed beside the library's. Members that are NULL stay the library's.
 */
#ifndef FASTMM_TRY_H
#define FASTMM_TRY_H

#include <fastmm/mm_inline.h>

#define FASTMM_TRY_VERSION 1

/* What a fork body asks of the machine. */
struct fastmm_try_host {
    enum fastmm_frame_kind (*kind)(void *context, uint64_t pfn);
    /* May the page be under DMA, and is it this process's alone? Then the child gets a copy. */
    bool (*must_copy)(void *context, uint64_t pfn);
    /* A page for such a copy, mapped once and exclusive. -ENOMEM. */
    int (*new_page)(void *context, uint64_t *pfn);
    /* One more entry maps the page, which is nobody's alone any more. -EOVERFLOW. */
    int (*share)(void *context, uint64_t pfn);
    /* One more entry names the slot of a swap entry. */
    void (*share_swap)(void *context, fastmm_pte_t entry);
};

/* The part of a leaf table that lies in one mapping, on its way into a child. */
struct fastmm_try_fork {
    struct fastmm_frames *frames;
    const struct fastmm_vma *from, *to; /* the parent's mapping and the child's */
    uint64_t addr;                      /* of the first entry */
    fastmm_pte_t *source, *target;      /* target[] is all zero */
    unsigned count;
    int64_t *rss; /* by enum fastmm_rss: to be increased by what the child counts */
    const struct fastmm_try_host *host;
    void *context; /* for the host */
};

struct fastmm_try {
    unsigned version;
    const char *name;
    /* As fastmm_normal_page(). */
    uint64_t (*normal_page)(struct fastmm_frames *frames, const struct fastmm_vma *vma,
                            uint64_t addr, fastmm_pte_t pte);
    /* As fastmm_set_range(). */
    void (*set_range)(const struct fastmm_vma *vma, fastmm_pte_t *ptes, uint64_t pfn, size_t n,
                      unsigned flags, fastmm_pte_t orig);
    /*
     * Fills target[] and write-protects source[]. 0, or what the host said; what was done before a
     * failure is counted in rss[].
     */
    int (*fork_range)(const struct fastmm_try_fork *fork);
};

#endif
