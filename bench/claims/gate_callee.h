/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_BENCH_CLAIMS_GATE_CALLEE_H
#define FASTMM_BENCH_CLAIMS_GATE_CALLEE_H

#include "placed.h"

#include <fastmm/swp.h>

/* Whether the entry is a marker of uffd-wp, once for each placement of its callers. */
#define MARKER(p)                 JOIN3(marker_uffd_wp, p, CONFIG)
#define DECLARE_CALLEE(p, unused) bool MARKER(p)(fastmm_pte_t pte);
EACH_PLACEMENT(DECLARE_CALLEE, )

#endif
