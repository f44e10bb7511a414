/* SPDX-License-Identifier: MIT */
/*
 * Whether one way is faster than another, and how sure that is.
 *
 * What is resampled are clusters, not single values: the blocks that one placement of the code
 * gave, or one process, are alike, and so many of them say little more than one. The unit is the
 * median of a cluster's logarithms, which a stolen CPU doesn't move; units farther than 4 standard
 * deviations (by the median) from the middle are moved there.
 *
 * The interval and the probability come from a bootstrap of the studentised mean: with a dozen
 * clusters the plain percentile bootstrap calls one difference in ten significant where there is
 * none, this one about as many as it says. Holm's method keeps the whole table to 5 %.
 */
#ifndef FASTMM_RESULTS_EFFECT_H
#define FASTMM_RESULTS_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

/* Times, less is better, all above 0. */
struct effect_series {
    unsigned count;
    const double *value;
    const unsigned *cluster; /* of each value, rising; NULL when each stands for itself */
};

enum effect_verdict {
    EFFECT_BETTER,
    EFFECT_WORSE,
    EFFECT_NONE,      /* no difference that matters: the interval lies within 1 % of none */
    EFFECT_UNDECIDED, /* too noisy to say */
};

struct effect {
    unsigned clusters; /* that entered; of the side that has fewer */
    double gain;       /* time saved, in per cent of the base; below 0 it is slower */
    double low, high;  /* 95 % interval of the gain; NAN when there are too few clusters */
    double p;          /* that such a difference comes from nothing; 1 with too few clusters */
    double holm;       /* the same, corrected for the table */
    double detectable; /* per cent that would have been seen in four runs of five; NAN as above */
    double floor;      /* 0, or what the caller sets: per cent that nothing makes here (A/A) */
    bool star;         /* holm is below 5 % */
    enum effect_verdict verdict;
};

enum { EFFECT_LEAST_CLUSTERS = 4 };

/*
 * Base and what is to replace it, measured in turns: value i of both belongs to one block. `family`
 * is the number of comparisons in the table. The same seed gives the same figures. Fills all but
 * what effect_judge() does.
 */
void effect_paired(const struct effect_series *base, const double *other, unsigned family,
                   uint64_t seed, struct effect *out);

/* The same for two series that have nothing to do with each other. */
void effect_unpaired(const struct effect_series *base, const struct effect_series *other,
                     unsigned family, uint64_t seed, struct effect *out);

/*
 * Corrects the table and gives the verdicts; a gain that is no larger than its floor is neither
 * better nor worse.
 */
void effect_judge(struct effect *const *effects, unsigned count);

/* "better" */
const char *effect_verdict_name(enum effect_verdict verdict);

#endif
