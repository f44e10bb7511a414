/* SPDX-License-Identifier: MIT */
/* `fastmm mm`: traces of memory management, run on the model, on the kernel, or on both. */
#include "mm/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: fastmm mm run FILE... [--on WORLD] [--build NAME] [--record FILE]\n"
    "       fastmm mm fuzz [--on WORLD] [--build NAME] [--seed N] [--ops N] [--kind KIND]\n"
    "       fastmm mm make [--seed N] [--ops N] [--kind KIND]\n"
    "       fastmm mm try MINE.so [TRACE...] [--seed N] [--ops N]\n"
    "\n"
    "run   carries out the operations of trace files. On both, the simulated machine and the\n"
    "      running kernel are compared after every operation; the first difference is printed\n"
    "      as two tables side by side.\n"
    "fuzz  makes up operations, and shrinks what differs to a short trace. What they met is\n"
    "      counted and printed.\n"
    "make  makes up a trace and prints it.\n"
    "try   puts primitives of your own in place of the library's; see its own --help.\n"
    "\n"
    "  --on WORLD     where: model (default of run), kernel, both (default of fuzz), or\n"
    "                 recorded: the model beside the kernel that the trace has recorded\n"
    "  --build NAME   the model's inner loops: plain, avx512, best (default)\n"
    "  --record FILE  writes the trace there, and after each operation what the world showed\n"
    "  --seed N       where chance begins (1)\n"
    "  --ops N        how many operations (10000; make: 200)\n"
    "  --kind KIND    memory: anon (default), shmem, file, mixed, or all in turn\n"
    "\n"
    "Exit status: 0 all agree, 1 they differ, 77 not permitted here, 2 misuse or failure.\n";

/* A program of its own, next to this one: its machine is compiled differently. */
static int run_try(char **argv)
{
    char path[4096 + 16];
    ssize_t length = readlink("/proc/self/exe", path, 4096);
    if (length > 0)
        path[length] = '\0';
    char *name = length > 0 ? strrchr(path, '/') : NULL;
    if (name) {
        strcpy(name, "/fastmm-try");
        execv(path, argv);
    }
    tool_complain("fastmm-try can't be started from where this program is");
    return RUN_BROKE;
}

int tool_mm(int argc, char **argv)
{
    if (argc >= 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(usage, stdout);
        return mm_finish(RUN_AGREED);
    }
    if (argc >= 2 && !strcmp(argv[1], "run"))
        return mm_run(argc - 1, argv + 1);
    if (argc >= 2 && !strcmp(argv[1], "fuzz"))
        return mm_fuzz(argc - 1, argv + 1);
    if (argc >= 2 && !strcmp(argv[1], "make"))
        return mm_make(argc - 1, argv + 1);
    if (argc >= 2 && !strcmp(argv[1], "try"))
        return run_try(argv + 1);
    return tool_misused("mm", "run, fuzz, make or try is expected");
}
