/* SPDX-License-Identifier: MIT */
/* The normal-page lookup out of line, once for each placement of its callers. */
#ifndef FASTMM_BENCH_CLAIMS_FORK_CALLEE_H
#define FASTMM_BENCH_CLAIMS_FORK_CALLEE_H

#include "placed.h"

#include <fastmm/mm_inline.h>

#define NORMAL_PAGE(p) JOIN3(normal_page, p, CONFIG)
#define DECLARE_CALLEE(p, unused)                                                        \
    uint64_t NORMAL_PAGE(p)(struct fastmm_frames * frames, const struct fastmm_vma *vma, \
                            uint64_t addr, fastmm_pte_t pte);
EACH_PLACEMENT(DECLARE_CALLEE, )

#endif
