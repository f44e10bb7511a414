/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands of `fastmm` share: how one is registered, how it fails, how it words a size.
 *
 * A subcommand is a function with main()'s shape, argv[0] being its own name. A new one is declared
 * here and gets a row in main.c.
 */
#ifndef FASTMM_TOOLS_TOOL_H
#define FASTMM_TOOLS_TOOL_H

#include <stddef.h>
#include <stdint.h>

enum {
    TOOL_OK = 0,
    TOOL_FAILED = 1, /* it could not be done; stderr says why */
    TOOL_USAGE = 2   /* it was asked for in a way that makes no sense */
};

struct tool {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* one line for `fastmm help` */
};

int tool_compare(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_mm(int argc, char **argv);
int tool_record(int argc, char **argv);
int tool_snapshot(int argc, char **argv);
int tool_tune(int argc, char **argv);
int tool_walk(int argc, char **argv);

/* Why something failed, for a person: "file:line: what". */
struct tool_error {
    char text[512];
};

/* Words the error. Returns -1, so that a function can end with it. */
int tool_fail(struct tool_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "fastmm: <message>" on stderr. */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As above, with a hint at `fastmm <tool> --help`. Returns TOOL_USAGE. */
int tool_misused(const char *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Ends a subcommand's output: TOOL_OK, or TOOL_FAILED with a message if stdout could not be written
 * (a full disk must not look like success).
 */
int tool_finish(void);

/* A process number, or 0. */
long tool_pid(const char *text);

/* "48 KiB", "1.25 MiB", "never" for UINT64_MAX. Returns its buffer. */
struct tool_size {
    char text[24];
};
const char *tool_size(struct tool_size *buffer, uint64_t bytes);

#endif
