/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tool_fail(struct tool_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return -1;
}

static void complain(const char *format, va_list args)
{
    fflush(stdout);
    fputs("fastmm: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void tool_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(format, args);
    va_end(args);
}

int tool_misused(const char *tool, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(format, args);
    va_end(args);
    fprintf(stderr, "Try 'fastmm %s --help'.\n", tool);
    return TOOL_USAGE;
}

int tool_finish(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TOOL_OK;
    tool_complain("cannot write the output: %s", strerror(errno ? errno : EIO));
    return TOOL_FAILED;
}

const char *tool_size(struct tool_size *buffer, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]))
        value /= 1024, unit++;

    if (bytes == UINT64_MAX)
        snprintf(buffer->text, sizeof(buffer->text), "never");
    else if (unit == 0 || bytes % 1024) /* to the byte: a threshold is exact */
        snprintf(buffer->text, sizeof(buffer->text), "%" PRIu64 " B", bytes);
    else
        snprintf(buffer->text, sizeof(buffer->text), "%.4g %s", value, units[unit]);
    return buffer->text;
}

long tool_pid(const char *text)
{
    char *end;
    errno = 0;
    long pid = strtol(text, &end, 10);
    return errno || *end || end == text || pid <= 0 || pid > INT_MAX ? 0 : pid;
}
