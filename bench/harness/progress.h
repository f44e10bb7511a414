/* SPDX-License-Identifier: MIT */
/* How far a run is and how long it still takes, on standard error: one line that is rewritten on a
 * terminal, one line for each goal elsewhere. */
#ifndef FASTMM_BENCH_PROGRESS_H
#define FASTMM_BENCH_PROGRESS_H

#include <stdbool.h>

struct progress {
    bool terminal;
    unsigned goal, goals;
    double start; /* seconds on the monotonic clock */
};

void progress_start(struct progress *progress, unsigned goals);
/* Seconds since progress_start(). */
double progress_elapsed(const struct progress *progress);
/* Before each pair: number `pair` of `pairs` of the goal, or measuring a worst cell again. `left`
 * is the seconds that the whole run will still take. */
void progress_pair(const struct progress *progress, const char *goal, unsigned pair, unsigned pairs,
                   bool again, double left);
/* After a goal: its result in a few words. */
void progress_goal(struct progress *progress, const char *goal, const char *result, double left);

#endif
