/* SPDX-License-Identifier: MIT */
#include "mm/run.h"

#include "mm/compare.h"

#include <fastmm/walk.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

struct run {
    const struct trace *trace;
    struct world *world[2];
    struct world_view *view[2];
    unsigned worlds;
    const struct run_setup *setup;
    FILE *out; /* or NULL */
    struct run_result *result;
    struct tool_error *error;
};

static unsigned channels_of(const struct run *r)
{
    unsigned channels = r->world[0]->channels;
    return r->worlds == 2 ? channels & r->world[1]->channels : channels;
}

/* --- Telling --------------------------------------------------------------------------------- */

static void tell(const struct run *r, const struct trace_op *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void tell(const struct run *r, const struct trace_op *op, const char *format, ...)
{
    va_list args;
    if (!r->out)
        return;
    fprintf(r->out, "line %u: ", op->line);
    trace_print_op(r->out, op);
    va_start(args, format);
    vfprintf(r->out, format, args);
    va_end(args);
    putc('\n', r->out);
}

static const char *outcome_text(int outcome, char text[24])
{
    const char *name = trace_outcome_name(outcome);
    if (name)
        return name;
    snprintf(text, 24, "error %d", -outcome);
    return text;
}

static void show(const struct run *r, unsigned process)
{
    const struct comparison c = {.world = {r->world[0], r->world[1]},
                                 .view = {r->view[0], r->view[1]},
                                 .channels = channels_of(r)};
    if (!r->out || !r->view[0]->space[process].alive)
        return;
    if (r->worlds == 2)
        compare_print(r->out, &c, process);
    else
        compare_print_one(r->out, r->world[0], r->view[0], process);
}

/* --- Expectations ---------------------------------------------------------------------------- */

static const char *attribute_missed(const struct trace_op *op, const struct world *world,
                                    const struct world_page *page)
{
    const bool alone = page->word & FASTMM_PAGEMAP_EXCLUSIVE;
    const bool soft = page->word & FASTMM_PAGEMAP_SOFT_DIRTY;
    const struct {
        unsigned attribute;
        bool holds, seen;
        const char *missed;
    } rows[] = {
        {TRACE_IS_WP, page->uffd_wp, true, "isn't write-protected by userfaultfd"},
        {TRACE_IS_NOT_WP, !page->uffd_wp, true, "is write-protected by userfaultfd"},
        {TRACE_IS_ALONE, alone, world->channels & WORLD_PAGEMAP, "isn't exclusively mapped"},
        {TRACE_IS_NOT_ALONE, !alone, world->channels & WORLD_PAGEMAP, "is exclusively mapped"},
        {TRACE_IS_SOFT, soft, world->channels & WORLD_PAGEMAP, "isn't soft-dirty"},
        {TRACE_IS_NOT_SOFT, !soft, world->channels & WORLD_PAGEMAP, "is soft-dirty"},
        {TRACE_IS_RW, fastmm_pte_write(page->raw), world->channels & WORLD_RAW, "isn't writable"},
        {TRACE_IS_RO, !fastmm_pte_write(page->raw), world->channels & WORLD_RAW, "is writable"},
        {TRACE_IS_DIRTY, fastmm_pte_dirty(page->raw), world->channels & WORLD_RAW, "isn't dirty"},
        {TRACE_IS_CLEAN, !fastmm_pte_dirty(page->raw), world->channels & WORLD_RAW, "is dirty"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if ((op->attributes & rows[i].attribute) && rows[i].seen && !rows[i].holds)
            return rows[i].missed;
    return NULL;
}

/* What a page isn't, or NULL. */
static const char *page_missed(const struct trace_op *op, const struct world *world,
                               const struct world_page *page)
{
    bool class_expected = op->kind == TRACE_PRESENT || op->kind == TRACE_SWP;
    bool class_seen = page->kind == TRACE_PRESENT || page->kind == TRACE_SWP;
    bool same = class_expected || class_seen
                    ? trace_kind_class(op->kind) == trace_kind_class(page->kind)
                    : op->kind == page->kind;
    if (!same)
        return trace_kind_name(page->kind);
    if (op->number >= 0 && page->maps >= 0 && page->maps != op->number)
        return "mapped another number of times";
    return attribute_missed(op, world, page);
}

static bool expectation_holds(const struct run *r, unsigned w, const struct trace_op *op)
{
    const struct world *world = r->world[w];
    const struct world_space *space = &r->view[w]->space[op->process];
    for (unsigned i = op->first; i < op->first + op->count; i++) {
        const char *missed = page_missed(op, world, &space->page[i - world->first]);
        if (missed) {
            tell(r, op, "on the %s, page %u: %s", world->name, i, missed);
            return false;
        }
    }
    return true;
}

static bool rss_holds(const struct run *r, unsigned w, const struct trace_op *op)
{
    int64_t rss = r->view[w]->space[op->process].rss[op->counter];
    if (!(r->world[w]->channels & WORLD_RSS) || rss == op->number)
        return true;
    tell(r, op, "on the %s it is %" PRId64, r->world[w]->name, rss);
    return false;
}

static enum run_verdict expect(const struct run *r, const struct trace_op *op)
{
    for (unsigned w = 0; w < r->worlds; w++)
        if (op->verb == TRACE_RSS ? !rss_holds(r, w, op) : !expectation_holds(r, w, op)) {
            show(r, op->process);
            return RUN_DIFFERED;
        }
    return RUN_AGREED;
}

/* --- Steps ----------------------------------------------------------------------------------- */

static int observe(const struct run *r)
{
    for (unsigned w = 0; w < r->worlds; w++)
        if (r->world[w]->observe(r->world[w], r->view[w], r->error))
            return -1;
    return 0;
}

static bool outcomes_hold(const struct run *r, const struct trace_op *op, const int outcome[2])
{
    char a[24], b[24];
    for (unsigned w = 0; w < r->worlds; w++)
        if (op->has_outcome && outcome[w] != op->outcome) {
            tell(r, op, "the %s says %s", r->world[w]->name, outcome_text(outcome[w], a));
            return false;
        }
    if (r->worlds == 2 && outcome[0] != outcome[1]) {
        tell(r, op, "the %s says %s, the %s says %s", r->world[0]->name,
             outcome_text(outcome[0], a), r->world[1]->name, outcome_text(outcome[1], b));
        return false;
    }
    return true;
}

static enum run_verdict step(const struct run *r, const struct trace_op *op)
{
    const struct comparison c = {.world = {r->world[0], r->world[1]},
                                 .view = {r->view[0], r->view[1]},
                                 .channels = channels_of(r)};
    struct difference difference;
    int outcome[2];
    if (op->verb == TRACE_EXPECT || op->verb == TRACE_RSS) {
        if (r->setup->recorder)
            trace_print_op(r->setup->recorder->out, op);
        return expect(r, op);
    }
    if (r->setup->coverage && (r->setup->on & RUN_ON_MODEL))
        coverage_add(r->setup->coverage, op, r->world[0], r->view[0]);
    for (unsigned w = 0; w < r->worlds; w++)
        if (r->world[w]->apply(r->world[w], op, &outcome[w], r->error))
            return RUN_BROKE;
    if (observe(r))
        return RUN_BROKE;
    if (r->setup->recorder)
        recording_step(r->setup->recorder, op, outcome[0], r->world[0], r->view[0]);
    if (!outcomes_hold(r, op, outcome)) {
        show(r, op->process);
        return RUN_DIFFERED;
    }
    if (r->worlds == 2 && compare_views(&c, &difference)) {
        tell(r, op, "%s", difference.text);
        show(r, difference.process);
        return RUN_DIFFERED;
    }
    return RUN_AGREED;
}

static enum run_verdict run_steps(const struct run *r)
{
    const struct trace *trace = r->trace;
    if (observe(r))
        return RUN_BROKE;
    if (r->setup->recorder)
        recording_begin(r->setup->recorder, trace, r->world[0]);
    for (size_t i = 0; i < trace->count; i++) {
        enum run_verdict verdict = step(r, &trace->op[i]);
        if (verdict != RUN_AGREED) {
            r->result->failed_at = i;
            return verdict;
        }
        r->result->done++;
    }
    return RUN_AGREED;
}

/* --- Life ------------------------------------------------------------------------------------ */

static int open_world(const struct run *r, unsigned which, struct world **world)
{
    if (which == RUN_ON_MODEL)
        return world_open_model(r->trace, r->setup->impl, world, r->error);
    return which == RUN_ON_KERNEL ? world_open_kernel(r->trace, world, r->error)
                                  : world_open_recorded(r->trace, world, r->error);
}

static enum run_verdict open_worlds(struct run *r)
{
    for (unsigned which = RUN_ON_MODEL; which <= RUN_ON_RECORDED; which *= 2) {
        if (!(r->setup->on & which))
            continue;
        int rc = open_world(r, which, &r->world[r->worlds]);
        if (rc)
            return rc == WORLD_NOT_PERMITTED ? RUN_NOT_PERMITTED : RUN_BROKE;
        r->view[r->worlds] = calloc(1, sizeof(struct world_view));
        if (!r->view[r->worlds++]) {
            tool_fail(r->error, "out of memory");
            return RUN_BROKE;
        }
    }
    return RUN_AGREED;
}

enum run_verdict run_trace(const struct trace *trace, const struct run_setup *setup, FILE *out,
                           struct run_result *result, struct tool_error *error)
{
    struct run r = {.trace = trace, .setup = setup, .out = out, .result = result, .error = error};
    *result = (struct run_result){0};
    enum run_verdict verdict = open_worlds(&r);
    if (verdict == RUN_AGREED) {
        result->channels = channels_of(&r);
        verdict = run_steps(&r);
    }
    for (unsigned w = 0; w < r.worlds; w++) {
        r.world[w]->close(r.world[w]);
        free(r.view[w]);
    }
    return verdict;
}

void run_print_unseen(FILE *out, unsigned channels)
{
    static const struct {
        unsigned channel;
        const char *what;
    } rows[] = {
        {WORLD_ENTRIES, "entries"},
        {WORLD_FRAMES, "kinds of pages, sharing and map counts"},
        {WORLD_RSS, "resident sets"},
        {WORLD_MAPPINGS, "mappings"},
        {WORLD_PAGEMAP, "the words of pagemap and PAGEMAP_SCAN"},
        {WORLD_RAW, "the raw bits of entries (writable, dirty)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!(channels & rows[i].channel))
            fprintf(out, "not compared: %s\n", rows[i].what);
}
