/* SPDX-License-Identifier: MIT */
/*
 * What the mm developers' reports say of a series of times: the least, the mean, how far it
 * scatters, the most, and means of the best part, which leave out what interrupts did.
 */
#ifndef FASTMM_RESULTS_SAMPLE_H
#define FASTMM_RESULTS_SAMPLE_H

enum sample_figure {
    SAMPLE_MIN,
    SAMPLE_AMEAN,
    SAMPLE_STDDEV,
    SAMPLE_COEFFVAR, /* standard deviation in per cent of the mean */
    SAMPLE_MAX,
    SAMPLE_BAMEAN_50, /* mean of the best 50 % */
    SAMPLE_BAMEAN_95,
    SAMPLE_BAMEAN_99,
    SAMPLE_FIGURES
};

struct sample {
    unsigned count;
    double figure[SAMPLE_FIGURES]; /* NAN where there are too few values for it */
};

/*
 * Less is better. A mean of the best part needs enough values that it leaves out at least one: 2,
 * 20 and 100. A deviation needs two.
 */
void sample_describe(const double *values, unsigned count, struct sample *out);

/* "Min", "BAmean-95". */
const char *sample_name(enum sample_figure figure);

#endif
