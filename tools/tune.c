/* SPDX-License-Identifier: MIT */
/* `fastmm tune`: measures this CPU and says what to use, and what not to. */
#include "tune.h"

#include "output.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: fastmm tune [--json] [-o FILE]\n"
    "\n"
    "Measures copying and clearing on this CPU, in well under a minute: vectors, the string\n"
    "instructions, streaming stores and libc by size; where rep movsb is slow because source\n"
    "and destination alias; its knee at short sizes; masked accesses at the edge of memory.\n"
    "Says what to use for which size, and tries whether glibc's tunables would help programs\n"
    "that can't be changed. Best on an otherwise idle machine: the noise is shown.\n"
    "\n"
    "  -o FILE   also write the thresholds as a settings file ('fastmm info --settings FILE'\n"
    "            shows what the library would make of them)\n"
    "  --json    everything for programs\n";

struct options {
    const char *output, *probe;
    bool json, help;
};

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {"probe-libc", required_argument, NULL, 'p'}, /* for tune_try_libc() alone */
        {NULL, 0, NULL, 0}};
    *options = (struct options){0};
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":ho:", longs, NULL)) != -1;) {
        switch (c) {
        case 'o':
            options->output = optarg;
            break;
        case 'j':
            options->json = true;
            break;
        case 'h':
            options->help = true;
            break;
        case 'p':
            options->probe = optarg;
            break;
        case ':':
            return tool_misused("tune", "'%s' needs a value", argv[optind - 1]);
        default:
            return tool_misused("tune", "no option '%s'", argv[optind - 1]);
        }
    }
    if (optind < argc)
        return tool_misused("tune", "nothing is expected at '%s'", argv[optind]);
    return TOOL_OK;
}

static void say_progress(const char *what)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s", what);
}

static int write_settings(struct output *o, const struct tune_results *r)
{
    struct fastmm_copy_settings settings = tune_settings(r);
    fprintf(o->file, "# Measured by 'fastmm tune' on %s.\n", fastmm_cpu_native()->name);
    settings_write(&settings, o->file);
    return output_finish(o);
}

static int measure(struct tune_results *r)
{
    struct tool_error error;
    double begin = measure_now();
    say_progress("measuring copy and clear ...");
    int result = tune_measure(r, &error);
    if (result == 0) {
        say_progress("trying glibc's tunables ...");
        result = tune_try_libc(r, &error);
    }
    say_progress("");
    r->seconds = (measure_now() - begin) / 1e9;
    if (result == 0)
        return TOOL_OK;
    tool_complain("%s", error.text);
    return TOOL_FAILED;
}

static void report(const struct tune_results *r, bool as_json)
{
    if (as_json) {
        struct json json = {.out = stdout};
        tune_report_json(r, &json);
    } else {
        tune_report_text(r);
    }
}

int tool_tune(int argc, char **argv)
{
    static struct tune_results results;
    struct options options;
    int status = parse(argc, argv, &options);
    if (status != TOOL_OK)
        return status;
    if (options.help) {
        fputs(help, stdout);
        return tool_finish();
    }
    if (options.probe)
        return tune_probe_main((unsigned)strtoul(options.probe, NULL, 10) % 4096);

    struct output output;
    if (options.output && output_open(&output, options.output) != TOOL_OK)
        return TOOL_FAILED;
    status = measure(&results);
    if (status != TOOL_OK) {
        if (options.output)
            output_drop(&output);
        return status;
    }
    report(&results, options.json);
    if (options.output)
        status = write_settings(&output, &results);
    int finished = tool_finish();
    return status != TOOL_OK ? status : finished;
}
