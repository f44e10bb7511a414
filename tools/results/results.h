/* SPDX-License-Identifier: MIT */
/*
 * The times in a result file of any of our benches: results.json of the scorecard, claims.json, and
 * what Google Benchmark's --benchmark_out writes.
 */
#ifndef FASTMM_RESULTS_RESULTS_H
#define FASTMM_RESULTS_RESULTS_H

#include "effect.h"
#include "tool.h"

#include <stddef.h>

struct results_fact {
    char *key, *value;
};

/* One case: times of the blocks in which it ran, in ns; clusters are processes or placements. */
struct results_series {
    char *name;
    unsigned count, room, clusters;
    double *value;
    unsigned *cluster;
};

struct results {
    const char *kind; /* what wrote the file */
    struct results_fact *facts;
    unsigned fact_count;
    struct results_series *series;
    unsigned series_count;
};

/* No result file is larger. */
#define RESULTS_MAX ((size_t)256 << 20)

/* 0, or -1 with *error, which names the file and what is wrong with it. */
int results_read(const char *path, struct results *out, struct tool_error *error);
/* The same for a file's content. */
int results_parse(const char *name, const char *text, size_t size, struct results *out,
                  struct tool_error *error);
void results_free(struct results *results);

const struct results_series *results_find(const struct results *results, const char *name);
/* The value of a fact, or NULL. */
const char *results_fact(const struct results *results, const char *key);
struct effect_series results_effect_series(const struct results_series *series);

#endif
