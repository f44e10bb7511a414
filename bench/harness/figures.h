/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_BENCH_FIGURES_H
#define FASTMM_BENCH_FIGURES_H

/*
 * Runs each case whose counters are results in themselves once, and prints a line for each counter:
 * case, name and value, separated by tabs. Nothing for a case that is skipped. Returns the exit
 * status.
 */
int figures_run(void);

#endif
