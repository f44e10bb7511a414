/* SPDX-License-Identifier: MIT */
/*
 * What a run has tried: operations by what they met, entry for entry. A cell is one operation on
 * one kind of entry in one kind of mapping, with the page mapped once or more often. Cells that no
 * run can reach are known, with the reason, so that those never reached stand out.
 */
#ifndef FASTMM_TOOLS_MM_COVERAGE_H
#define FASTMM_TOOLS_MM_COVERAGE_H

#include "mm/world.h"

enum coverage_vma {
    COVERAGE_UNMAPPED,
    COVERAGE_ANON,
    COVERAGE_ANON_UFFD, /* registered with userfaultfd */
    COVERAGE_SHMEM_PRIVATE,
    COVERAGE_SHMEM_PRIVATE_UFFD,
    COVERAGE_SHMEM_SHARED,
    COVERAGE_SHMEM_SHARED_UFFD,
    COVERAGE_FILE_PRIVATE,
    COVERAGE_FILE_PRIVATE_UFFD,
    COVERAGE_FILE_SHARED,
    COVERAGE_FILE_SHARED_UFFD,
    COVERAGE_VMAS
};

enum coverage_entry {
    COVERAGE_NONE,
    COVERAGE_ZERO,
    COVERAGE_ZERO_WP,
    COVERAGE_ANON_PAGE,
    COVERAGE_ANON_PAGE_WP,
    COVERAGE_CACHED, /* a page of the mapping's object */
    COVERAGE_CACHED_WP,
    COVERAGE_SWAP,
    COVERAGE_SWAP_WP,
    COVERAGE_MARK_UFFD_WP,
    COVERAGE_MARK_POISON,
    COVERAGE_MARK_GUARD,
    COVERAGE_ENTRIES
};

struct coverage {
    uint64_t count[TRACE_VERBS][COVERAGE_VMAS][COVERAGE_ENTRIES]
                  [2]; /* last: mapped more than once */
};

/* Counts what `op` is about to meet in `view`, which `world` showed before it. */
void coverage_add(struct coverage *coverage, const struct trace_op *op, const struct world *world,
                  const struct world_view *view);

/* Why no run that is made up has the operation meet that, or NULL. */
const char *coverage_impossible(enum trace_verb verb, enum coverage_vma vma,
                                enum coverage_entry entry, bool shared);

/* A table, the cells that lack something to `enough`, and the reasons for what is impossible. */
void coverage_print(FILE *out, const struct coverage *coverage, uint64_t enough);

#endif
