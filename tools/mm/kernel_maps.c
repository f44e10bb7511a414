/* SPDX-License-Identifier: MIT */
/* Where an agent's mappings begin and end: /proc/PID/maps, as far as it is about the trace's pages.
 */
#define _GNU_SOURCE
#include "mm/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRACE_END kernel_address(TRACE_PAGES)

static uint32_t flags_of(const char *permissions)
{
    return (permissions[0] == 'r' ? FASTMM_VM_READ : 0) |
           (permissions[1] == 'w' ? FASTMM_VM_WRITE : 0) |
           (permissions[2] == 'x' ? FASTMM_VM_EXEC : 0) |
           (permissions[3] == 's' ? FASTMM_VM_SHARED : 0);
}

static unsigned page_of(uint64_t address)
{
    return (unsigned)((address - TRACE_BASE) / FASTMM_PAGE_SIZE);
}

/* Takes a line; false after the last that matters. */
static bool take_line(const char *line, struct world_space *space)
{
    unsigned long start, end, offset;
    char permissions[5];
    if (sscanf(line, "%lx-%lx %4s %lx", &start, &end, permissions, &offset) != 4 ||
        start >= TRACE_END || space->mappings == TRACE_PAGES)
        return false;
    if (start >= TRACE_BASE)
        space->mapping[space->mappings++] = (struct world_mapping){
            .first = page_of(start),
            .end = page_of(end),
            .flags = flags_of(permissions),
            .offset = (unsigned)(offset / FASTMM_PAGE_SIZE),
        };
    return true;
}

int kernel_look_mappings(const struct kernel_process *p, struct world_space *space,
                         struct tool_error *error)
{
    char text[8192];
    size_t held = 0;
    off_t at = 0;
    space->mappings = 0;
    for (;;) {
        ssize_t got = pread(p->maps, text + held, sizeof(text) - 1 - held, at);
        if (got < 0)
            return tool_fail(error, "kernel: maps of %d: %s", p->pid, strerror(errno));
        if (got == 0)
            return 0;
        at += got;
        text[held += (size_t)got] = '\0';
        char *line = text;
        for (char *newline; (newline = strchr(line, '\n')) != NULL; line = newline + 1)
            if (!take_line(line, space))
                return 0;
        held -= (size_t)(line - text);
        memmove(text, line, held);
    }
}
