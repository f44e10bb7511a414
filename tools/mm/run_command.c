/* SPDX-License-Identifier: MIT */
/* `fastmm mm run`. */
#include "mm/commands.h"

#include "output.h"
#include "text.h"

#include <fastmm/mm.h>
#include <stdlib.h>
#include <string.h>

static bool one_of(const char *const names[], unsigned count, const char *name, unsigned *index)
{
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(name, names[i])) {
            *index = i;
            return true;
        }
    return false;
}

bool mm_take_setup(struct run_setup *setup, const char *name, const char *value)
{
    static const char *const worlds[] = {"", "model", "kernel", "both"};
    if (!strcmp(name, "--on") && !strcmp(value, "recorded")) {
        setup->on = RUN_ON_MODEL | RUN_ON_RECORDED;
        return true;
    }
    static const char *const builds[] = {
        [FASTMM_MM_BEST] = "best", [FASTMM_MM_PLAIN] = "plain", [FASTMM_MM_AVX512] = "avx512"};
    if (!strcmp(name, "--on"))
        return one_of(worlds, 4, value, &setup->on) && setup->on;
    return !strcmp(name, "--build") && one_of(builds, 3, value, &setup->impl);
}

static enum run_verdict run_file(const char *path, const struct run_setup *setup, size_t *done)
{
    struct tool_error error;
    struct text text;
    struct trace trace;
    struct run_result result;
    if (text_read(path, &text, &error)) {
        tool_complain("%s", error.text);
        return RUN_BROKE;
    }
    int rc = trace_parse(path, text.bytes, text.size, &trace, &error);
    free(text.bytes);
    if (rc) {
        tool_complain("%s", error.text);
        return RUN_BROKE;
    }
    enum run_verdict verdict = run_trace(&trace, setup, stdout, &result, &error);
    trace_free(&trace);
    *done += result.done;
    if (verdict == RUN_BROKE || verdict == RUN_NOT_PERMITTED)
        tool_complain("%s: %s", path, error.text);
    else if (run_compares(setup))
        run_print_unseen(stdout, result.channels);
    if (verdict == RUN_DIFFERED)
        printf("%s: differs\n", path);
    return verdict;
}

/* --record: one trace and one world, whose every step goes into the file. */
static enum run_verdict record(const char *trace, const char *path, struct run_setup *setup,
                               size_t *done)
{
    static struct recorder recorder;
    struct output output;
    if (output_open(&output, path))
        return RUN_BROKE;
    recorder.out = output.file;
    setup->recorder = &recorder;
    enum run_verdict verdict = run_file(trace, setup, done);
    if (verdict != RUN_AGREED)
        output_drop(&output);
    else if (output_finish(&output))
        return RUN_BROKE;
    return verdict;
}

int mm_finish(enum run_verdict verdict)
{
    bool written = tool_finish() == TOOL_OK;
    return verdict == RUN_AGREED && !written ? RUN_BROKE : (int)verdict;
}

static int finish(const struct run_setup *setup, size_t done, enum run_verdict verdict)
{
    if (done || verdict != RUN_BROKE)
        printf("%zu operations %s\n", done, run_compares(setup) ? "compared" : "carried out");
    return mm_finish(verdict);
}

/* Of several files: what isn't permitted for one must not hide what went wrong with another. */
static int weight(enum run_verdict verdict)
{
    return verdict == RUN_DIFFERED        ? 3
           : verdict == RUN_BROKE         ? 2
           : verdict == RUN_NOT_PERMITTED ? 1
                                          : 0;
}

int mm_run(int argc, char **argv)
{
    struct run_setup setup = {.on = RUN_ON_MODEL};
    const char *into = NULL;
    size_t done = 0;
    int files = 0;
    enum run_verdict worst = RUN_AGREED;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (argv[i][0] != '-') {
            argv[1 + files++] = argv[i];
            continue;
        }
        if (!strcmp(argv[i], "--record") && *value)
            into = value;
        else if (!mm_take_setup(&setup, argv[i], value))
            return tool_misused("mm", "'%s %s' makes no sense", argv[i], value);
        i++;
    }
    if (!files)
        return tool_misused("mm", "a trace file is expected");
    if (into && (files > 1 || run_compares(&setup)))
        return tool_misused("mm", "--record takes one trace and one world");
    if (into)
        worst = record(argv[1], into, &setup, &done);
    for (int i = 1; !into && i <= files; i++) {
        enum run_verdict verdict = run_file(argv[i], &setup, &done);
        worst = weight(verdict) > weight(worst) ? verdict : worst;
    }
    return finish(&setup, done, worst);
}
