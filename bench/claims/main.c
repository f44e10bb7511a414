/* SPDX-License-Identifier: MIT */
/* fastmm-bench-claims: four claims of the mailing lists, tried on this machine. */
#define _GNU_SOURCE
#include "output.h"

#include "harness/bench.h"
#include "harness/pool.h"
#include "harness/program.h"
#include "harness/report.h"
#include "harness/table.h"
#include "harness/topology.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

static const char usage[] =
    "usage: fastmm-bench-claims [default | full | help] [--report DIR] [-- COMMAND...]\n"
    "  default  in at most 6 minutes\n"
    "  full     more sizes, more blocks, and the time they need\n"
    "  help     prints this\n"
    "  --report DIR  where claims.json, claims.csv and the pictures go (../report beside the "
    "program)\n"
    "  --smoke       each thing once, and no report unless --report is given\n"
    "  -- COMMAND    a command that is also run with and without the preload library\n";

/* Of the default run; making things and counting branches come on top. */
static const double most_seconds = 170, programs_seconds = 100, threads_seconds = 25;

struct options {
    char report[PATH_MAX], directory[PATH_MAX];
    bool smoke, full;
    char **command;
};

static void explain(bool asked) __attribute__((noreturn));

static void explain(bool asked)
{
    fputs(usage, asked ? stdout : stderr);
    exit(asked ? 0 : 2);
}

static void refuse(const char *what) __attribute__((noreturn));

static void refuse(const char *what)
{
    fprintf(stderr, "fastmm-bench-claims: %s\n", what);
    exit(2);
}

/* Absolute, since the work is done elsewhere. */
static void set_report(struct options *options, const char *directory, const char *path)
{
    char here[PATH_MAX];
    if (*path == '/')
        directory = "";
    else if (!directory)
        directory = getcwd(here, sizeof(here)) ? here : ".";
    if (snprintf(options->report, PATH_MAX, "%s%s%s", directory, *path == '/' ? "" : "/", path) >=
        PATH_MAX)
        refuse("a path is too long");
}

static void read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {{"report", required_argument, NULL, 'r'},
                                          {"smoke", no_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    if (!program_directory(options->directory, PATH_MAX))
        refuse("/proc/self/exe can't be read");
    for (int i = 1; i < argc && !options->command; i++)
        if (strcmp(argv[i], "--") == 0 && i + 1 < argc) {
            options->command = argv + i + 1;
            argc = i;
        }
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'r')
            set_report(options, NULL, optarg);
        else if (option == 's')
            options->smoke = true;
        else
            explain(option == 'h');
    }
    const char *mode = optind < argc ? argv[optind] : "default";
    options->full = strcmp(mode, "full") == 0;
    if (argc - optind > 1 ||
        (strcmp(mode, "help") != 0 && strcmp(mode, "default") != 0 && strcmp(mode, "full") != 0))
        explain(false);
    if (strcmp(mode, "help") == 0)
        explain(true);
    if (!*options->report && !options->smoke)
        set_report(options, options->directory, "../report");
}

static double now(void)
{
    return (double)bench_now() * 1e-9;
}

/*
 * Starts over without address space randomisation, where that is permitted: it moves pages of code
 * and data, and with them short loops by a few per cent, from one run to the next.
 */
static void keep_addresses(char **argv)
{
    int before = personality(0xffffffff);
    if (before == -1 || before & ADDR_NO_RANDOMIZE ||
        personality((unsigned long)before | ADDR_NO_RANDOMIZE) == -1)
        return;
    execv("/proc/self/exe", argv);
    personality((unsigned long)before);
}

/* This thread stays on one CPU, as the scorecard's single-threaded pairs do. */
static void place(struct claims *claims)
{
    static struct topology topology;
    if (topology_load(&topology) != 0 || !topology.of_this_system)
        return;
    pool_place(topology.cpus, topology.count);
    topology_bind(topology.cpus[0]);
    claims->cpus = topology.count;
}

static void measure(struct claims *claims)
{
    unsigned done;
    fork_claim_add(claims);
    gate_claim_add(claims);
    life_claim_add(claims);
    life_claim_add_threads(claims, false);
    copy_claim_add(claims);
    claims_measure(claims, 0, most_seconds);
    done = claims->count;
    preload_claim_add(claims);
    claims_measure(claims, done, programs_seconds);
    done = claims->count;
    life_claim_add_threads(claims, true);
    claims_measure(claims, done, threads_seconds);
    claims_judge(claims);
    life_claim_note(claims);
}

/* What must not happen on any machine. */
static bool is_right(const struct claims *claims)
{
    bool right = true;
    for (unsigned i = 0; i < claims->count; i++)
        if (claims->rows[i].wrong) {
            fprintf(stderr,
                    "fastmm-bench-claims: %s: it failed, or the two give different results\n",
                    claims->rows[i].name);
            right = false;
        }
    if (!fork_claim_worked()) {
        fputs("fastmm-bench-claims: a fork failed that was timed\n", stderr);
        right = false;
    }
    if (!life_claim_exact()) {
        fputs("fastmm-bench-claims: a counter lost something\n", stderr);
        right = false;
    }
    return preload_claim_worked() && right;
}

static int write_report(const struct options *options, const struct claims_report *report)
{
    char error[PATH_MAX + 256];
    static const struct {
        const char *name;
        void (*write)(FILE *out, const void *content);
    } files[] = {
        {"claims.json", claims_json}, {"claims.csv", claims_csv}, {"claims.txt", claims_text}};
    int status = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !status; i++)
        status = report_file(options->report, files[i].name, files[i].write, report, error,
                             sizeof(error));
    if (status != 0) {
        fprintf(stderr, "fastmm-bench-claims: %s\n", error);
        return 1;
    }
    bool plotted = claims_plot(options->report, report, error, sizeof(error)) == 0;
    if (!plotted)
        printf("No pictures: %s.\n", error);
    printf("Report: claims.json, claims.csv, claims.txt (all tables in full)%s in %s\n",
           plotted ? ", claims/*.svg" : "", options->report);
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct machine machine;
    char error[PATH_MAX + 256];
    keep_addresses(argv);
    signal(SIGPIPE, SIG_IGN);
    read_options(argc, argv, &options);
    if (*options.report && report_directory(options.report, error, sizeof(error)) != 0)
        refuse(error);

    struct claims claims = {.smoke = options.smoke,
                            .full = options.full,
                            .user = options.command,
                            .directory = options.directory};
    double start = now();
    machine_record(&machine);
    table_machine(stdout, &machine);
    fflush(stdout);
    kernel_measure(&claims.kernel, options.smoke ? 1 : 60);
    place(&claims);
    measure(&claims);

    struct claims_report report = {&claims, &machine, now() - start};
    claims_print(stdout, &report);
    int status = is_right(&claims) ? 0 : 1;
    if (*options.report && write_report(&options, &report) != 0)
        status = 1;
    fork_claim_free();
    gate_claim_free();
    copy_claim_free();
    life_claim_free();
    preload_claim_free();
    claims_free(&claims);
    machine_free(&machine);
    return status;
}
