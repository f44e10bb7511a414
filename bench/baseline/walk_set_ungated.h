/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_BENCH_WALK_SET_UNGATED_H
#define FASTMM_BENCH_WALK_SET_UNGATED_H

#include <fastmm/mm_inline.h>

void set_ungated(const struct fastmm_vma *vma, fastmm_pte_t *pte, uint64_t pfn, unsigned flags,
                 fastmm_pte_t orig);

#endif
