/* SPDX-License-Identifier: MIT */
/*
 * As kernels are built: a level walk, the normal-page lookup out of line, and three locked
 * instructions a page (two counts and the entry).
 */
#include "walk_level.h"

static const struct style style = {LOCK_ALL, LOOKUP_CALL, fastmm_normal_page_call};

static int copy(const struct rival_copy *c)
{
    return level_copy(c, style);
}

static void zap(struct rival *r, struct fastmm_mm *mm, const struct fastmm_vma *vma)
{
    level_zap(r, mm, vma, style);
}

static void scan(const struct fastmm_mm *mm, struct fastmm_scan *scan)
{
    level_scan(mm, scan);
}

const struct rival_ops rival_kernel_style = {copy, zap, scan};
