/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include "bench.h"

#include <stdio.h>
#include <unistd.h>

static double now(void)
{
    return (double)bench_now() * 1e-9;
}

void progress_start(struct progress *progress, unsigned goals)
{
    *progress = (struct progress){
        .terminal = isatty(STDERR_FILENO), .goal = 1, .goals = goals, .start = now()};
}

double progress_elapsed(const struct progress *progress)
{
    return now() - progress->start;
}

/* "m:ss" */
static const char *clock_text(double seconds, char *out, size_t size)
{
    unsigned whole = seconds > 0 ? (unsigned)(seconds + 0.5) : 0;
    snprintf(out, size, "%u:%02u", whole / 60, whole % 60);
    return out;
}

void progress_cell(const struct progress *progress, const char *goal, unsigned cell, unsigned cells,
                   bool again, double left)
{
    char text[32];
    if (!progress->terminal)
        return;
    fprintf(stderr, "\r\033[K[%u/%u] %s: %s %u of %u, about %s left", progress->goal,
            progress->goals, goal, again ? "the worst again," : "cell", cell, cells,
            clock_text(left, text, sizeof(text)));
    fflush(stderr);
}

void progress_goal(struct progress *progress, const char *goal, const char *result, double left)
{
    char text[32];
    fprintf(stderr, "%s[%*u/%u] %-28s %s", progress->terminal ? "\r\033[K" : "",
            progress->goals > 9 ? 2 : 1, progress->goal, progress->goals, goal, result);
    if (!progress->terminal && progress->goal < progress->goals)
        fprintf(stderr, " (about %s left)", clock_text(left, text, sizeof(text)));
    fputc('\n', stderr);
    progress->goal++;
}
