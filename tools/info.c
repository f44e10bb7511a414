/* SPDX-License-Identifier: MIT */
/* `fastmm info`: this CPU or, from a dump of its leaves, another one. */
#include "info.h"

#include "cpuid_dump.h"
#include "settings.h"
#include "tool.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: fastmm info [--json] [--cpuid FILE] [--settings FILE]\n"
    "       fastmm info --dump\n"
    "\n"
    "Says what the CPU offers and what the operating system lets programs use of it, how\n"
    "large the caches are and which statement about them was believed, which way copies and\n"
    "clears go and why, what restartable sequences the kernel and libc have, and libc's own\n"
    "thresholds.\n"
    "\n"
    "  --cpuid FILE  answer for another CPU, from a text with lines such as\n"
    "                CPUID 00000007: 00000001-F1BF97A9-00415FCE-10000010 [SL 00]\n"
    "                (EAX-EBX-ECX-EDX and the subleaf). A dump doesn't say what the operating\n"
    "                system enabled: everything that the CPU offers is taken to be.\n"
    "  --settings FILE\n"
    "                what the settings in that file would make of copy and clear\n"
    "  --dump        print the leaves of this CPU in that form\n"
    "  --json        the same facts for programs\n";

struct options {
    const char *cpuid, *settings;
    bool dump, json, help;
};

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"cpuid", required_argument, NULL, 'c'}, {"settings", required_argument, NULL, 's'},
        {"dump", no_argument, NULL, 'd'},        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    *options = (struct options){0};
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        switch (c) {
        case 'c':
            options->cpuid = optarg;
            break;
        case 's':
            options->settings = optarg;
            break;
        case 'd':
            options->dump = true;
            break;
        case 'j':
            options->json = true;
            break;
        case 'h':
            options->help = true;
            break;
        case ':':
            return tool_misused("info", "'%s' needs a value", argv[optind - 1]);
        default:
            return tool_misused("info", "no option '%s'", argv[optind - 1]);
        }
    }
    if (optind < argc)
        return tool_misused("info", "nothing is expected at '%s'", argv[optind]);
    if (options->dump && (options->cpuid || options->settings || options->json))
        return tool_misused("info", "--dump stands alone");
    return TOOL_OK;
}

static int dump(void)
{
    struct fastmm_cpuid_source source;
    if (fastmm_cpuid_native(&source) != 0) {
        tool_complain("this CPU has no CPUID");
        return TOOL_FAILED;
    }
    cpuid_dump_write(&source, stdout);
    return tool_finish();
}

static void print_text(const struct fastmm_cpu *cpu, const struct fastmm_copy_plan *plan,
                       const struct options *options)
{
    if (options->cpuid)
        printf("What %s says; nothing below is of this machine.\n\n", options->cpuid);
    info_cpu_text(cpu);
    info_copy_text(plan);
    if (!options->cpuid)
        info_system_text();
}

static void print_json(const struct fastmm_cpu *cpu, const struct fastmm_copy_plan *plan,
                       const struct options *options)
{
    struct json json = {.out = stdout};
    json_object(&json, NULL);
    json_string(&json, "source", options->cpuid ? options->cpuid : "this CPU");
    info_cpu_json(cpu, &json);
    info_copy_json(plan, &json);
    if (!options->cpuid)
        info_system_json(&json);
    json_object_end(&json);
}

/* The CPU asked about. 0, or -1 with *error. */
static int find_cpu(const struct options *options, struct fastmm_cpu *cpu, struct tool_error *error)
{
    static struct cpuid_dump other;
    *cpu = *fastmm_cpu_native();
    if (!options->cpuid)
        return 0;
    if (cpuid_dump_read(options->cpuid, &other, error) != 0)
        return -1;
    struct fastmm_cpuid_source source = cpuid_dump_source(&other);
    fastmm_cpu_decode(&source, cpu);
    return 0;
}

/* What copy and clear would do on it. 0, or -1 with *error. */
static int find_plan(const struct options *options, const struct fastmm_cpu *cpu,
                     struct fastmm_copy_plan *plan, struct tool_error *error)
{
    struct fastmm_copy_settings settings = {0};
    const char *reason = "";
    if (options->settings && settings_read(options->settings, &settings, error) != 0)
        return -1;
    if (fastmm_copy_plan_for(cpu, &settings, plan, &reason) != 0)
        return tool_fail(error, "%s: refused on this CPU: %s", options->settings, reason);
    return 0;
}

int tool_info(int argc, char **argv)
{
    struct options options;
    int status = parse(argc, argv, &options);
    if (status != TOOL_OK)
        return status;
    if (options.help) {
        fputs(help, stdout);
        return tool_finish();
    }
    if (options.dump)
        return dump();

    struct fastmm_cpu cpu;
    struct fastmm_copy_plan plan;
    struct tool_error error;
    if (find_cpu(&options, &cpu, &error) != 0 || find_plan(&options, &cpu, &plan, &error) != 0) {
        tool_complain("%s", error.text);
        return TOOL_FAILED;
    }
    (options.json ? print_json : print_text)(&cpu, &plan, &options);
    return tool_finish();
}
