/* SPDX-License-Identifier: MIT */
/* Which pairs of cases a goal compares: each of our cases that its pattern matches is a cell, and
 * the rival's cases with equal keys are what the cell is compared with. */
#ifndef FASTMM_BENCH_PLAN_H
#define FASTMM_BENCH_PLAN_H

#include "goals.h"

struct plan_cell {
    const char *ours;
    const char **rivals;
    unsigned rival_count;
};

struct plan {
    struct plan_cell *cells;
    unsigned count; /* cells chosen for this run */
    unsigned total; /* cells that the goal has */
};

/*
 * `names` are all cases of the goal's binary; the plan points into them. Without `full` only the
 * goal's default cells are chosen, which may be none. A cell without a rival, or one of
 * the goal's patterns that no cell matches, is a mistake: -EINVAL, and `error` says which.
 */
int plan_goal(const struct goal *goal, char *const *names, unsigned name_count, bool full,
              struct plan *out, char *error, size_t size);
void plan_free(struct plan *plan);

/* Pairs to measure. */
unsigned plan_pairs(const struct plan *plan);

#endif
