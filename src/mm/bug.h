/* SPDX-License-Identifier: MIT */
/*
 * Rules that kernels once had wrong. In a build with FASTMM_MM_BUGS each can be switched on at run
 * time, by the number of the trace that has to notice it (tests/scenarios/H*). In every other build
 * a switch is the constant 0, and nothing is left of it.
 */
#ifndef FASTMM_SRC_MM_BUG_H
#define FASTMM_SRC_MM_BUG_H

#if defined(FASTMM_MM_BUGS)
extern unsigned fastmm_mm_bug; /* the one that is on, or 0 */
#    define FASTMM_MM_BUG(number) (fastmm_mm_bug == (number))
#else
#    define FASTMM_MM_BUG(number) 0
#endif

#endif
