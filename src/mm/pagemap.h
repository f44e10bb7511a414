/* SPDX-License-Identifier: MIT */
/* What PAGEMAP_SCAN says of one page, for those who look and for those who act on it. */
#ifndef FASTMM_SRC_MM_PAGEMAP_H
#define FASTMM_SRC_MM_PAGEMAP_H

#include <fastmm/walk.h>

/* FASTMM_PAGE_IS_* of the entry at `addr`, empty or not, of a table. */
unsigned fastmm_categories_of_entry(const struct fastmm_mm *mm, const struct fastmm_vma *vma,
                                    uint64_t addr, fastmm_pte_t pte);

/* The same where there is no table. */
unsigned fastmm_categories_of_hole(const struct fastmm_mm *mm, const struct fastmm_vma *vma);

#endif
