/* SPDX-License-Identifier: MIT */
/*
 * What a careful programmer writes for tables that one thread owns: a level walk, everything
 * inlined, nothing locked.
 */
#include "walk_level.h"

static const struct style style = {.lookup = LOOKUP_INLINE};

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

const struct rival_ops rival_level_unlocked = {copy, zap, scan};
