/* SPDX-License-Identifier: MIT */
/*
 * Timing of many small cells against each other. Each round visits every cell once, so that a slow
 * spell of the machine hits all of them; a cell's figure is the median of its rounds, and its
 * spread says how far to believe it. Cells that came out noisy are measured again, and the quietest
 * result counts.
 */
#ifndef FASTMM_TOOLS_MEASURE_H
#define FASTMM_TOOLS_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* Copies from src to dst, or clears dst; the shape of everything that is timed. */
typedef void (*measure_op)(void *dst, const void *src, size_t n);

struct sample {
    double ns;     /* median, for one call; 0: not measured */
    double spread; /* distance of the quartiles, as a part of the median */
};

struct measure_cell {
    measure_op op;
    void *dst;
    const void *src;
    size_t n;
    struct sample *result;
};

/* How long to look. The result of `rounds` rounds of at least `batch_ns` for each cell. */
struct measure_effort {
    unsigned rounds; /* at most MEASURE_MAX_ROUNDS */
    double batch_ns;
};

#define MEASURE_MAX_ROUNDS 32

/* Fills *result of each cell. 0, or -ENOMEM. */
int measure_cells(const struct measure_cell *cells, size_t count, struct measure_effort effort);

/* Median and spread of values, which get sorted. */
struct sample measure_summary(double *values, size_t count);

/* Nanoseconds on the monotonic clock. */
double measure_now(void);

#endif
