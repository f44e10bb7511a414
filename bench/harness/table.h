/* SPDX-License-Identifier: MIT */
/* The scorecard as people read it. */
#ifndef FASTMM_BENCH_TABLE_H
#define FASTMM_BENCH_TABLE_H

#include "report.h"

#include <stdio.h>

/* A line about the machine, and its warnings. */
void table_machine(FILE *out, const struct machine *machine);
/* A goal's result in a few words, for progress. */
void table_words(const struct goal_score *score, char *out, size_t size);
void table_print(FILE *out, const struct report *report);

#endif
