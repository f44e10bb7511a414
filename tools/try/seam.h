/* SPDX-License-Identifier: MIT */
/*
 * Included before every source of the simulated machine in the program that tries primitives: where
 * those use the library's, they use whatever is being tried.
 */
#ifndef FASTMM_TOOLS_TRY_SEAM_H
#define FASTMM_TOOLS_TRY_SEAM_H

#include "fastmm_try.h"

extern struct fastmm_try fastmm_tried; /* no member is NULL */

#define fastmm_normal_page(frames, vma, addr, pte) fastmm_tried.normal_page(frames, vma, addr, pte)
#define fastmm_set_range(vma, ptes, pfn, n, flags, orig) \
    fastmm_tried.set_range(vma, ptes, pfn, n, flags, orig)

#endif
