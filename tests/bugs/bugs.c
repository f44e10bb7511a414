/* SPDX-License-Identifier: MIT */
/*
 * Usage: test_bugs NUMBER TRACE. Runs the trace twice, on a model that follows the rules and on one
 * that has rule NUMBER wrong. It must pass the first time and fail the second.
 *
 * The rules are those of the plain inner loops; that the others do the same is proved elsewhere.
 */
#include "mm/bug.h"
#include "mm/run.h"
#include "text.h"

#include <fastmm/mm.h>
#include <stdlib.h>

unsigned fastmm_mm_bug;

static enum run_verdict run_with(unsigned bug, const struct trace *trace, struct tool_error *error)
{
    const struct run_setup setup = {.on = RUN_ON_MODEL, .impl = FASTMM_MM_PLAIN};
    struct run_result result;
    *error = (struct tool_error){""};
    fastmm_mm_bug = bug;
    return run_trace(trace, &setup, stdout, &result, error);
}

static int try_trace(unsigned bug, const struct trace *trace)
{
    struct tool_error error;
    if (run_with(0, trace, &error) != RUN_AGREED) {
        printf("it fails without the wrong rule: %s\n", error.text);
        return 1;
    }
    if (run_with(bug, trace, &error) == RUN_AGREED) {
        printf("it passes with the wrong rule\n");
        return 1;
    }
    printf("noticed: %s\n", error.text);
    return 0;
}

int main(int argc, char **argv)
{
    struct tool_error error;
    struct text text;
    struct trace trace;
    unsigned bug = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    if (bug == 0) {
        fprintf(stderr, "usage: test_bugs NUMBER TRACE\n");
        return 2;
    }
    if (text_read(argv[2], &text, &error) ||
        trace_parse(argv[2], text.bytes, text.size, &trace, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    free(text.bytes);
    int failed = try_trace(bug, &trace);
    trace_free(&trace);
    return failed;
}
