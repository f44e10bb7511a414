/* SPDX-License-Identifier: MIT */
/* `fastmm record`: a live process's address space as a snapshot file. */
#include "recorder.h"
#include "snapshot_file.h"
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: fastmm record --pid PID -o FILE [--force]\n"
    "\n"
    "Writes the address space of a process to FILE: its mappings and what each\n"
    "page-table entry holds, without path names, contents or physical addresses.\n"
    "Frame numbers need CAP_SYS_ADMIN; without it the snapshot says that it has none.\n"
    "\n"
    "  -p, --pid PID      the process\n"
    "  -o, --output FILE  where to write\n"
    "  -f, --force        replace FILE if it exists\n"
    "\n"
    "The process is neither stopped nor touched. One that runs may change while it is\n"
    "being read; stop it first (kill -STOP) for an exact picture.\n";

struct options {
    long pid;
    const char *output;
    bool force, help;
};

static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {{"pid", required_argument, NULL, 'p'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option;
    optind = 0; /* glibc: begin afresh, whoever parsed before */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "p:o:fh", longs, NULL)) != -1) {
        switch (option) {
        case 'p':
            o->pid = tool_pid(optarg);
            if (!o->pid)
                return tool_misused("record", "not a process number: %s", optarg);
            break;
        case 'o':
            o->output = optarg;
            break;
        case 'f':
            o->force = true;
            break;
        case 'h':
            o->help = true;
            return 0;
        default:
            return tool_misused("record", "unknown option or missing value");
        }
    }
    if (optind < argc)
        return tool_misused("record", "unexpected argument: %s", argv[optind]);
    if (!o->pid)
        return tool_misused("record", "--pid is missing");
    return o->output ? 0 : tool_misused("record", "-o is missing");
}

static int failed_to_write(const char *path, int rc)
{
    const char *why = rc == -EEXIST   ? "exists; --force replaces it"
                      : rc == -EINVAL ? "is not a regular file"
                                      : strerror(-rc);
    tool_complain("%s: %s", path, why);
    return TOOL_FAILED;
}

static void report(const struct options *o, const struct recording *r)
{
    printf("%s: %zu bytes\n", o->output, r->size);
    if (!(r->seen & FASTMM_SNAPSHOT_FRAMES))
        puts("without frame numbers: they need CAP_SYS_ADMIN");
    if (!(r->seen & FASTMM_SNAPSHOT_ZERO))
        puts("without telling zero pages: this needs Linux 6.7 or CAP_SYS_ADMIN");
    if (!(r->seen & FASTMM_SNAPSHOT_HUGE))
        puts("without telling 2 MiB entries: this needs Linux 6.7");
    if (r->unsettled)
        printf("%" PRIu64 " entries were in transition and are left empty\n", r->unsettled);
    if (r->hugetlb_areas)
        printf("%" PRIu64 " hugetlb areas are recorded without their entries\n", r->hugetlb_areas);
    if (r->changed)
        puts("the process changed its mappings meanwhile: parts may not fit together");
}

int tool_record(int argc, char **argv)
{
    struct options o = {0};
    struct recording r;
    struct tool_error error;
    struct stat status;
    int rc = parse_options(argc, argv, &o);
    if (rc)
        return rc;
    if (o.help) {
        fputs(usage, stdout);
        return tool_finish();
    }
    /* Before the work, so that nobody waits for a refusal; the write itself decides. */
    if (!o.force && !lstat(o.output, &status))
        return failed_to_write(o.output, -EEXIST);
    if (recorder_run("/proc", o.pid, &r, &error)) {
        tool_complain("%s", error.text);
        return TOOL_FAILED;
    }
    rc = snapshot_file_write(o.output, r.data, r.size, o.force);
    free(r.data);
    if (rc)
        return failed_to_write(o.output, rc);
    report(&o, &r);
    return tool_finish();
}
