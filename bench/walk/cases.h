/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_BENCH_WALK_CASES_H
#define FASTMM_BENCH_WALK_CASES_H

/* The setter alone: walk/set_one and walk/set_range. */
void add_set_cases(void);

#endif
