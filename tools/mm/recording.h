/* SPDX-License-Identifier: MIT */
/*
 * What a kernel showed, written between the operations of a trace, for whoever can't ask one: the
 * model is held against that instead. Lines begin with '|' and say what is different from before;
 * docs/trace-format.md describes them.
 */
#ifndef FASTMM_TOOLS_MM_RECORDING_H
#define FASTMM_TOOLS_MM_RECORDING_H

#include "mm/world.h"

struct recorder {
    FILE *out;
    struct world_view last;
};

/* The declarations of the trace, and what can be seen of the world. */
void recording_begin(struct recorder *recorder, const struct trace *trace,
                     const struct world *world);

/* An operation, its outcome, and what it changed. Frames must be named, as compare_name() does. */
void recording_step(struct recorder *recorder, const struct trace_op *op, int outcome,
                    const struct world *world, const struct world_view *view);

/* Reads one line of a recording into a view. -1 with *error if it makes no sense. */
struct recorded_step {
    unsigned channels; /* WORLD_* of the first line, or 0 */
    bool has_outcome;
    int outcome;
};
int recording_read(const struct trace_note *note, const struct world *world,
                   struct recorded_step *step, struct world_view *view, struct tool_error *error);

#endif
