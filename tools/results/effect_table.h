/* SPDX-License-Identifier: MIT */
/* Comparisons as mm people read them, with what the statistics make of each. */
#ifndef FASTMM_RESULTS_EFFECT_TABLE_H
#define FASTMM_RESULTS_EFFECT_TABLE_H

#include "effect.h"
#include "sample.h"

#include <stdio.h>

struct effect_row {
    const char *title;    /* what is compared */
    const char *label[2]; /* base, and what is to replace it */
    struct sample sample[2];
    struct effect effect;
    unsigned text[2]; /* bytes of code, or 0 */
    const char *note; /* a line more, or NULL */
    bool brief;       /* what came out of it in one line, without times and note */
};

/* Says first what the columns are; times are ns. */
void effect_table(FILE *out, const struct effect_row *rows, unsigned count);

/* "+1.20 % [0.90, 1.50]*", for a sentence. */
void effect_words(const struct effect *effect, char *out, size_t size);

#endif
