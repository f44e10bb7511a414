/* SPDX-License-Identifier: MIT */
/* `fastmm mm run`. */
#include "mm/commands.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

unsigned mm_world_named(const char *name)
{
    static const char *const names[] = {NULL, "model", "kernel", "both"};
    for (unsigned i = 1; i < 4; i++)
        if (!strcmp(name, names[i]))
            return i;
    return 0;
}

static enum run_verdict run_file(const char *path, unsigned on, size_t *done)
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
    enum run_verdict verdict = run_trace(&trace, on, stdout, &result, &error);
    trace_free(&trace);
    *done += result.done;
    if (verdict == RUN_BROKE || verdict == RUN_NOT_PERMITTED)
        tool_complain("%s: %s", path, error.text);
    else if (on == RUN_ON_BOTH)
        run_print_unseen(stdout, result.channels);
    if (verdict == RUN_DIFFERED)
        printf("%s: differs\n", path);
    return verdict;
}

int mm_run(int argc, char **argv)
{
    unsigned on = RUN_ON_MODEL;
    size_t done = 0;
    int files = 0;
    enum run_verdict worst = RUN_AGREED;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--on")) {
            on = i + 1 < argc ? mm_world_named(argv[++i]) : 0;
            if (!on)
                return tool_misused("mm", "--on needs model, kernel or both");
        } else if (argv[i][0] == '-') {
            return tool_misused("mm", "no option '%s'", argv[i]);
        }
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--on")) {
            i++;
            continue;
        }
        enum run_verdict verdict = run_file(argv[i], on, &done);
        worst = worst == RUN_AGREED || verdict == RUN_DIFFERED ? verdict : worst;
        files++;
    }
    if (!files)
        return tool_misused("mm", "a trace file is expected");
    if (done || worst != RUN_BROKE)
        printf("%zu operations %s\n", done, on == RUN_ON_BOTH ? "compared" : "carried out");
    int finished = tool_finish();
    return worst ? (int)worst : finished;
}
