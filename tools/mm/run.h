/* SPDX-License-Identifier: MIT */
/* Running a trace on one world, or on both with a comparison after every step. */
#ifndef FASTMM_TOOLS_MM_RUN_H
#define FASTMM_TOOLS_MM_RUN_H

#include "mm/coverage.h"
#include "mm/recording.h"

enum {
    RUN_ON_MODEL = 1,
    RUN_ON_KERNEL = 2,
    RUN_ON_BOTH = 3,
    RUN_ON_RECORDED = 4 /* a kernel as the trace recorded it: with the model */
};

struct run_setup {
    unsigned on;               /* RUN_ON_* */
    unsigned impl;             /* enum fastmm_mm_impl: build of the model's inner loops */
    struct coverage *coverage; /* counts what the operations meet, if there is a model; or NULL */
    struct recorder *recorder; /* writes down what the only world shows; or NULL */
};

/* Whether there are two worlds. */
static inline bool run_compares(const struct run_setup *setup)
{
    return setup->on != RUN_ON_MODEL && setup->on != RUN_ON_KERNEL;
}

enum run_verdict {
    RUN_AGREED = 0,
    RUN_DIFFERED = 1,      /* the worlds from each other, or one from what the trace expects */
    RUN_BROKE = 2,         /* a world couldn't go on; the error says why */
    RUN_NOT_PERMITTED = 77 /* likewise, before anything ran */
};

struct run_result {
    size_t done;       /* operations that were carried out and compared */
    size_t failed_at;  /* index of the one that differed */
    unsigned channels; /* that were compared, or looked at on one world */
};

/* The first difference goes to `out`, unless that is NULL. */
enum run_verdict run_trace(const struct trace *trace, const struct run_setup *setup, FILE *out,
                           struct run_result *result, struct tool_error *error);

/* "frame identity, raw entries": what a comparison of those channels leaves out. */
void run_print_unseen(FILE *out, unsigned channels);

#endif
