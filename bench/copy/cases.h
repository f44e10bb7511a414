/* SPDX-License-Identifier: MIT */
/* The groups of cases, each registered by a file of its own. */
#ifndef FASTMM_BENCH_COPY_CASES_H
#define FASTMM_BENCH_COPY_CASES_H

void copy_add_const(void);
void copy_add_fixed(void);
void copy_add_alias(void);
void copy_add_random(void);
void copy_add_huge(void);
void copy_add_code(void);

#endif
