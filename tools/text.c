/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_all(FILE *file, const char *path, size_t most, struct text *out,
                    struct tool_error *error)
{
    /* One byte more than is allowed, to notice that there is more. */
    out->bytes = malloc(most + 1);
    if (!out->bytes)
        return tool_fail(error, "%s: out of memory", path);
    errno = 0;
    out->size = fread(out->bytes, 1, most + 1, file);
    if (ferror(file)) {
        tool_fail(error, "%s: %s", path, strerror(errno));
    } else if (out->size > most) {
        tool_fail(error, "%s: larger than %zu MiB, so not such a file", path, most >> 20);
    } else {
        return 0;
    }
    free(out->bytes);
    out->bytes = NULL;
    return -1;
}

int text_read(const char *path, struct text *out, struct tool_error *error)
{
    return text_read_most(path, TEXT_MAX, out, error);
}

int text_read_most(const char *path, size_t most, struct text *out, struct tool_error *error)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return tool_fail(error, "%s: %s", path, strerror(errno));
    int result = read_all(file, path, most, out, error);
    fclose(file);
    return result;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool text_next(struct text_lines *lines, char *line, size_t size, bool *cut)
{
    if (lines->next == lines->end)
        return false;
    const char *from = lines->next;
    const char *newline = memchr(from, '\n', (size_t)(lines->end - from));
    const char *to = newline ? newline : lines->end;
    lines->next = newline ? newline + 1 : lines->end;
    lines->number++;

    while (from < to && is_blank(*from))
        from++;
    while (from < to && is_blank(to[-1]))
        to--;
    size_t length = (size_t)(to - from);
    *cut = length >= size;
    if (*cut)
        length = size - 1;
    memcpy(line, from, length);
    line[length] = '\0';
    return true;
}

int text_fail(const struct text_lines *lines, struct tool_error *error, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return tool_fail(error, "%s:%u: %s", lines->file, lines->number, what);
}
