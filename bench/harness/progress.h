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
/* Before each cell: number `cell` of `cells` of the goal, or of its worst cells again. `left`
 * is the seconds that the whole run will still take. */
void progress_cell(const struct progress *progress, const char *goal, unsigned cell, unsigned cells,
                   bool again, double left);
/* After a goal: its result in a few words. */
void progress_goal(struct progress *progress, const char *goal, const char *result, double left);

#endif
