/* SPDX-License-Identifier: MIT */
/*
 * A file that appears whole or not at all: it is written beside its place and moved there. Opened
 * before what it is to hold is known, so that a wrong path costs no time.
 */
#ifndef FASTMM_TOOLS_OUTPUT_H
#define FASTMM_TOOLS_OUTPUT_H

#include <limits.h>
#include <stdio.h>

struct output {
    const char *path;
    char part[PATH_MAX];
    FILE *file;
};

/* These return TOOL_OK, or TOOL_FAILED after a complaint. What stands at `path` is then as it was.
 */
int output_open(struct output *o, const char *path);
int output_finish(struct output *o);

/* Instead of output_finish(): there is nothing worth keeping. */
void output_drop(struct output *o);

#endif
