/* SPDX-License-Identifier: MIT */
/* Copying the entries of a mapping at fork, as kernels do it, in each variant of the claim. */
#ifndef FASTMM_BENCH_CLAIMS_FORK_VARIANTS_H
#define FASTMM_BENCH_CLAIMS_FORK_VARIANTS_H

#include "baseline/walk_rival.h"
#include "placed.h"

enum fork_lookup { FORK_CALL, FORK_CALL_AGAIN, FORK_INLINE, FORK_FAST, FORK_LOOKUPS };
/* None, one and three locked operations a page; with one there is no second call. */
enum { FORK_LOCKS = 3 };

struct fork_variant {
    int (*copy[PLACEMENTS])(const struct rival_copy *c);
    unsigned (*text)(void); /* bytes of copy[0] */
};

struct fork_variants {
    struct fork_variant variant[FORK_LOCKS][FORK_LOOKUPS];
    unsigned (*callee_text)(void); /* bytes of the lookup out of line */
};

#endif
