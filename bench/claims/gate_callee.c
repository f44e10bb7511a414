/* SPDX-License-Identifier: MIT */
/* The marker's decoder, in a file of its own, so that it stays the call that it was. */
#include "gate_callee.h"

#define DEFINE_CALLEE(p, unused)                                        \
    PLACED(p, "claim_text")                                             \
    bool MARKER(p)(fastmm_pte_t pte)                                    \
    {                                                                   \
        return (fastmm_marker_flags(pte) & FASTMM_MARKER_UFFD_WP) != 0; \
    }
EACH_PLACEMENT(DEFINE_CALLEE, )
