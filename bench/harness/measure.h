/* SPDX-License-Identifier: MIT */
/* Runs the goals: plans their pairs, has them measured by the bench binaries, and scores them. */
#ifndef FASTMM_BENCH_MEASURE_H
#define FASTMM_BENCH_MEASURE_H

#include "goals.h"
#include "plan.h"
#include "score.h"

#include <stdbool.h>
#include <stddef.h>

struct measured_goal {
    const struct goal *goal;
    struct plan plan;
    char *path; /* of its bench binary */
};

struct binary {
    const char *name;
    const char *path;
    char **names; /* of its cases */
    unsigned count;
};

struct measurement {
    struct measured_goal *goals;
    struct goal_score *scores;
    unsigned count;
    struct binary *binaries;
    unsigned binary_count;
    char **figures; /* lines: case, name and value, separated by tabs */
    unsigned figure_count;
    double seconds;
    bool wrong; /* different results, or a bench binary that broke */
};

/*
 * Asks the bench binaries in `directory` for their cases and plans every goal. Returns 0 or a
 * negative errno with `error` saying which goal or binary is at fault.
 */
int measure_plan(struct measurement *out, const struct goals *goals, const char *directory,
                 bool full, char *error, size_t size);
/* Measures and fills `scores`. Without `full` it ends within six minutes. */
void measure_run(struct measurement *measurement, bool full);
void measure_free(struct measurement *measurement);

#endif
