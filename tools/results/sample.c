/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include "need.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean(const double *values, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

static double deviation(const double *values, unsigned count, double about)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += (values[i] - about) * (values[i] - about);
    return count > 1 ? sqrt(sum / (count - 1)) : NAN;
}

/* Of sorted values. */
static double best_mean(const double *values, unsigned count, unsigned percent)
{
    unsigned best = (unsigned)((unsigned long long)count * percent / 100);
    return (unsigned long long)count * (100 - percent) >= 100 ? mean(values, best) : NAN;
}

void sample_describe(const double *values, unsigned count, struct sample *out)
{
    out->count = count;
    for (int i = 0; i < SAMPLE_FIGURES; i++)
        out->figure[i] = NAN;
    if (!count)
        return;
    double *sorted = need(malloc(count * sizeof(*sorted)));
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_value);
    double *figure = out->figure;
    figure[SAMPLE_MIN] = sorted[0];
    figure[SAMPLE_AMEAN] = mean(sorted, count);
    figure[SAMPLE_STDDEV] = deviation(sorted, count, figure[SAMPLE_AMEAN]);
    figure[SAMPLE_COEFFVAR] = 100 * figure[SAMPLE_STDDEV] / figure[SAMPLE_AMEAN];
    figure[SAMPLE_MAX] = sorted[count - 1];
    figure[SAMPLE_BAMEAN_50] = best_mean(sorted, count, 50);
    figure[SAMPLE_BAMEAN_95] = best_mean(sorted, count, 95);
    figure[SAMPLE_BAMEAN_99] = best_mean(sorted, count, 99);
    free(sorted);
}

const char *sample_name(enum sample_figure figure)
{
    static const char *const names[] = {"Min", "Amean",     "Stddev",    "CoeffVar",
                                        "Max", "BAmean-50", "BAmean-95", "BAmean-99"};
    return names[figure];
}
