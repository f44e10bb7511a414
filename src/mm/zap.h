/* SPDX-License-Identifier: MIT */
/* Emptying the entries of a mapping, whole or in part. */
#ifndef FASTMM_SRC_MM_ZAP_H
#define FASTMM_SRC_MM_ZAP_H

#include "vma.h"

enum zap_reason {
    ZAP_DONTNEED, /* the mapping stays: guards, and uffd-wp of pages that will come back, too */
    ZAP_ALL,      /* the mapping stays, and guards, nothing else */
    ZAP_UNMAP     /* the mapping goes, and everything with it: the caller prunes the tables next */
};

/* Pages of objects come back, and with them their protection. */
static inline bool zap_keeps_uffd_wp(const struct fastmm_vma *vma)
{
    return (vma->flags & FASTMM_VM_UFFD_WP) && !vma_is_anonymous(vma);
}

/* [start, end) lies in `vma`. */
void fastmm_zap_range(struct fastmm_mm *mm, const struct fastmm_vma *vma, uint64_t start,
                      uint64_t end, enum zap_reason reason);

#endif
