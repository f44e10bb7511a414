/* SPDX-License-Identifier: MIT */
/* The driver's end of compare.h: a bench binary run as a child that measures pairs on request. */
#ifndef FASTMM_BENCH_WORKER_H
#define FASTMM_BENCH_WORKER_H

#include <stdbool.h>
#include <stddef.h>

struct worker;

struct block {
    double ours, rival; /* ns per item */
    double overlap;     /* of the threads; 1 without */
    bool ours_first;    /* ABBA; else BAAB */
};

enum pair_status {
    PAIR_MEASURED,
    PAIR_SKIPPED,
    PAIR_DIFFERENT, /* the two cases don't give the same result */
    PAIR_BROKEN,    /* the child ended, hung, or said what it shouldn't */
};

struct pair_result {
    enum pair_status status;
    char reason[320]; /* unless measured */
    struct block *blocks;
    unsigned count;
};

/* The lines of `<path> --list`. On failure a negative errno, and `error` says what went wrong. */
int worker_list(const char *path, char ***names, unsigned *count, char *error, size_t size);

/* NULL with errno when the child can't be started. */
struct worker *worker_start(const char *path, bool single);
/* `limit` is in seconds; a child that is silent for a minute longer is killed. After PAIR_BROKEN
 * only worker_stop() remains. The caller frees out->blocks. */
void worker_compare(struct worker *worker, const char *ours, const char *rival, double target,
                    double limit, struct pair_result *out);
void worker_stop(struct worker *worker);

#endif
