/* SPDX-License-Identifier: MIT */
/* From measured pairs to one line of the scorecard. Nothing here measures. */
#ifndef FASTMM_BENCH_SCORE_H
#define FASTMM_BENCH_SCORE_H

#include "goals.h"
#include "plan.h"
#include "stats.h"
#include "worker.h"

#include <stdint.h>

enum { SCORE_SEED = 1 }; /* of every interval: the same measurements give the same report */

struct cell_score {
    const struct plan_cell *cell;
    struct pair_result *pairs; /* one for each rival */
    bool measured;
    const char *reason; /* unless measured */
    unsigned best;      /* the rival that leaves the least ratio */
    double ratio;
    struct stats_interval interval;
    bool again;         /* measured twice, because it was among the worst */
    double first_ratio; /* of the first time, which doesn't count */
};

enum target { TARGET_NONE, TARGET_MET, TARGET_MISSED };

struct goal_score {
    const struct goal *goal;
    unsigned total; /* cells that the goal has; `count` are in this run */
    unsigned count;
    struct cell_score *cells;

    unsigned measured;  /* cells */
    const char *reason; /* when nothing is measured */
    double geomean, worst;
    struct stats_interval interval;
    const struct cell_score *worst_cell;
    enum stats_verdict verdict;
    enum target target;
    bool wrong; /* a pair gave different results or broke its process: the run fails */
};

/* Sums up one cell from its pairs. Pairs that were skipped leave the other rivals. */
void score_cell(struct cell_score *cell);
/* Sums up a goal from its cells. */
void score_goal(struct goal_score *score);
/* Up to `most` of the measured cells with the least ratios, least first; returns how many. */
unsigned score_worst(const struct goal_score *score, struct cell_score **out, unsigned most);

/* "ahead", ..., or "skipped". */
const char *score_verdict(const struct goal_score *score);
const char *score_target(const struct goal_score *score);
/* The implementations that the goal was compared with, separated by blanks; of a goal that was
 * skipped, those it was to be compared with. */
void score_baseline(const struct goal_score *score, char *out, size_t size);
/* Those that could not be measured in any cell of a goal that was. */
void score_left_out(const struct goal_score *score, char *out, size_t size);
/* Median ns per item of a measured pair. */
double score_time(const struct pair_result *pair, bool ours);
void score_free(struct goal_score *score);

#endif
