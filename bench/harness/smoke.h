/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_BENCH_SMOKE_H
#define FASTMM_BENCH_SMOKE_H

/*
 * Takes each case once through setup, digest, one iteration and teardown, and prints what was
 * skipped and why. Returns the exit status: 1 when a case failed to set up without giving a reason.
 */
int smoke_run(void);

#endif
