/* SPDX-License-Identifier: MIT */
#include "effect.h"

#include "need.h"
#include "random.h"

#include <math.h>
#include <string.h>

enum { LEAST_DRAWS = 10000 };
static const double level = 0.05;
static const double matters = 1; /* per cent: less than this is no difference */
static const double power_80 = 0.8416;

/* What one side brings into the mean: a figure for each cluster. */
struct units {
    unsigned count;
    double *value;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/*
 * A cluster that was disturbed in most of its blocks lies many deviations from the others. It is
 * moved to where the farthest of undisturbed ones would be, so that it costs little and still
 * counts.
 */
static void tame(struct units *units)
{
    const double farthest = 4 * 1.4826; /* deviations of normal ones, by their median */
    double *off = need(malloc((units->count + 1) * sizeof(double)));
    memcpy(off, units->value, units->count * sizeof(double));
    double middle = units->count ? median(off, units->count) : 0;
    for (unsigned i = 0; i < units->count; i++)
        off[i] = fabs(units->value[i] - middle);
    double reach = units->count ? farthest * median(off, units->count) : 0;
    for (unsigned i = 0; i < units->count && reach > 0; i++)
        units->value[i] = fmin(middle + reach, fmax(middle - reach, units->value[i]));
    free(off);
}

/* Logarithms of the series, or of its ratio to another, by cluster. */
static struct units units_of(const struct effect_series *series, const double *over)
{
    struct units units = {0, need(malloc((series->count + 1) * sizeof(double)))};
    double *logs = need(malloc((series->count + 1) * sizeof(double)));
    for (unsigned i = 0, start = 0; i < series->count; i++) {
        logs[i] = log(series->value[i]) - (over ? log(over[i]) : 0);
        bool ends = i + 1 == series->count || !series->cluster ||
                    series->cluster[i + 1] != series->cluster[i];
        if (ends) {
            units.value[units.count++] = median(logs + start, i + 1 - start);
            start = i + 1;
        }
    }
    free(logs);
    tame(&units);
    return units;
}

struct moments {
    double mean, variance; /* of the mean */
};

/* Of the units, or with a random state of as many drawn from them. */
static struct moments moments_of(const struct units *units, uint64_t *random)
{
    double sum = 0, squares = 0;
    unsigned n = units->count;
    if (!n)
        return (struct moments){0, 0};
    for (unsigned i = 0; i < n; i++) {
        /* About the first one, so that equal values have no variance at all. */
        double x = units->value[random ? random_next(random) % n : i] - units->value[0];
        sum += x;
        squares += x * x;
    }
    double variance = n > 1 ? (squares - sum * sum / n) / (n - 1) / n : 0;
    return (struct moments){units->value[0] + sum / n, variance > 0 ? variance : 0};
}

static struct moments difference(const struct units side[2], uint64_t *random)
{
    struct moments a = moments_of(&side[0], random), b = moments_of(&side[1], random);
    return (struct moments){a.mean - b.mean, a.variance + b.variance};
}

static double percent(double log_ratio)
{
    return 100 * (1 - exp(-log_ratio));
}

struct distances {
    unsigned count;
    double *sorted;
};

/* So many that the least of all probabilities is significant among that many comparisons. */
static unsigned draws_for(unsigned family)
{
    double draws = 1.25 * family / level;
    return draws > LEAST_DRAWS ? (unsigned)draws : LEAST_DRAWS;
}

/* The studentised distances of draws from what they were drawn from. */
static struct distances draw(const struct units side[2], double mean, unsigned family,
                             uint64_t seed)
{
    const unsigned count = draws_for(family);
    double *distance = need(malloc(count * sizeof(*distance)));
    for (unsigned d = 0; d < count; d++) {
        struct moments drawn = difference(side, &seed);
        double off = drawn.mean - mean, error = sqrt(drawn.variance);
        /* A draw of one value alone knows nothing of its error: it counts as far off. */
        distance[d] = error > 0 ? off / error : off < 0 ? -1e9 : 1e9;
    }
    qsort(distance, count, sizeof(*distance), by_value);
    return (struct distances){count, distance};
}

static unsigned beyond(const struct distances *distances, double t)
{
    unsigned count = 0;
    for (unsigned d = 0; d < distances->count; d++)
        count += fabs(distances->sorted[d]) >= fabs(t);
    return count;
}

static double quantile(const struct distances *distances, double share)
{
    double at = share * (distances->count - 1);
    return distances->sorted[(unsigned)(at < 0 ? 0 : at + 0.5)];
}

static void infer(const struct units side[2], const struct moments *seen, unsigned family,
                  uint64_t seed, struct effect *out)
{
    double error = sqrt(seen->variance);
    if (!(error > 0)) { /* synthetic figures, or a clock that is too coarse */
        out->low = out->high = out->gain;
        out->p = seen->mean == 0 ? 1 : 0;
        out->detectable = 0;
        return;
    }
    struct distances drawn = draw(side, seen->mean, family, seed);
    out->low = percent(seen->mean - quantile(&drawn, 1 - level / 2) * error);
    out->high = percent(seen->mean - quantile(&drawn, level / 2) * error);
    out->p = (beyond(&drawn, seen->mean / error) + 1.0) / (drawn.count + 1.0);
    for (unsigned d = 0; d < drawn.count; d++)
        drawn.sorted[d] = fabs(drawn.sorted[d]);
    qsort(drawn.sorted, drawn.count, sizeof(*drawn.sorted), by_value);
    double critical = quantile(&drawn, 1 - level / (family ? family : 1));
    out->detectable = 100 * (exp((critical + power_80) * error) - 1);
    free(drawn.sorted);
}

static void estimate(struct units side[2], unsigned clusters, unsigned family, uint64_t seed,
                     struct effect *out)
{
    struct moments seen = difference(side, NULL);
    *out = (struct effect){.clusters = clusters,
                           .gain = clusters ? percent(seen.mean) : NAN,
                           .low = NAN,
                           .high = NAN,
                           .p = 1,
                           .holm = 1,
                           .detectable = NAN,
                           .verdict = EFFECT_UNDECIDED};
    if (clusters >= EFFECT_LEAST_CLUSTERS)
        infer(side, &seen, family, seed, out);
    free(side[0].value);
    free(side[1].value);
}

void effect_paired(const struct effect_series *base, const double *other, unsigned family,
                   uint64_t seed, struct effect *out)
{
    struct units side[2] = {units_of(base, other), {0, NULL}};
    estimate(side, side[0].count, family, seed, out);
}

void effect_unpaired(const struct effect_series *base, const struct effect_series *other,
                     unsigned family, uint64_t seed, struct effect *out)
{
    struct units side[2] = {units_of(base, NULL), units_of(other, NULL)};
    unsigned fewer = side[0].count < side[1].count ? side[0].count : side[1].count;
    estimate(side, fewer, family, seed, out);
}

static enum effect_verdict verdict_of(const struct effect *e)
{
    if (e->star && fabs(e->gain) > e->floor)
        return e->gain > 0 ? EFFECT_BETTER : EFFECT_WORSE;
    return e->low >= -matters && e->high <= matters ? EFFECT_NONE : EFFECT_UNDECIDED;
}

/* Holm: the least p times the number of comparisons, the next times one less, and never less than
 * the one before it. */
void effect_judge(struct effect *const *effects, unsigned count)
{
    bool *done = need(calloc(count + 1, sizeof(*done)));
    double before = 0;
    for (unsigned left = count; left; left--) {
        unsigned least = 0;
        for (unsigned i = 0; i < count; i++)
            if (!done[i] && (done[least] || effects[i]->p < effects[least]->p))
                least = i;
        struct effect *e = effects[least];
        done[least] = true;
        before = e->holm = fmin(1, fmax(e->p * left, before));
        e->star = e->holm < level;
        e->verdict = verdict_of(e);
    }
    free(done);
}

const char *effect_verdict_name(enum effect_verdict verdict)
{
    static const char *const names[] = {"better", "worse", "none", "undecided"};
    return names[verdict];
}
