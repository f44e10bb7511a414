/* SPDX-License-Identifier: MIT */
/* The program: finds the subcommand and gets out of its way. */
#include "tool.h"

#include <fastmm/base.h>
#include <stdio.h>
#include <string.h>

static const struct tool tools[] = {
    {"compare", tool_compare, "two result files of the benchmarks, from one machine or two"},
    {"info", tool_info, "what this CPU offers, what was chosen for it, and why"},
    {"mm", tool_mm, "traces of memory management, on the model and on the running kernel"},
    {"record", tool_record, "a live process's address space, written to a snapshot file"},
    {"snapshot", tool_snapshot, "what is in a snapshot file"},
    {"tune", tool_tune, "measure copying and clearing here: what to use for which size"},
    {"walk", tool_walk, "the page tables of a live process, and what a fork would copy"},
};

#define TOOL_COUNT (sizeof(tools) / sizeof(tools[0]))

static void print_help(FILE *out)
{
    fprintf(out, "usage: fastmm <command> [options]\n"
                 "\n"
                 "Measures and explains the primitives of libfastmm on this machine.\n"
                 "\n"
                 "commands:\n");
    for (size_t i = 0; i < TOOL_COUNT; i++)
        fprintf(out, "  %-10s %s\n", tools[i].name, tools[i].summary);
    fprintf(out,
            "  %-10s this text, or the help of a command\n"
            "  %-10s the version\n"
            "\n"
            "'fastmm <command> --help' explains a command.\n",
            "help", "version");
}

static const struct tool *find(const char *name)
{
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

static int unknown(const char *name)
{
    tool_complain("no command '%s'; 'fastmm help' lists them", name);
    return TOOL_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stdout);
        return tool_finish();
    }
    const struct tool *tool = find(argv[1]);
    char *help_argv[] = {argv[1], (char[]){"--help"}, NULL};
    return tool ? tool->run(2, help_argv) : unknown(argv[1]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argc - 1, argv + 1);
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        printf("fastmm %d.%d.%d\n", FASTMM_VERSION_MAJOR, FASTMM_VERSION_MINOR,
               FASTMM_VERSION_PATCH);
        return tool_finish();
    }
    const struct tool *tool = find(name);
    return tool ? tool->run(argc - 1, argv + 1) : unknown(name);
}
