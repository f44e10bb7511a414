/* SPDX-License-Identifier: MIT */
/*
 * A fault's last step, setting the entry, with four ways to find out whether the entry that was
 * there carried a uffd-wp marker, alone and at the end of a whole fault.
 */
#ifndef FASTMM_BENCH_CLAIMS_GATE_VARIANTS_H
#define FASTMM_BENCH_CLAIMS_GATE_VARIANTS_H

#include "placed.h"

#include <fastmm/mm_inline.h>

enum gate { GATE_NONE, GATE_NONE_AGAIN, GATE_LAST, GATE_FIRST, GATE_INLINE, GATES };
enum gate_job { GATE_SETTER, GATE_FAULT_0, GATE_FAULT_4, GATE_JOBS };

struct gate_page {
    uint32_t refs, maps, flags, order;
    uint64_t rest[6];
} __attribute__((aligned(64)));

/* A leaf table, and what a fault on it goes through. */
struct gate_space {
    struct fastmm_vma vma;
    uint64_t top[FASTMM_PTES], upper[FASTMM_PTES], middle[FASTMM_PTES]; /* addresses of tables */
    fastmm_pte_t pte[FASTMM_PTES];
    const fastmm_pte_t *orig; /* the entries that were there */
    unsigned entries;         /* of the table are set */
    uint32_t lock;
    int64_t rss;
    struct gate_page page[FASTMM_PTES];
};

/* Sets the first entries of the table anew. */
typedef void gate_run(struct gate_space *s);

struct gate_variant {
    gate_run *run[PLACEMENTS];
    unsigned (*text)(void); /* bytes of run[0] */
};

struct gate_variants {
    struct gate_variant variant[GATE_JOBS][GATES];
};

#endif
