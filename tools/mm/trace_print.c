/* SPDX-License-Identifier: MIT */
/* Writes traces: what the reader makes the same operations of. */
#include "mm/trace_words.h"

#include <fastmm/mm.h>
#include <inttypes.h>

static void print_one_of(FILE *out, const struct trace_word *words, uint32_t value)
{
    for (; words->text; words++)
        if (words->value == value)
            fprintf(out, " %s", words->text);
}

static void print_each_of(FILE *out, const struct trace_word *words, uint32_t values)
{
    for (; words->text; words++)
        if (words->value & values)
            fprintf(out, " %s", words->text);
}

static void print_map(FILE *out, const struct trace_op *op)
{
    fprintf(out, " %u %u", op->first, op->count);
    print_one_of(out, trace_prots, op->flags & FASTMM_VM_PROT);
    if (op->object >= 0)
        fprintf(out, " %s o%d %u", op->flags & FASTMM_VM_SHARED ? "shared" : "private", op->object,
                op->offset);
    print_each_of(out, trace_map_flags, op->flags);
}

static void print_expect(FILE *out, const struct trace_op *op)
{
    fprintf(out, " %u %u %s", op->first, op->count, trace_kind_name(op->kind));
    print_each_of(out, trace_attributes, op->attributes);
    if (op->number >= 0)
        fprintf(out, " x%" PRId64, op->number);
}

void trace_print_op(FILE *out, const struct trace_op *op)
{
    fprintf(out, "p%u %s", op->process, trace_verbs[op->verb].name);
    switch (trace_verbs[op->verb].shape) {
    case SHAPE_NOTHING:
        break;
    case SHAPE_RANGE:
    case SHAPE_PAGES:
        fprintf(out, " %u %u", op->first, op->count);
        break;
    case SHAPE_PROTECT:
        fprintf(out, " %u %u", op->first, op->count);
        print_one_of(out, trace_prots, op->flags);
        break;
    case SHAPE_MAP:
        print_map(out, op);
        break;
    case SHAPE_REMAP:
        fprintf(out, " %u %u %u", op->first, op->count, op->size);
        if (op->moves)
            fprintf(out, " %u", op->target);
        break;
    case SHAPE_REGISTER:
        fprintf(out, " %u %u", op->first, op->count);
        print_each_of(out, trace_features, op->flags);
        break;
    case SHAPE_MATCH:
        fprintf(out, " %u %u", op->first, op->count);
        print_each_of(out, trace_categories, op->flags);
        break;
    case SHAPE_FORK:
        fprintf(out, " p%u", op->child);
        break;
    case SHAPE_NUMBER:
        fprintf(out, " %" PRId64, op->number);
        break;
    case SHAPE_EXPECT:
        print_expect(out, op);
        break;
    case SHAPE_RSS:
        fprintf(out, " %s %" PRId64, trace_rss_names[op->counter], op->number);
        break;
    }
    if (op->has_outcome)
        fprintf(out, " = %s", trace_outcome_name(op->outcome));
    putc('\n', out);
}

void trace_print(FILE *out, const struct trace *trace)
{
    static const char *const kinds[] = {"none", "shmem", "file"};
    if (trace->soft_dirty)
        fputs("machine soft-dirty\n", out);
    for (unsigned i = 0; i < TRACE_OBJECTS; i++)
        if (trace->object[i].kind)
            fprintf(out, "object o%u %s %u\n", i, kinds[trace->object[i].kind],
                    trace->object[i].pages);
    for (size_t i = 0; i < trace->count; i++)
        trace_print_op(out, &trace->op[i]);
}
