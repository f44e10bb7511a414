/* SPDX-License-Identifier: MIT */
/* The claims as people and programs read them. */
#ifndef FASTMM_BENCH_CLAIMS_OUTPUT_H
#define FASTMM_BENCH_CLAIMS_OUTPUT_H

#include "claims.h"
#include "harness/machine.h"

#include <stddef.h>
#include <stdio.h>

struct claims_report {
    const struct claims *claims;
    const struct machine *machine;
    double seconds;
};

enum { CLAIM_SENTENCES = 3, CLAIM_SENTENCE = 1024 };

/* What was decided for this CPU. */
void claims_sentence(const struct claims *claims, int number, char *out, size_t size);

/*
 * Sentences first, then the tables: of the comparisons that the sentences are about and their like
 * in full, of the others a line each.
 */
void claims_print(FILE *out, const struct claims_report *report);
/* The same with all tables in full, and the machine. */
void claims_text(FILE *out, const void *report);

void claims_json(FILE *out, const void *report);
void claims_csv(FILE *out, const void *report);

/*
 * Draws directory/claims/claim<n>.svg by gnuplot, whose input stays beside each. 0 or a negative
 * errno, with `error` saying what is wrong; a missing gnuplot is -ENOENT.
 */
int claims_plot(const char *directory, const struct claims_report *report, char *error,
                size_t size);

#endif
