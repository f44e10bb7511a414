/* SPDX-License-Identifier: MIT */
/* In a file of its own, so that it stays the call that it was. */
#include "walk_set_marker.h"

bool marker_uffd_wp(fastmm_pte_t pte)
{
    return (fastmm_marker_flags(pte) & FASTMM_MARKER_UFFD_WP) != 0;
}
