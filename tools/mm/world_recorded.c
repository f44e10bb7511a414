/* SPDX-License-Identifier: MIT */
/*
 * A kernel as it was recorded: a world in which what happens is known beforehand. Each operation
 * takes the lines that follow it in the trace.
 */
#include "mm/recording.h"

#include <stdlib.h>

struct recorded {
    struct world world;
    const struct trace *trace;
    size_t done, next; /* operations; notes */
    struct world_view view;
};

static struct recorded *recorded_of(struct world *world)
{
    return (struct recorded *)(void *)world;
}

/* Takes the notes that follow operation number `after` (0: those before the first). */
static int take(struct recorded *r, size_t after, struct recorded_step *step,
                struct tool_error *error)
{
    *step = (struct recorded_step){0};
    while (r->next < r->trace->note_count && r->trace->note[r->next].after <= after)
        if (recording_read(&r->trace->note[r->next++], &r->world, step, &r->view, error))
            return -1;
    return 0;
}

static int apply(struct world *world, const struct trace_op *op, int *outcome,
                 struct tool_error *error)
{
    struct recorded *r = recorded_of(world);
    struct recorded_step step;
    if (take(r, (size_t)(op - r->trace->op) + 1, &step, error))
        return -1;
    if (!step.has_outcome)
        return tool_fail(error, "line %u: nothing was recorded for this operation", op->line);
    *outcome = step.outcome;
    return 0;
}

static int observe(struct world *world, struct world_view *view, struct tool_error *error)
{
    (void)error;
    *view = recorded_of(world)->view;
    return 0;
}

static void close_recorded(struct world *world)
{
    free(recorded_of(world));
}

int world_open_recorded(const struct trace *trace, struct world **world, struct tool_error *error)
{
    struct recorded *r = calloc(1, sizeof(*r));
    struct recorded_step step;
    if (!r)
        return tool_fail(error, "out of memory");
    r->trace = trace;
    r->world = (struct world){
        .name = "recorded", .apply = apply, .observe = observe, .close = close_recorded};
    trace_window(trace, &r->world.first, &r->world.count);
    r->view.space[0].alive = true;
    for (unsigned p = 0; p < TRACE_PROCESSES; p++)
        for (unsigned i = 0; i < TRACE_PAGES; i++)
            r->view.space[p].page[i] = (struct world_page){.kind = TRACE_NONE, .maps = -1};
    int rc = take(r, 0, &step, error);
    if (!rc && !step.channels)
        rc = tool_fail(error, "there is no recording in this trace");
    if (rc) {
        free(r);
        return rc;
    }
    r->world.channels = step.channels;
    *world = &r->world;
    return 0;
}
