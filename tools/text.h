/* SPDX-License-Identifier: MIT */
/* Small text files that people hand to a tool: read whole, then taken apart line by line. */
#ifndef FASTMM_TOOLS_TEXT_H
#define FASTMM_TOOLS_TEXT_H

#include "tool.h"

#include <stdbool.h>

/* Nothing that a person writes for this tool is larger; /dev/zero is. */
#define TEXT_MAX ((size_t)4 << 20)

struct text {
    char *bytes; /* freed by the caller */
    size_t size;
};

/* 0, or -1 with *error. */
int text_read(const char *path, struct text *out, struct tool_error *error);
/* For what programs write, which may be larger. */
int text_read_most(const char *path, size_t most, struct text *out, struct tool_error *error);

/* A walk over the lines of a text. */
struct text_lines {
    const char *file; /* for messages */
    const char *next;
    const char *end;
    unsigned number; /* of the line last returned, from 1 */
};

/*
 * The next line without its end and without blanks on both sides, cut to what `line` holds and
 * ended; *cut says whether it was longer. A NUL byte in it stays, so that it looks shorter.
 */
bool text_next(struct text_lines *lines, char *line, size_t size, bool *cut);

/* "file:line: ..."; returns -1. */
int text_fail(const struct text_lines *lines, struct tool_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
