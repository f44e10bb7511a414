/* SPDX-License-Identifier: MIT */
/*
 * Traces on a machine with the user's primitives: made-up ones against a recording of the same on
 * the library's, or against the kernel; given ones by what they expect.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream() */
#include "host.h"
#include "parts.h"

#include "mm/permitted.h"
#include "mm/run.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>

#define EPISODE 200u

static struct run_setup on(unsigned worlds)
{
    return (struct run_setup){.on = worlds, .impl = FASTMM_MM_PLAIN};
}

/* What the library's machine shows, as a trace that carries it. */
static int record(const struct trace *trace, struct trace *recorded, struct tool_error *error)
{
    static struct recorder recorder;
    struct run_setup setup = on(RUN_ON_MODEL);
    struct run_result result;
    char *text = NULL;
    size_t size = 0;
    recorder = (struct recorder){.out = open_memstream(&text, &size)};
    if (!recorder.out)
        return tool_fail(error, "out of memory");
    setup.recorder = &recorder;
    host_use(NULL);
    enum run_verdict verdict = run_trace(trace, &setup, NULL, &result, error);
    fclose(recorder.out);
    int rc = verdict == RUN_AGREED ? trace_parse("recording", text, size, recorded, error) : -1;
    free(text);
    return rc;
}

static enum run_verdict against_ours(const struct fastmm_try *user, const struct trace *trace,
                                     size_t *done, struct tool_error *error)
{
    const struct run_setup setup = on(RUN_ON_MODEL | RUN_ON_RECORDED);
    struct run_result result;
    struct trace recorded;
    if (record(trace, &recorded, error))
        return RUN_BROKE;
    host_use(user);
    enum run_verdict verdict = run_trace(&recorded, &setup, stdout, &result, error);
    *done += result.done;
    trace_free(&recorded);
    return verdict;
}

static enum run_verdict against_kernel(const struct fastmm_try *user, const struct trace *trace,
                                       size_t *done, struct tool_error *error)
{
    const struct run_setup setup = on(RUN_ON_BOTH);
    struct run_result result;
    host_use(user);
    enum run_verdict verdict = run_trace(trace, &setup, stdout, &result, error);
    *done += result.done;
    return verdict;
}

typedef enum run_verdict trial(const struct fastmm_try *user, const struct trace *trace,
                               size_t *done, struct tool_error *error);

static enum run_verdict try_made_up(const struct fastmm_try *user, uint64_t seed, uint64_t ops,
                                    const struct generate_setup *left_out, trial *run, size_t *done)
{
    enum run_verdict verdict = RUN_AGREED;
    for (uint64_t n = 0; n * EPISODE < ops && verdict == RUN_AGREED; n++) {
        struct generate_setup what = *left_out;
        what.kind = (enum generate_kind)(n % 4);
        struct tool_error error = {""};
        struct trace trace;
        if (generate_trace(seed + n, &what, EPISODE, &trace))
            return RUN_BROKE;
        verdict = run(user, &trace, done, &error);
        if (verdict != RUN_AGREED && *error.text)
            printf("%s\n", error.text);
        if (verdict != RUN_AGREED && verdict != RUN_NOT_PERMITTED)
            printf("in the made-up trace of seed %" PRIu64 "\n", seed + n);
        trace_free(&trace);
    }
    return verdict;
}

static bool try_file(const struct fastmm_try *user, const char *path)
{
    const struct run_setup setup = on(RUN_ON_MODEL);
    struct tool_error error = {""};
    struct run_result result;
    struct trace trace;
    struct text text;
    if (text_read(path, &text, &error)) {
        printf("%s\n", error.text);
        return false;
    }
    int rc = trace_parse(path, text.bytes, text.size, &trace, &error);
    free(text.bytes);
    if (rc) {
        printf("%s\n", error.text);
        return false;
    }
    host_use(user);
    enum run_verdict verdict = run_trace(&trace, &setup, stdout, &result, &error);
    trace_free(&trace);
    if (verdict != RUN_AGREED)
        printf("%s: fails%s%s\n", path, *error.text ? ": " : "", error.text);
    return verdict == RUN_AGREED;
}

bool try_traces(const struct fastmm_try *user, uint64_t seed, uint64_t ops, char **files,
                unsigned count)
{
    const struct generate_setup everything = {.kind = GENERATE_ANON};
    size_t done = 0;
    bool equal = try_made_up(user, seed, ops, &everything, against_ours, &done) == RUN_AGREED;
    unsigned passed = 0;
    printf("made-up traces: %zu operations %s\n", done, equal ? "equal" : "until it differs");
    for (unsigned i = 0; i < count; i++)
        passed += try_file(user, files[i]);
    if (count)
        printf("given traces: %u of %u hold\n", passed, count);
    return equal && passed == count;
}

bool try_kernel(const struct fastmm_try *user, uint64_t seed, uint64_t ops)
{
    struct generate_setup what = {.kind = GENERATE_ANON};
    size_t done = 0;
    generate_only_permitted(&what);
    enum run_verdict verdict = try_made_up(user, seed, ops, &what, against_kernel, &done);
    if (verdict == RUN_NOT_PERMITTED) {
        printf("the running kernel: not compared, that isn't permitted here\n");
        return true;
    }
    printf("the running kernel: %zu operations %s\n", done,
           verdict == RUN_AGREED ? "agree" : "until it differs");
    return verdict == RUN_AGREED;
}
