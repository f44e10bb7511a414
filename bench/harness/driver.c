/* SPDX-License-Identifier: MIT */
/*
 * fastmm-bench: measures the goals of goals.csv and prints the scorecard. It measures nothing
 * itself: the bench binary of each primitive, which lies beside it, does so as a child, one process
 * for each goal.
 */
#define _GNU_SOURCE
#include "measure.h"
#include "names.h"
#include "program.h"
#include "table.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: fastmm-bench [default | full | list | check | machine | help] [GOAL...]\n"
    "  default  measures a subset of the cells of each goal, in at most 6 minutes\n"
    "  full     measures all cells, and takes the time it needs\n"
    "  list     prints the goals with the number of their cells\n"
    "  check    only looks whether each goal finds its cases\n"
    "  machine  prints what is recorded of this machine\n"
    "  help     prints this\n"
    "GOAL is a goal's id or a pattern with '*'; without any, all goals are meant.\n"
    "  --report DIR  where scorecard.csv and results.json go; without it, to ../report beside\n"
    "                the program, or nowhere when goals were named\n"
    "  --goals FILE  instead of goals.csv beside the program\n";

enum mode { MODE_DEFAULT, MODE_FULL, MODE_LIST, MODE_CHECK, MODE_MACHINE };

struct options {
    enum mode mode;
    char **patterns;
    unsigned pattern_count;
    char goals[PATH_MAX], report[PATH_MAX]; /* report is empty for none */
    char directory[PATH_MAX];               /* of this program */
};

/* A mistake of the caller or of the goals: said once, before anything is measured. */
static void refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void refuse(const char *format, ...)
{
    va_list args;
    fputs("fastmm-bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

static void explain(bool asked) __attribute__((noreturn));

static void explain(bool asked)
{
    fputs(usage, asked ? stdout : stderr);
    exit(asked ? 0 : 2);
}

static void set_path(char *out, const char *directory, const char *path)
{
    int length = *directory ? snprintf(out, PATH_MAX, "%s/%s", directory, path)
                            : snprintf(out, PATH_MAX, "%s", path);
    if (length >= PATH_MAX)
        refuse("a path is too long");
}

static enum mode read_mode(const char *word)
{
    static const char *const modes[] = {"default", "full", "list", "check", "machine"};
    for (int i = 0; i < 5; i++)
        if (word && strcmp(word, modes[i]) == 0)
            return (enum mode)i;
    return MODE_MACHINE + 1;
}

static void read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {{"report", required_argument, NULL, 'r'},
                                          {"goals", required_argument, NULL, 'g'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    if (!program_directory(options->directory, PATH_MAX))
        refuse("/proc/self/exe can't be read, so the bench binaries can't be found");
    set_path(options->goals, options->directory, "goals.csv");
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'r')
            set_path(options->report, "", optarg);
        else if (option == 'g')
            set_path(options->goals, "", optarg);
        else
            explain(option == 'h');
    }
    if (argv[optind] && strcmp(argv[optind], "help") == 0)
        explain(true);
    enum mode mode = read_mode(argv[optind]);
    if (mode <= MODE_MACHINE)
        optind++;
    options->mode = mode <= MODE_MACHINE ? mode : MODE_DEFAULT;
    options->patterns = argv + optind;
    options->pattern_count = (unsigned)(argc - optind);
    if (!*options->report && !options->pattern_count)
        set_path(options->report, options->directory, "../report");
}

/* Drops the goals that no pattern names. */
static void choose_goals(const struct options *options, struct goals *goals)
{
    for (unsigned p = 0; p < options->pattern_count; p++) {
        bool found = false;
        for (unsigned g = 0; g < goals->count; g++)
            found |= name_glob(options->patterns[p], goals->goal[g].id);
        if (!found)
            refuse("no goal '%s' in %s (fastmm-bench list shows them)", options->patterns[p],
                   options->goals);
    }
    unsigned kept = 0;
    for (unsigned g = 0; g < goals->count; g++) {
        bool wanted = !options->pattern_count;
        for (unsigned p = 0; p < options->pattern_count; p++)
            wanted |= name_glob(options->patterns[p], goals->goal[g].id);
        if (wanted)
            goals->goal[kept++] = goals->goal[g];
        else
            free(goals->goal[g].line_text);
    }
    goals->count = kept;
}

static int list(const struct measurement *measurement)
{
    for (unsigned g = 0; g < measurement->count; g++) {
        const struct measured_goal *planned = &measurement->goals[g];
        printf("%-30s %3u of %3u cells  %s\n", planned->goal->id, planned->plan.count,
               planned->plan.total, planned->goal->what);
    }
    return 0;
}

static void announce(const struct measurement *measurement, bool full)
{
    unsigned cells = 0, total = 0;
    for (unsigned g = 0; g < measurement->count; g++) {
        cells += measurement->goals[g].plan.count;
        total += measurement->goals[g].plan.total;
    }
    printf("Measuring %u of %u cells of %u goals%s.\n\n", cells, total, measurement->count,
           full ? "" : ", in at most 6 minutes (fastmm-bench full takes all)");
    fflush(stdout);
}

static int measure(const struct options *options, struct goals *goals,
                   struct measurement *measurement)
{
    char error[PATH_MAX + 256];
    struct machine machine;
    if (*options->report && report_prepare(options->report, error, sizeof(error)) != 0)
        refuse("%s", error);

    machine_record(&machine);
    table_machine(stdout, &machine);
    putchar('\n');

    if (!goals_suit(goals, machine_fact(&machine, "cpu_model")))
        printf("Targets are left out: they were set for another part (%s).\n", goals->reference);
    bool full = options->mode == MODE_FULL;
    announce(measurement, full);
    measure_run(measurement, full);
    struct report report = {measurement->scores,       measurement->count,   &machine,
                            full ? "full" : "default", measurement->seconds, measurement->figures,
                            measurement->figure_count};
    putchar('\n');
    table_print(stdout, &report);
    int status = measurement->wrong ? 1 : 0;
    if (*options->report) {
        if (report_write(options->report, &report, error, sizeof(error)) != 0) {
            fprintf(stderr, "fastmm-bench: %s\n", error);
            status = 1;
        } else {
            char *directory = realpath(options->report, NULL);
            printf("Report: scorecard.csv and results.json in %s\n",
                   directory ? directory : options->report);
            free(directory);
        }
    }
    machine_free(&machine);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct goals goals;
    struct measurement measurement;
    char error[PATH_MAX + 256];
    signal(SIGPIPE, SIG_IGN); /* a child that dies is reported, not suffered */
    read_options(argc, argv, &options);

    if (options.mode == MODE_MACHINE) {
        struct machine machine;
        machine_record(&machine);
        for (unsigned i = 0; i < machine.facts; i++)
            printf("%-14s %s\n", machine.fact[i].key, machine.fact[i].value);
        for (unsigned i = 0; i < machine.warnings; i++)
            printf("%-14s %s\n", "noise", machine.warning[i]);
        machine_free(&machine);
        return 0;
    }
    if (goals_read(options.goals, &goals, error, sizeof(error)) != 0)
        refuse("%s", error);
    choose_goals(&options, &goals);
    if (measure_plan(&measurement, &goals, options.directory,
                     options.mode == MODE_FULL || options.mode == MODE_CHECK, error,
                     sizeof(error)) != 0)
        refuse("%s", error);

    int status = 0;
    if (options.mode == MODE_LIST)
        status = list(&measurement);
    else if (options.mode == MODE_CHECK)
        printf("%u goals find their cases\n", measurement.count);
    else
        status = measure(&options, &goals, &measurement);
    measure_free(&measurement);
    goals_free(&goals);
    return status;
}
