/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

double measure_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value at a fraction of the sorted order, between neighbours where it falls between them. */
static double quantile(const double *sorted, size_t count, double fraction)
{
    double at = fraction * (double)(count - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (at - (double)below);
}

struct sample measure_summary(double *values, size_t count)
{
    if (count == 0)
        return (struct sample){0, 0};
    qsort(values, count, sizeof(values[0]), by_value);
    double median = quantile(values, count, 0.5);
    double distance = quantile(values, count, 0.75) - quantile(values, count, 0.25);
    return (struct sample){median, median > 0 ? distance / median : 0};
}

static double time_batch(const struct measure_cell *cell, uint64_t iterations)
{
    double begin = measure_now();
    for (uint64_t i = 0; i < iterations; i++)
        cell->op(cell->dst, cell->src, cell->n);
    return measure_now() - begin;
}

/* How many calls fill a batch. The calls made to find out also warm the cell up. */
static uint64_t calibrate(const struct measure_cell *cell, double batch_ns)
{
    uint64_t iterations = 1;
    double took = time_batch(cell, iterations);
    while (took < batch_ns / 4 && iterations < UINT64_C(1) << 40) {
        iterations *= 2;
        took = time_batch(cell, iterations);
    }
    double wanted = batch_ns / (took / (double)iterations);
    return wanted < 1 ? 1 : (uint64_t)wanted;
}

/* A spread above this gets a second and a third look. */
#define NOISY  0.08
#define PASSES 3

struct pass {
    const struct measure_cell *cells;
    size_t count;
    uint64_t *iterations;
    bool *settled;
    double (*times)[MEASURE_MAX_ROUNDS];
};

static void run_round(struct pass *p, unsigned round)
{
    for (size_t k = 0; k < p->count; k++) {
        /* Every other round backward: what follows what must not decide. */
        size_t i = round % 2 ? p->count - 1 - k : k;
        if (!p->settled[i])
            p->times[i][round] =
                time_batch(&p->cells[i], p->iterations[i]) / (double)p->iterations[i];
    }
}

static void settle(struct pass *p, unsigned rounds, bool first)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->settled[i])
            continue;
        struct sample s = measure_summary(p->times[i], rounds);
        if (first || s.spread < p->cells[i].result->spread)
            *p->cells[i].result = s;
        p->settled[i] = s.spread <= NOISY;
    }
}

int measure_cells(const struct measure_cell *cells, size_t count, struct measure_effort effort)
{
    struct pass p = {cells, count, calloc(count, sizeof(*p.iterations)),
                     calloc(count, sizeof(*p.settled)), calloc(count, sizeof(*p.times))};
    int result = p.iterations && p.settled && p.times ? 0 : -ENOMEM;

    for (size_t i = 0; result == 0 && i < count; i++)
        p.iterations[i] = calibrate(&cells[i], effort.batch_ns);
    for (unsigned pass = 0; result == 0 && pass < PASSES; pass++) {
        for (unsigned round = 0; round < effort.rounds; round++)
            run_round(&p, round);
        settle(&p, effort.rounds, pass == 0);
    }
    free(p.times);
    free(p.settled);
    free(p.iterations);
    return result;
}
