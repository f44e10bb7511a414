/* SPDX-License-Identifier: MIT */
/* The last words of a process that misused its arena: straight to the kernel, in one write. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static char *put(char *at, const char *text)
{
    size_t n = strlen(text);
    memcpy(at, text, n);
    return at + n;
}

static char *put_address(char *at, uintptr_t value)
{
    at = put(at, "0x");
    for (unsigned shift = 8 * sizeof(value); shift > 0; shift -= 4)
        *at++ = "0123456789abcdef"[value >> (shift - 4) & 15];
    return at;
}

void arena_misuse(const char *why, const void *p)
{
    char line[160];
    char *end = put(line, "arena: ");
    end = put_address(end, (uintptr_t)p);
    end = put(end, ": ");
    end = put(end, why);
    end = put(end, "\n");
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)(end - line));
    (void)ignored;
    abort();
}
