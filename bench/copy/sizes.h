/* SPDX-License-Identifier: MIT */
/* Distributions of copy sizes, and lists of requests drawn from them. */
#ifndef FASTMM_BENCH_COPY_SIZES_H
#define FASTMM_BENCH_COPY_SIZES_H

#include "copy/rival.h"

struct copy_sizes_row {
    uint16_t first, last; /* bytes, inclusive, equally likely */
    double share;         /* of calls; any unit */
};

struct copy_sizes {
    const char *name;
    const struct copy_sizes_row *rows;
    size_t count;
};

extern const struct copy_sizes copy_sizes[];
extern const size_t copy_sizes_count;

/* COPY_REQUESTS requests, the same at each call, at offsets below `reach`. NULL if out of memory.
 */
struct copy_request *copy_draw(const struct copy_sizes *sizes, uint16_t reach);

#endif
