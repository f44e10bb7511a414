/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* strndup() */
/* Reads traces, and refuses what makes no sense with the place where it stands. */
#include "mm/trace.h"

#include "mm/trace_words.h"

#include <fastmm/mm.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct token {
    const char *text;
    size_t length; /* 0 at the end of the line */
};

struct reader {
    const char *file;
    const char *line_start, *at, *line_end;
    unsigned line;
    struct token token;
    struct trace *trace;
    struct trace_state state;
    struct tool_error *error;
    size_t room, note_room;
};

static int fail(const struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail(const struct reader *r, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return tool_fail(r->error, "%s:%u:%zu: %s", r->file, r->line,
                     (size_t)(r->token.text - r->line_start) + 1, what);
}

/* --- Words ----------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void advance(struct reader *r)
{
    while (r->at < r->line_end && is_blank(*r->at))
        r->at++;
    r->token.text = r->at;
    while (r->at < r->line_end && !is_blank(*r->at) && *r->at != '#')
        r->at++;
    r->token.length = (size_t)(r->at - r->token.text);
}

static bool at_end(const struct reader *r)
{
    return r->token.length == 0;
}

static bool is(const struct reader *r, const char *word)
{
    return strlen(word) == r->token.length && !memcmp(word, r->token.text, r->token.length);
}

static bool accept(struct reader *r, const char *word)
{
    if (!is(r, word))
        return false;
    advance(r);
    return true;
}

/* Decimal digits after `skip` characters; -1 for anything else or more than `limit`. */
static int64_t digits(const struct reader *r, size_t skip, int64_t limit)
{
    int64_t value = 0;
    if (r->token.length <= skip)
        return -1;
    for (size_t i = skip; i < r->token.length; i++) {
        char c = r->token.text[i];
        if (c < '0' || c > '9')
            return -1;
        value = value * 10 + (c - '0');
        if (value > limit)
            return -1;
    }
    return value;
}

static int number(struct reader *r, const char *what, int64_t least, int64_t most, int64_t *out)
{
    int64_t value = digits(r, 0, most);
    if (value < least)
        return fail(r, "%s is expected, %lld to %lld", what, (long long)least, (long long)most);
    *out = value;
    advance(r);
    return 0;
}

/* "p3", "o1": a letter and an index. */
static int indexed(struct reader *r, char letter, unsigned limit, unsigned *out)
{
    int64_t value = r->token.length && *r->token.text == letter ? digits(r, 1, limit - 1) : -1;
    if (value < 0)
        return fail(r, "%c0 to %c%u is expected", letter, letter, limit - 1);
    *out = (unsigned)value;
    advance(r);
    return 0;
}

static const struct trace_word *one_of(struct reader *r, const struct trace_word *words)
{
    for (; words->text; words++)
        if (accept(r, words->text))
            return words;
    return NULL;
}

/* Any number of the words. */
static uint32_t each_of(struct reader *r, const struct trace_word *words)
{
    uint32_t values = 0;
    for (const struct trace_word *word; (word = one_of(r, words));)
        values |= word->value;
    return values;
}

/* --- Arguments ------------------------------------------------------------------------------- */

static int range(struct reader *r, struct trace_op *op, bool count_needed)
{
    int64_t first = 0, count = 1;
    if (number(r, "a page", 0, TRACE_PAGES - 1, &first))
        return -1;
    if ((count_needed || (!at_end(r) && digits(r, 0, TRACE_PAGES) >= 0)) &&
        number(r, "a count of pages", 1, TRACE_PAGES - first, &count))
        return -1;
    op->first = (unsigned)first;
    op->count = (unsigned)count;
    return 0;
}

static int protection(struct reader *r, struct trace_op *op)
{
    const struct trace_word *word = one_of(r, trace_prots);
    if (!word)
        return fail(r, "a protection is expected: none, r, w, rw, rx or rwx");
    op->flags |= word->value;
    return 0;
}

static int object(struct reader *r, struct trace_op *op)
{
    unsigned index;
    int64_t offset = 0;
    if (accept(r, "shared"))
        op->flags |= FASTMM_VM_SHARED;
    else if (!accept(r, "private"))
        return 0;
    if (indexed(r, 'o', TRACE_OBJECTS, &index))
        return -1;
    if (digits(r, 0, TRACE_PAGES) >= 0 && number(r, "a page", 0, TRACE_PAGES, &offset))
        return -1;
    op->object = (int)index;
    op->offset = (unsigned)offset;
    return 0;
}

static int map(struct reader *r, struct trace_op *op)
{
    if (range(r, op, true) || protection(r, op) || object(r, op))
        return -1;
    op->flags |= each_of(r, trace_map_flags);
    return 0;
}

static int remap(struct reader *r, struct trace_op *op)
{
    int64_t size = 0, target = 0;
    if (range(r, op, true) || number(r, "a count of pages", 1, TRACE_PAGES, &size))
        return -1;
    op->size = (unsigned)size;
    op->moves = digits(r, 0, TRACE_PAGES) >= 0;
    if (op->moves && number(r, "a page", 0, TRACE_PAGES - 1, &target))
        return -1;
    op->target = (unsigned)target;
    return trace_op_end(op) > TRACE_PAGES ? fail(r, "pages end at %u", TRACE_PAGES) : 0;
}

static int expect(struct reader *r, struct trace_op *op)
{
    if (range(r, op, false))
        return -1;
    for (op->kind = 0; op->kind < TRACE_KINDS && !is(r, trace_kind_name(op->kind)); op->kind++)
        ;
    if (op->kind == TRACE_KINDS)
        return fail(r, "what the entry holds is expected: none, zero, anon, ...");
    advance(r);
    op->attributes = each_of(r, trace_attributes);
    if (!at_end(r) && *r->token.text == 'x') {
        op->number = digits(r, 1, 1 << 20);
        if (op->number < 0)
            return fail(r, "x and the number of entries that map the page is expected");
        advance(r);
    }
    return 0;
}

static int rss(struct reader *r, struct trace_op *op)
{
    for (op->counter = 0; op->counter < 4; op->counter++)
        if (accept(r, trace_rss_names[op->counter]))
            return number(r, "a count of pages", 0, 1 << 20, &op->number);
    return fail(r, "a counter is expected: file, anon, swap or shmem");
}

static int arguments(struct reader *r, struct trace_op *op)
{
    switch (trace_verbs[op->verb].shape) {
    case SHAPE_NOTHING:
        return 0;
    case SHAPE_RANGE:
        return range(r, op, true);
    case SHAPE_PAGES:
        return range(r, op, false);
    case SHAPE_PROTECT:
        return range(r, op, true) || protection(r, op) ? -1 : 0;
    case SHAPE_MAP:
        return map(r, op);
    case SHAPE_REMAP:
        return remap(r, op);
    case SHAPE_REGISTER:
        if (range(r, op, true))
            return -1;
        op->flags = each_of(r, trace_features);
        return 0;
    case SHAPE_MATCH:
        if (range(r, op, true))
            return -1;
        op->flags = each_of(r, trace_categories);
        return 0;
    case SHAPE_FORK:
        return indexed(r, 'p', TRACE_PROCESSES, &op->child);
    case SHAPE_NUMBER:
        return number(r, "a number", 0, 1 << 20, &op->number);
    case SHAPE_EXPECT:
        return expect(r, op);
    case SHAPE_RSS:
        return rss(r, op);
    }
    return -1;
}

static int outcome(struct reader *r, struct trace_op *op)
{
    static const int first = -200, last = FASTMM_FAULT_UFFD_WP;
    if (!accept(r, "="))
        return 0;
    for (op->outcome = last; op->outcome >= first; op->outcome--) {
        const char *name = trace_outcome_name(op->outcome);
        if (name && accept(r, name)) {
            op->has_outcome = true;
            return 0;
        }
    }
    return fail(r, "an outcome is expected: ok, segv, bus, uffd or the name of an error");
}

/* --- Lines ----------------------------------------------------------------------------------- */

/* The array with room for one more, or NULL. */
static void *grown(void *array, size_t count, size_t *room, size_t size)
{
    size_t more = *room ? 2 * *room : 64;
    if (count < *room)
        return array;
    array = realloc(array, more * size);
    *room = array ? more : *room;
    return array;
}

static int append(struct reader *r, const struct trace_op *op)
{
    struct trace *trace = r->trace;
    if (trace->count == TRACE_OPS_MAX)
        return fail(r, "more than %u operations", TRACE_OPS_MAX);
    struct trace_op *ops = grown(trace->op, trace->count, &r->room, sizeof(*ops));
    if (!ops)
        return fail(r, "out of memory");
    trace->op = ops;
    trace->op[trace->count++] = *op;
    return 0;
}

static int note_line(struct reader *r)
{
    struct trace *trace = r->trace;
    const char *text = r->token.text + 1;
    struct trace_note *notes = grown(trace->note, trace->note_count, &r->note_room, sizeof(*notes));
    if (!notes)
        return fail(r, "out of memory");
    trace->note = notes;
    trace->note[trace->note_count] =
        (struct trace_note){.after = trace->count,
                            .line = r->line,
                            .text = strndup(text, (size_t)(r->line_end - text))};
    return trace->note[trace->note_count++].text ? 0 : fail(r, "out of memory");
}

static int object_line(struct reader *r)
{
    static const struct trace_word kinds[] = {
        {"shmem", TRACE_OBJECT_SHMEM}, {"file", TRACE_OBJECT_FILE}, {NULL, 0}};
    unsigned index;
    int64_t pages;
    if (indexed(r, 'o', TRACE_OBJECTS, &index))
        return -1;
    struct trace_object *declared = &r->trace->object[index];
    if (declared->kind)
        return fail(r, "o%u is declared already", index);
    const struct trace_word *kind = one_of(r, kinds);
    if (!kind)
        return fail(r, "shmem or file is expected");
    if (number(r, "a count of pages", 1, TRACE_PAGES, &pages))
        return -1;
    declared->kind = (enum trace_object_kind)kind->value;
    declared->pages = (unsigned)pages;
    return 0;
}

/* How the machine is made. */
static int machine_line(struct reader *r)
{
    if (!accept(r, "soft-dirty"))
        return fail(r, "what the machine is to do is expected: soft-dirty");
    r->trace->soft_dirty = true;
    return 0;
}

static int op_line(struct reader *r)
{
    struct trace_op op = {.line = r->line, .object = -1, .number = -1};
    const struct token start = r->token;
    if (indexed(r, 'p', TRACE_PROCESSES, &op.process))
        return -1;
    while (op.verb < TRACE_VERBS && !is(r, trace_verbs[op.verb].name))
        op.verb++;
    if (op.verb == TRACE_VERBS)
        return fail(r, "no operation '%.*s'", (int)(r->token.length < 40 ? r->token.length : 40),
                    r->token.text);
    advance(r);
    if (arguments(r, &op) || outcome(r, &op))
        return -1;
    const char *wrong = at_end(r) ? trace_step(&r->state, r->trace, &op) : NULL;
    if (wrong) {
        r->token = start;
        return fail(r, "%s", wrong);
    }
    return append(r, &op);
}

static int line(struct reader *r)
{
    advance(r);
    if (at_end(r) && r->at == r->line_end)
        return 0;
    if (*r->token.text == '|')
        return note_line(r);
    if (!(at_end(r) && *r->at == '#')) {
        int rc = accept(r, "object")    ? object_line(r)
                 : accept(r, "machine") ? machine_line(r)
                                        : op_line(r);
        if (rc)
            return rc;
    }
    if (!at_end(r) || (r->at < r->line_end && *r->at != '#'))
        return fail(r, "the line should end here");
    return 0;
}

int trace_parse(const char *file, const char *bytes, size_t size, struct trace *trace,
                struct tool_error *error)
{
    struct reader r = {.file = file, .trace = trace, .error = error};
    const char *end = bytes + size;
    int rc = 0;
    memset(trace, 0, sizeof(*trace));
    trace_state_init(&r.state);
    for (const char *at = bytes; at < end && !rc;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        r.line_start = r.at = at;
        r.line_end = newline ? newline : end;
        r.line++;
        rc = line(&r);
        at = newline ? newline + 1 : end;
    }
    if (rc)
        trace_free(trace);
    return rc;
}

void trace_free(struct trace *trace)
{
    for (size_t i = 0; i < trace->note_count; i++)
        free(trace->note[i].text);
    free(trace->note);
    free(trace->op);
    memset(trace, 0, sizeof(*trace));
}

/* --- Sense ----------------------------------------------------------------------------------- */

void trace_state_init(struct trace_state *state)
{
    memset(state, 0, sizeof(*state));
    state->alive[0] = state->used[0] = true;
}

const char *trace_step(struct trace_state *state, const struct trace *trace,
                       const struct trace_op *op)
{
    if (!state->used[op->process])
        return "this process doesn't exist yet";
    if (!state->alive[op->process])
        return "this process doesn't exist any more";
    if (op->verb == TRACE_FORK && state->used[op->child])
        return "the child has a number that was used before";
    if (op->verb == TRACE_MAP && op->object >= 0 && !trace->object[op->object].kind)
        return "this object wasn't declared";
    if (op->verb == TRACE_FORK && !(op->has_outcome && op->outcome))
        state->alive[op->child] = state->used[op->child] = true;
    if (op->verb == TRACE_EXIT)
        state->alive[op->process] = false;
    return NULL;
}

static bool names_pages(const struct trace_op *op)
{
    enum trace_shape shape = trace_verbs[op->verb].shape;
    return shape != SHAPE_NOTHING && shape != SHAPE_FORK && shape != SHAPE_NUMBER &&
           shape != SHAPE_RSS;
}

unsigned trace_op_end(const struct trace_op *op)
{
    unsigned end = op->first + op->count, there = (op->moves ? op->target : op->first) + op->size;
    return op->verb == TRACE_REMAP && there > end ? there : end;
}

void trace_window(const struct trace *trace, unsigned *first, unsigned *count)
{
    unsigned low = TRACE_PAGES, high = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_op *op = &trace->op[i];
        if (!names_pages(op))
            continue;
        low = op->first < low ? op->first : low;
        low = op->moves && op->target < low ? op->target : low;
        high = trace_op_end(op) > high ? trace_op_end(op) : high;
    }
    *first = low < high ? low : 0;
    *count = low < high ? high - low : 1;
}
