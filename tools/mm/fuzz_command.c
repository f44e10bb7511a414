/* SPDX-License-Identifier: MIT */
/*
 * `fastmm mm fuzz`. Operations come in episodes, each with processes of its own, so that what fails
 * is short to begin with.
 */
#include "mm/commands.h"

#include "mm/permitted.h"
#include "mm/shrink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EPISODE 200u

struct fuzz {
    struct run_setup setup;
    uint64_t seed, ops;
    struct generate_setup what;
    uint64_t done;
    unsigned channels;
    struct coverage coverage;
};

/* In a long run each cell that can be met should be met this often. */
#define ENOUGH 1000u

static bool differs(void *context, const struct trace *trace)
{
    const struct fuzz *f = context;
    const struct run_setup again = {.on = f->setup.on, .impl = f->setup.impl};
    struct run_result result;
    struct tool_error error;
    enum run_verdict verdict = run_trace(trace, &again, NULL, &result, &error);
    return verdict == RUN_DIFFERED || verdict == RUN_BROKE;
}

static void report(struct fuzz *f, struct trace *trace, const struct run_result *found,
                   uint64_t episode)
{
    struct run_result result;
    struct tool_error error = {""};
    printf("episode %" PRIu64 " (seed %" PRIu64 ") fails at operation %zu of %zu\n", episode,
           f->seed + episode, found->failed_at + 1, trace->count);
    trace->count = found->failed_at + 1;
    if (differs(f, trace)) {
        unsigned asked = shrink_trace(trace, differs, f);
        printf("shrunk to %zu operations in %u runs:\n\n", trace->count, asked);
    } else {
        printf("and not when repeated:\n\n");
    }
    trace_print(stdout, trace);
    putchar('\n');
    for (size_t i = 0; i < trace->count; i++)
        trace->op[i].line = (unsigned)i + 1;
    if (run_trace(trace, &f->setup, stdout, &result, &error) == RUN_BROKE)
        printf("%s\n", error.text);
}

static enum run_verdict episode(struct fuzz *f, uint64_t number, size_t ops)
{
    struct trace trace;
    struct run_result result;
    struct tool_error error = {""};
    if (generate_trace(f->seed + number, &f->what, ops, &trace)) {
        tool_complain("out of memory");
        return RUN_BROKE;
    }
    enum run_verdict verdict = run_trace(&trace, &f->setup, NULL, &result, &error);
    f->done += result.done;
    f->channels = result.channels;
    if (verdict == RUN_BROKE || verdict == RUN_NOT_PERMITTED)
        tool_complain("%s", error.text);
    if (verdict == RUN_DIFFERED || (verdict == RUN_BROKE && result.done))
        report(f, &trace, &result, number);
    trace_free(&trace);
    return verdict;
}

static bool to_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && end != text && !*end && *text != '-';
}

static bool to_kind(const char *text, enum generate_kind *kind)
{
    static const char *const names[] = {"anon", "shmem", "file", "mixed", "all"};
    for (unsigned i = 0; i <= GENERATE_ALL; i++)
        if (!strcmp(text, names[i])) {
            *kind = (enum generate_kind)i;
            return true;
        }
    return false;
}

static bool take_option(struct fuzz *f, const char *name, const char *value)
{
    if (!strcmp(name, "--seed"))
        return to_number(value, &f->seed);
    if (!strcmp(name, "--ops"))
        return to_number(value, &f->ops) && f->ops;
    if (!strcmp(name, "--kind"))
        return to_kind(value, &f->what.kind);
    return mm_take_setup(&f->setup, name, value);
}

static int take_options(struct fuzz *f, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2)
        if (!take_option(f, argv[i], i + 1 < argc ? argv[i + 1] : ""))
            return tool_misused("mm", "'%s %s' makes no sense", argv[i],
                                i + 1 < argc ? argv[i + 1] : "");
    return 0;
}

int mm_make(int argc, char **argv)
{
    struct fuzz f = {.seed = 1, .ops = EPISODE};
    struct trace trace;
    if (take_options(&f, argc, argv))
        return TOOL_USAGE;
    if (generate_trace(f.seed, &f.what, (size_t)f.ops, &trace)) {
        tool_complain("out of memory");
        return RUN_BROKE;
    }
    trace_print(stdout, &trace);
    trace_free(&trace);
    return mm_finish(RUN_AGREED);
}

int mm_fuzz(int argc, char **argv)
{
    static struct fuzz f = {.setup = {.on = RUN_ON_BOTH}, .seed = 1, .ops = 10000};
    f.setup.coverage = &f.coverage;
    enum run_verdict verdict = RUN_AGREED;
    if (take_options(&f, argc, argv))
        return TOOL_USAGE;
    if (f.setup.on & RUN_ON_KERNEL)
        generate_only_permitted(&f.what);
    printf("seed %" PRIu64 "\n", f.seed);
    for (uint64_t n = 0; n * EPISODE < f.ops && verdict == RUN_AGREED; n++) {
        uint64_t left = f.ops - n * EPISODE;
        verdict = episode(&f, n, (size_t)(left < EPISODE ? left : EPISODE));
    }
    if (run_compares(&f.setup) && f.done)
        run_print_unseen(stdout, f.channels);
    if (verdict == RUN_AGREED && (f.setup.on & RUN_ON_MODEL))
        coverage_print(stdout, &f.coverage, ENOUGH);
    printf("%" PRIu64 " operations %s\n", f.done,
           run_compares(&f.setup) ? "compared" : "carried out");
    return mm_finish(verdict);
}
