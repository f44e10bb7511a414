/* SPDX-License-Identifier: MIT */
/* In a file of its own, so that it stays a call. */
#include "fork_callee.h"

#define DEFINE_CALLEE(p, unused)                                                         \
    PLACED(p, SECTION(p, JOIN2(normal_page, CONFIG)))                                    \
    uint64_t NORMAL_PAGE(p)(struct fastmm_frames * frames, const struct fastmm_vma *vma, \
                            uint64_t addr, fastmm_pte_t pte)                             \
    {                                                                                    \
        return fastmm_normal_page_inline(frames, vma, addr, pte);                        \
    }
EACH_PLACEMENT(DEFINE_CALLEE, )
