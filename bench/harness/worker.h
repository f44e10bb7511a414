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
    unsigned round;     /* of measuring, each in another process */
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
    bool unchecked;   /* timed without a result to compare */
    struct block *blocks;
    unsigned count;
    double seconds; /* that it took, set-up included */
};

/* The lines that `<path> <option>` prints: the names of cases for "--list", what figures.h says for
 * "--figures". On failure a negative errno, and `error` says what went wrong. */
int worker_lines(const char *path, const char *option, char ***lines, unsigned *count, char *error,
                 size_t size);

/* NULL with errno when the child can't be started. */
struct worker *worker_start(const char *path, bool single);

struct worker_request {
    const char *ours, *rival;
    double target, limit; /* seconds that it should and may take */
    unsigned round;       /* odd: the rival is set up first */
};

/*
 * Measures a pair and adds the blocks to *out, whose status is that of this round. A child that is
 * silent for a minute longer than its limit is killed. After PAIR_BROKEN only worker_stop()
 * remains. The caller frees out->blocks.
 */
void worker_compare(struct worker *worker, const struct worker_request *request,
                    struct pair_result *out);
void worker_stop(struct worker *worker);

#endif
