/* SPDX-License-Identifier: MIT */
/*
 * main() of each bench binary: Google Benchmark with its own flags unless one of ours says
 * otherwise.
 */
#include "bench.h"
#include "cases.h"
#include "compare.h"
#include "figures.h"
#include "gbench.h"
#include "pool.h"
#include "smoke.h"
#include "topology.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "%s [--smoke | --list | --figures | --benchmark_...]\n"
    "  --smoke    takes each case once through setup, check and one iteration\n"
    "  --list     prints the names of all cases\n"
    "  --figures  prints the results that are no race, such as bytes and worst times\n"
    "Anything else goes to Google Benchmark. The scorecard against rivals is made by "
    "fastmm-bench.\n\n";

static void place_threads(void)
{
    static struct topology topology;
    if (topology_load(&topology) != 0 || !topology.of_this_system)
        fputs("fastmm-bench: the CPUs are unknown; threads are not bound\n", stderr);
    else
        pool_place(topology.cpus, topology.count);
}

static int list(void)
{
    for (size_t i = 0; i < cases_count(); i++)
        printf("%s\n", cases_get(i)->name);
    return 0;
}

int bench_main(int argc, char **argv, const char *primitive, void (*add_cases)(void))
{
    cases_begin(primitive);
    add_cases();

    const char *mode = argc == 2 ? argv[1] : "";
    if (strcmp(mode, "--list") == 0)
        return list();
    if (strcmp(mode, "--smoke") == 0)
        return smoke_run();
    if (strcmp(mode, "--help") == 0)
        printf(usage, argv[0]);

    if (strcmp(mode, "--figures") == 0)
        return figures_run();

    place_threads();
    if (strcmp(mode, "--compare=single") == 0)
        return compare_serve(true);
    if (strcmp(mode, "--compare=threaded") == 0)
        return compare_serve(false);
    return gbench_run(argc, argv);
}
