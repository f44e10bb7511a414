/* SPDX-License-Identifier: MIT */
/*
 * The claims: comparisons of two variants each, measured in turns over all placements of their
 * code.
 */
#ifndef FASTMM_BENCH_CLAIMS_CLAIMS_H
#define FASTMM_BENCH_CLAIMS_CLAIMS_H

#include "effect_table.h"
#include "kernel.h"
#include "placed.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLAIM_NAME = 128, CLAIM_NOTE = 256, CLAIM_LAST = 4 };

/* ns that `iterations` of a variant took, without what is not to count. */
typedef double (*claim_timed)(void *context, const void *variant, unsigned placement,
                              uint64_t iterations);

struct claim_side {
    const char *label;
    const void *variant;
    unsigned text; /* bytes of code at one place; 0 where that means nothing */
};

struct claim_row {
    unsigned claim;
    char name[CLAIM_NAME];
    char family[CLAIM_NAME]; /* rows of one family share what A/A makes out of nothing */
    bool headline;           /* measured before the others, should time be short */
    bool aa;                 /* both sides are the same code, compiled twice */
    claim_timed timed;
    void *context;
    double items;        /* in an iteration: times are given for each */
    unsigned placements; /* how many there are; clusters of the statistics */
    double batch_ns;     /* what a batch should take */
    struct claim_side side[2];
    char note[CLAIM_NOTE];

    double *ns[2]; /* by placement, then by block */
    unsigned *placement;
    unsigned count;
    bool wrong; /* it failed, or the two gave different results: the run fails */
    struct sample sample[2];
    struct effect effect;
};

struct claims {
    struct claim_row *rows;
    unsigned count, room;
    bool smoke; /* each thing once */
    bool full;
    char **user;           /* a command for the preload library, or NULL */
    const char *directory; /* of this program */
    unsigned cpus;         /* that threads are placed on; 0 when that is unknown */
    struct kernel_costs kernel;
    char about[CLAIM_LAST + 1][2 * CLAIM_NOTE]; /* what holds for a claim's whole table */
    char skipped[16][CLAIM_NOTE];               /* what can't be tried here, and why */
    unsigned skipped_count;
};

/*
 * Nanoseconds that this thread had a CPU: what others do to a busy machine is not in them. A system
 * call, so not for less than some 100 us.
 */
double claims_clock(void);

/* A new row, valid until the next. Its name is printf-style and unique within the claim. */
struct claim_row *claims_add(struct claims *claims, unsigned claim, const char *family,
                             const char *name, ...) __attribute__((format(printf, 4, 5)));

/* Adds to what is said once above the claim's table. */
void claims_explain(struct claims *claims, unsigned claim, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says what can't be tried here. */
void claims_skip(struct claims *claims, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The row of that name, or NULL. */
const struct claim_row *claims_find(const struct claims *claims, unsigned claim, const char *name);

/* Each claim in a file of its own: adds its rows, and gives back what they needed. */
void fork_claim_add(struct claims *claims);
/* Whether no fork failed that was timed. */
bool fork_claim_worked(void);
void fork_claim_free(void);
void copy_claim_add(struct claims *claims);
void copy_claim_free(void);
void life_claim_add(struct claims *claims);
/*
 * Storms of one thread, or of several: behind those no process is single-threaded any more, so that
 * they are added and measured last.
 */
void life_claim_add_threads(struct claims *claims, bool threaded);
/* After measuring: what the nanoseconds come to, and whether the counters lost nothing. */
void life_claim_note(struct claims *claims);
bool life_claim_exact(void);
void life_claim_free(void);
void gate_claim_add(struct claims *claims);
void gate_claim_free(void);
/* Real work under the preloaded library. */
void preload_claim_add(struct claims *claims);
/* Whether no program failed. */
bool preload_claim_worked(void);
void preload_claim_free(void);

/* Measures rows [from, count) in at most so many seconds, showing progress. */
void claims_measure(struct claims *claims, unsigned from, double seconds);
/* ns an item that a measured row saves: its gain, of the best half of the base's times. */
double claims_saved(const struct claim_row *row);
/* Statistics of all rows, claim by claim. */
void claims_judge(struct claims *claims);
void claims_free(struct claims *claims);

#endif
