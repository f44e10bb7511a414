/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_BENCH_WALK_SET_MARKER_H
#define FASTMM_BENCH_WALK_SET_MARKER_H

#include <fastmm/swp.h>

bool marker_uffd_wp(fastmm_pte_t pte);

#endif
