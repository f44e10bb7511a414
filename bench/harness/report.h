/* SPDX-License-Identifier: MIT */
/* The results as files: scorecard.csv, a line for each goal, and results.json, everything. */
#ifndef FASTMM_BENCH_REPORT_H
#define FASTMM_BENCH_REPORT_H

#include "machine.h"
#include "score.h"

#include <stddef.h>
#include <stdio.h>

struct report {
    const struct goal_score *scores;
    unsigned count;
    const struct machine *machine;
    const char *run;      /* "default" or "full" */
    double seconds;       /* that measuring took */
    char *const *figures; /* lines: case, name and value, separated by tabs */
    unsigned figure_count;
};

void report_csv(FILE *out, const struct report *report);
void report_json(FILE *out, const struct report *report);

/*
 * Makes the directory, and its parents, and tries to write there, so that a long run doesn't end
 * with a report that can't be saved. Returns 0 or a negative errno with what is wrong in `error`.
 */
int report_prepare(const char *directory, char *error, size_t size);
/* Writes both files; each replaces the former one only when it is complete. */
int report_write(const char *directory, const struct report *report, char *error, size_t size);

/* For reports of another kind: the directory alone, a file in it, and the members "machine" and
 * "warnings" of a JSON object. */
typedef void report_writer(FILE *out, const void *content);
int report_directory(const char *directory, char *error, size_t size);
int report_file(const char *directory, const char *name, report_writer *write, const void *content,
                char *error, size_t size);
void report_machine(FILE *out, const struct machine *machine);

struct report_figure {
    char of[512]; /* the case */
    char name[64];
    double value;
};

/* Figure number i. False for lines that are none: they come from another program. */
bool report_figure(const struct report *report, unsigned i, struct report_figure *figure);

#endif
