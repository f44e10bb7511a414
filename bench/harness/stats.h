/* SPDX-License-Identifier: MIT */
/*
 * From the ratios of single blocks to a figure and an opinion. All ratios are the rival's time over
 * ours: above 1 we are ahead. Medians, because a timer interrupt or a stolen CPU spoils single
 * blocks by any factor; a geometric mean over cells, because a mean of ratios must not depend on
 * which side is the numerator.
 */
#ifndef FASTMM_BENCH_STATS_H
#define FASTMM_BENCH_STATS_H

#include <stdint.h>

/*
 * Block ratios against one rival, round by round: blocks of one round share a process, and with it
 * the placement of code and data, so they are more alike than blocks of different rounds.
 */
struct stats_blocks {
    unsigned count;
    const double *ratios;
    const unsigned *rounds; /* the round of each block, rising; NULL when all are of one */
};

/* One cell: what was measured against each of its rivals. */
struct stats_cell {
    unsigned rivals;
    const struct stats_blocks *rival;
};

struct stats_interval {
    double low, high;
};

enum { STATS_MAX_ROUNDS = 16 };

enum stats_verdict { STATS_AHEAD, STATS_EVEN, STATS_BEHIND, STATS_UNDECIDED };

/* Sorts the values. 0 of none. */
double stats_median(double *values, unsigned count);
double stats_geomean(const double *values, unsigned count);

/* The median ratio against the best rival, the one that leaves the least; *best is its index. */
double stats_cell_ratio(const struct stats_cell *cell, unsigned *best);

/*
 * 95 % interval of the geometric mean over the cells: for every pair rounds are drawn anew, with
 * replacement, and blocks within them, and the whole statistic, choice of the best rival included,
 * is computed for each draw. The same seed gives the same interval.
 */
struct stats_interval stats_bootstrap(const struct stats_cell *cells, unsigned count,
                                      uint64_t seed);

/*
 * Ahead or behind when the interval excludes 1 and the difference is at least 2 %: less is within
 * what the placement of code and data does. Even when the interval lies within 5 % of 1. Otherwise
 * too noisy to say.
 */
enum stats_verdict stats_judge(double geomean, struct stats_interval interval);
const char *stats_verdict_name(enum stats_verdict verdict);

#endif
