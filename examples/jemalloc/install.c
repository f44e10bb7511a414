/* SPDX-License-Identifier: MIT */
/*
 * Puts the hooks into every arena that jemalloc has or may make by itself, before the program runs.
 * Arenas that a program makes by "arenas.create" are its own business.
 *
 *   FASTMM_JEMALLOC_LIMIT    the most bytes to be committed at any time
 *   FASTMM_JEMALLOC_REPORT   write the figures there at exit (default: standard error)
 *   FASTMM_JEMALLOC_CHECK=1  compare them with the kernel's; heap memory is left out of core dumps
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hooks.h"

static pid_t installed_in;

static int hook_arena(unsigned arena)
{
    char name[40];
    extent_hooks_t *wanted = &hooks, *old = NULL;
    size_t length = sizeof(old);
    snprintf(name, sizeof(name), "arena.%u.extent_hooks", arena);
    int error = mallctl(name, &old, &length, &wanted, sizeof(wanted));
    if (!error && old && old != &hooks)
        hooks_state.own = old;
    return error;
}

/* jemalloc makes the arena for oversize blocks at the first of them, and only then it has a number.
 */
static void make_oversize_arena(void)
{
    size_t threshold = 0, length = sizeof(threshold);
    if (mallctl("opt.oversize_threshold", &threshold, &length, NULL, 0) == 0 && threshold)
        dallocx(mallocx(threshold, 0), 0);
}

static unsigned number(const char *name)
{
    unsigned value = 0;
    size_t length = sizeof(value);
    return mallctl(name, &value, &length, NULL, 0) == 0 ? value : 0;
}

static void set_limit(void)
{
    const char *text = getenv("FASTMM_JEMALLOC_LIMIT");
    if (!text)
        return;
    if (!COUNTING) {
        fprintf(stderr, "fastmm-jemalloc: FASTMM_JEMALLOC_LIMIT: this build keeps no limit\n");
        return;
    }
    char *end;
    long long limit = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0' || fastmm_quota_set_limit(&hooks_state.limit, limit) != 0)
        fprintf(
            stderr,
            "fastmm-jemalloc: FASTMM_JEMALLOC_LIMIT=%s is no limit that can be kept; none is set\n",
            text);
}

__attribute__((constructor)) static void install(void)
{
    const char *check = getenv("FASTMM_JEMALLOC_CHECK");
    hooks_state.marking = check && strcmp(check, "1") == 0;
    make_oversize_arena();
    /* Any arena's own hooks are jemalloc's; they must be known before the first extent comes. */
    extent_hooks_t *own = NULL;
    size_t length = sizeof(own);
    if (mallctl("arena.0.extent_hooks", &own, &length, NULL, 0) != 0) {
        fprintf(stderr, "fastmm-jemalloc: this jemalloc has no extent hooks; nothing is counted\n");
        return;
    }
    hooks_state.own = own;
    count_per_cpu(&hooks_state.figures.group);
    unsigned arenas = number("arenas.narenas"), hooked = 0;
    for (unsigned i = 0; i < arenas; i++)
        hooked += hook_arena(i) == 0;
    if (hooked < arenas)
        fprintf(stderr, "fastmm-jemalloc: %u of %u arenas took the hooks\n", hooked, arenas);
    set_limit();
    installed_in = getpid();
}

__attribute__((destructor)) static void finish(void)
{
    if (installed_in == getpid())
        hooks_report();
}
