/* SPDX-License-Identifier: MIT */
/*
 * The half of the scorecard that runs in the bench binary: it compares two cases when asked to, and
 * knows nothing of goals. The driver starts one such process for each goal and talks to it over
 * pipes, a line for each request and answer, parts separated by tabs:
 *
 *   request   ours, rival, target seconds, limit in seconds, round (odd: the rival is set up first)
 *   answers   "block", order, ns per item of ours, of the rival, overlap   (each block)
 *             "unchecked"                        before them: there is no result to compare
 *             "end"                              the pair is measured
 *             "skip", reason                     the pair can't be measured here
 *             "differ", both digests              the two don't do the same work
 */
#ifndef FASTMM_BENCH_COMPARE_H
#define FASTMM_BENCH_COMPARE_H

#include <stdbool.h>

/*
 * Serves requests until the input ends. With `single` the process stays without a second thread
 * and refuses threaded cases; otherwise it makes one before it measures anything, so that every
 * case sees what it would see in a threaded program. The exit status.
 */
int compare_serve(bool single);

#endif
