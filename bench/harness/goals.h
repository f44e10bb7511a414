/* SPDX-License-Identifier: MIT */
/* The goals of bench/goals.csv, whose comment at its top describes the columns. */
#ifndef FASTMM_BENCH_GOALS_H
#define FASTMM_BENCH_GOALS_H

#include <stdbool.h>
#include <stddef.h>

struct goal {
    char *id, *what, *binary;
    bool single; /* measured in a process that never made a thread */
    char *ours, *rivals, *keys, *cells;
    double target_geomean, target_worst; /* 0 for none */
    char *line_text;                     /* what the strings above point into */
};

struct goals {
    struct goal *goal;
    unsigned count;
    /* The part that the targets were set for: how its "cpu_model" (machine.h) begins. Empty: any.
     */
    char reference[64];
};

/*
 * Reads the file. On failure returns a negative errno and leaves in `error` what is wrong, starting
 * with "<path>:<line>: " where it is the content.
 */
int goals_read(const char *path, struct goals *out, char *error, size_t size);
void goals_free(struct goals *goals);
/* Leaves the targets out unless they were set for this part; true if they were. */
bool goals_suit(struct goals *goals, const char *cpu_model);

#endif
