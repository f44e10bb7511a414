/* SPDX-License-Identifier: MIT */
/*
 * How the time of a run is divided: between the pairs that are compared, and within a pair into
 * blocks. A block is ours, rival, rival, ours or the other way round (ABBA, BAAB), four batches, so
 * that a steady drift of the machine falls on both sides alike.
 */
#ifndef FASTMM_BENCH_BUDGET_H
#define FASTMM_BENCH_BUDGET_H

#include <stdbool.h>

/* In one round, that is, in one process. */
enum { BUDGET_MIN_BLOCKS = 20, BUDGET_MAX_BLOCKS = 40 };

struct budget_blocks {
    unsigned blocks; /* BUDGET_MIN_BLOCKS to BUDGET_MAX_BLOCKS */
    bool fits;       /* false when not even the least number ends within `limit` */
    double least;    /* seconds for the least number of blocks */
};

/*
 * As many blocks as `target` seconds hold, when a batch of ours and one of the rival's last that
 * many seconds. At least BUDGET_MIN_BLOCKS, whatever the target says, if `limit` allows.
 */
struct budget_blocks budget_blocks(double ours, double rival, double target, double limit);

/*
 * Iterations for the next try at a batch of `wanted` ns, after `iterations` took `ns`; more than
 * before, and never more than 16 times as many, since a first try is a poor guide.
 */
unsigned long long budget_iterations(unsigned long long iterations, double ns, double wanted);

/* Seconds for the next pair: its share by weight of those left, which it may also leave unused. */
double budget_share(double seconds_left, double weight, double weight_left);

#endif
