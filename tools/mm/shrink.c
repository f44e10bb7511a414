/* SPDX-License-Identifier: MIT */
#include "mm/shrink.h"

#include <stdlib.h>
#include <string.h>

/* The trace without [from, from + length), and without what makes no sense then. */
static void leave_out(const struct trace *trace, size_t from, size_t length, struct trace *out)
{
    struct trace_state state;
    out->count = 0;
    trace_state_init(&state);
    for (size_t i = 0; i < trace->count; i++) {
        bool left_out = i >= from && i < from + length;
        if (!left_out && !trace_step(&state, trace, &trace->op[i]))
            out->op[out->count++] = trace->op[i];
    }
}

/* Ranges, too, get shorter: half of their pages at a time. */
static void narrow(const struct trace *trace, size_t at, bool upper, struct trace *out)
{
    memcpy(out->op, trace->op, trace->count * sizeof(*trace->op));
    out->count = trace->count;
    struct trace_op *op = &out->op[at];
    unsigned half = op->count / 2;
    if (upper) {
        op->first += op->count - half;
        op->offset += op->object >= 0 ? op->count - half : 0;
    }
    if (op->size == op->count || trace_op_end(op) > TRACE_PAGES)
        op->size = half;
    op->count = half;
}

static void accept(struct trace *trace, struct trace *candidate)
{
    struct trace_op *ops = trace->op;
    trace->op = candidate->op;
    trace->count = candidate->count;
    candidate->op = ops;
}

unsigned shrink_trace(struct trace *trace, bool (*fails)(void *context, const struct trace *trace),
                      void *context)
{
    struct trace candidate = *trace;
    unsigned asked = 0;
    candidate.op = calloc(trace->count, sizeof(*candidate.op));
    if (!candidate.op)
        return 0;
    for (size_t length = trace->count; length; length /= 2)
        for (size_t from = 0; from < trace->count;) {
            leave_out(trace, from, length, &candidate);
            asked++;
            if (candidate.count < trace->count && fails(context, &candidate))
                accept(trace, &candidate);
            else
                from += length;
        }
    for (size_t at = 0; at < trace->count; at++)
        for (int upper = 0; upper < 2; upper++)
            while (trace->op[at].count > 1) {
                narrow(trace, at, upper, &candidate);
                asked++;
                if (!fails(context, &candidate))
                    break;
                accept(trace, &candidate);
            }
    free(candidate.op);
    return asked;
}
