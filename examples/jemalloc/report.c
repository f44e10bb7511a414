/* SPDX-License-Identifier: MIT */
/*
 * The figures at exit, and their check against two other views: the hooks' page marks, and the
 * kernel's list of mappings, in which ours are told by their flags "dd" (MADV_DONTDUMP) and "mw"
 * (may be written, which the kernel's own pages in each process may not).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "book.h"
#include "hooks.h"

struct view {
    const char *name;
    long long mapped, committed;
};

/* One line of /proc/self/smaps: the area that it begins, or the flags that end the area. */
static void read_line(const char *line, struct view *v)
{
    static unsigned long long start, end;
    static char access[8];
    unsigned long long a, b;
    char text[8];
    if (sscanf(line, "%llx-%llx %7s", &a, &b, text) == 3) {
        start = a;
        end = b;
        memcpy(access, text, sizeof(access));
    } else if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " dd") && strstr(line, " mw")) {
        v->mapped += (long long)(end - start);
        v->committed += access[0] == 'r' ? (long long)(end - start) : 0;
    }
}

/* Without stdio's buffers, which jemalloc would have to make room for. */
static int read_kernel(struct view *v)
{
    static char text[8192];
    size_t n = 0;
    ssize_t got;
    int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    while ((got = read(fd, text + n, sizeof(text) - n - 1)) > 0) {
        n += (size_t)got;
        text[n] = '\0';
        char *line = text, *next;
        for (; (next = strchr(line, '\n')) != NULL; line = next + 1) {
            *next = '\0';
            read_line(line, v);
        }
        n -= (size_t)(line - text);
        memmove(text, line, n);
    }
    close(fd);
    return 0;
}

static void say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(int fd, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (n > 0 && write(fd, line, (size_t)n) != n)
        return;
}

static void compare(int fd, const struct view *counted, const struct view *other)
{
    int same = counted->mapped == other->mapped && counted->committed == other->committed;
    say(fd, "%s: mapped %lld, committed %lld: %s\n", other->name, other->mapped, other->committed,
        same ? "the same" : "DIFFERENT");
}

static void report(int fd)
{
    int64_t figures[FIGURES];
    fastmm_counter_group_sums(&hooks_state.figures.group, figures);
    struct view counted = {"counted", figures[MAPPED], figures[COMMITTED]};
    struct view marks = {"page marks", (long long)book_bytes(BOOK_MAPPED),
                         (long long)book_bytes(BOOK_COMMITTED)};
    struct view kernel = {"kernel", 0, 0};
    struct fastmm_counter_mechanism mechanism;
    fastmm_counter_get_mechanism(&mechanism);
    say(fd, "counted: mapped %lld, committed %lld, purged %lld, cleared %lld (%s)\n",
        counted.mapped, counted.committed, (long long)figures[PURGED], (long long)figures[CLEARED],
        mechanism.reason);
    say(fd, "limit: %lld of %lld charged\n", (long long)fastmm_quota_used(&hooks_state.limit),
        (long long)fastmm_quota_limit(&hooks_state.limit));
    compare(fd, &counted, &marks);
    if (hooks_state.marking && read_kernel(&kernel) == 0)
        compare(fd, &counted, &kernel);
}

void hooks_report(void)
{
    const char *path = getenv("FASTMM_JEMALLOC_REPORT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : STDERR_FILENO;
    if (fd < 0)
        return;
    if (COUNTING)
        report(fd);
    else
        say(fd, "nothing is counted in this build\n");
    if (path)
        close(fd);
}
