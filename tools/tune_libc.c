/* SPDX-License-Identifier: MIT */
/*
 * What glibc's tunables would gain, found by trying: libc reads them at start, so a child runs
 * the same timings under each candidate. Children with and without take turns. A candidate is kept
 * if it helps and costs no cell much.
 */
#include "tune.h"
#include "tune_ops.h"

#include <errno.h>
#include <fastmm/cpu.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define KIB      ((size_t)1024)
#define MIB      (KIB * 1024)
#define TURNS    4
#define VARIABLE "GLIBC_TUNABLES="

/* Why there is nothing to try in this build, or NULL. */
#if defined(__x86_64__) && defined(__GLIBC__)
#    define NOT_HERE NULL
#else
#    define NOT_HERE "the tunables belong to glibc on x86-64"
#endif

/*
 * Worth a line in somebody's environment: this much overall or in one cell, where no cell loses
 * more than a little; or so much overall that losses may be weighed against it.
 */
#define LEAST_GAIN      1.03
#define LEAST_CELL_GAIN 1.25
#define MOST_LOSS       0.93
#define GREAT_GAIN      1.2

static const struct measure_effort probe_effort = {7, 80e3};

static const struct probe_cell {
    const char *name;
    size_t n;
    bool clear, aliased;
} probe_cells[] = {
    {"copy 1 KiB", 1 * KIB, false, false},   {"copy 1 KiB aliased", 1 * KIB, false, true},
    {"copy 4 KiB", 4 * KIB, false, false},   {"copy 4 KiB aliased", 4 * KIB, false, true},
    {"copy 64 KiB", 64 * KIB, false, false}, {"copy 64 KiB aliased", 64 * KIB, false, true},
    {"copy 1 MiB", 1 * MIB, false, false},   {"copy 8 MiB", 8 * MIB, false, false},
    {"copy 64 MiB", 64 * MIB, false, false}, {"clear 4 KiB", 4 * KIB, true, false},
    {"clear 64 KiB", 64 * KIB, true, false}, {"clear 1 MiB", 1 * MIB, true, false},
    {"clear 64 MiB", 64 * MIB, true, false},
};

#define PROBES (sizeof(probe_cells) / sizeof(probe_cells[0]))
_Static_assert(PROBES <= TUNE_MAX_PROBES, "room for each probe");

int tune_probe_main(unsigned worst_alias)
{
    const size_t size = 64 * MIB + 8 * KIB;
    char *dst = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *src = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (dst == MAP_FAILED || src == MAP_FAILED)
        return TOOL_FAILED;
    madvise(dst, size, MADV_HUGEPAGE);
    madvise(src, size, MADV_HUGEPAGE);
    memset(dst, 1, size);
    memset(src, 1, size);

    struct sample results[PROBES];
    struct measure_cell cells[PROBES];
    for (size_t i = 0; i < PROBES; i++) {
        const struct probe_cell *p = &probe_cells[i];
        cells[i] = (struct measure_cell){p->clear ? tune_libc_clear : tune_libc_copy,
                                         dst + (p->aliased ? worst_alias : 0),
                                         src + (p->aliased ? 0 : 2 * KIB), p->n, &results[i]};
    }
    if (measure_cells(cells, PROBES, probe_effort) != 0)
        return TOOL_FAILED;
    for (size_t i = 0; i < PROBES; i++)
        printf("%.17g\n", results[i].ns);
    return tool_finish();
}

/* This environment with the variable replaced. Freed by the caller, the variable apart. */
static char **environment_with(char *variable)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 2, sizeof(*copy));
    size_t at = 0;
    for (size_t i = 0; copy && i < count; i++)
        if (strncmp(environ[i], VARIABLE, strlen(VARIABLE)) != 0)
            copy[at++] = environ[i];
    if (copy)
        copy[at] = variable;
    return copy;
}

static int read_times(int fd, double times[PROBES], struct tool_error *error)
{
    FILE *f = fdopen(fd, "r");
    if (!f) {
        close(fd);
        return tool_fail(error, "out of memory");
    }
    size_t got = 0;
    while (got < PROBES && fscanf(f, "%lf", &times[got]) == 1)
        got++;
    fclose(f);
    return got == PROBES ? 0 : tool_fail(error, "the probe of libc ended early");
}

static int spawn_probe(const char *tunables, unsigned alias, int out, pid_t *pid)
{
    char variable[512], number[16];
    char *const argv[] = {(char[]){"fastmm"}, (char[]){"tune"}, (char[]){"--probe-libc"}, number,
                          NULL};
    snprintf(variable, sizeof(variable), VARIABLE "%s", tunables);
    snprintf(number, sizeof(number), "%u", alias);
    char **environment = environment_with(variable);
    if (!environment)
        return ENOMEM;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int result = posix_spawn(pid, "/proc/self/exe", &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return result;
}

/* One child under these tunables. 0, or -1 with *error. */
static int probe(const char *tunables, unsigned alias, double times[PROBES],
                 struct tool_error *error)
{
    int pipe_ends[2], status = 0;
    pid_t pid;
    if (pipe(pipe_ends) != 0)
        return tool_fail(error, "cannot make a pipe: %s", strerror(errno));
    int result = spawn_probe(tunables, alias, pipe_ends[1], &pid);
    close(pipe_ends[1]);
    if (result != 0) {
        close(pipe_ends[0]);
        return tool_fail(error, "cannot run /proc/self/exe: %s", strerror(result));
    }
    result = read_times(pipe_ends[0], times, error);
    waitpid(pid, &status, 0);
    return result;
}

struct comparison {
    struct sample plain[PROBES], tuned[PROBES];
};

static int compare(const char *tunables, unsigned alias, struct comparison *c,
                   struct tool_error *error)
{
    double plain[PROBES][TURNS], tuned[PROBES][TURNS], times[PROBES];
    for (unsigned turn = 0; turn < 2 * TURNS; turn++) {
        bool with = (turn / 2 + turn) % 2; /* without, with, with, without */
        if (probe(with ? tunables : "", alias, times, error) != 0)
            return -1;
        for (size_t i = 0; i < PROBES; i++)
            (with ? tuned : plain)[i][turn / 2] = times[i];
    }
    for (size_t i = 0; i < PROBES; i++) {
        c->plain[i] = measure_summary(plain[i], TURNS);
        c->tuned[i] = measure_summary(tuned[i], TURNS);
    }
    return 0;
}

static double overall(const struct comparison *c)
{
    double sum = 0;
    for (size_t i = 0; i < PROBES; i++)
        sum += log(c->plain[i].ns / c->tuned[i].ns);
    return exp(sum / (double)PROBES);
}

static bool helps(const struct comparison *c)
{
    double most = 0;
    bool loses = false;
    for (size_t i = 0; i < PROBES; i++) {
        double gain = c->plain[i].ns / c->tuned[i].ns;
        most = gain > most ? gain : most;
        loses = loses || gain < MOST_LOSS - c->plain[i].spread;
    }
    double gain = overall(c);
    return gain >= GREAT_GAIN || (!loses && (gain >= LEAST_GAIN || most >= LEAST_CELL_GAIN));
}

static void append(char *line, size_t size, const char *tunable)
{
    size_t used = strlen(line);
    snprintf(line + used, size - used, "%s%s", used ? ":" : "", tunable);
}

static void record(struct tune_libc *libc, const struct comparison *c)
{
    libc->gain = overall(c);
    libc->count = PROBES;
    for (size_t i = 0; i < PROBES; i++) {
        struct tune_probe *p = &libc->probes[i];
        snprintf(p->name, sizeof(p->name), "%s", probe_cells[i].name);
        p->plain = c->plain[i];
        p->tuned = c->tuned[i];
    }
}

int tune_try_libc(struct tune_results *r, struct tool_error *error)
{
    struct tune_libc *libc = &r->libc;
    libc->skipped = NOT_HERE;
    if (!libc->skipped && r->largest < 64 * MIB)
        libc->skipped = "too little memory is free";
    if (libc->skipped)
        return 0;
    struct tune_candidate candidates[TUNE_CANDIDATES];
    unsigned alias = tune_worst_zone(r).worst, count = tune_candidates(r, candidates);
    struct comparison c;
    for (unsigned i = 0; i < count; i++) {
        char line[sizeof(libc->line)];
        snprintf(line, sizeof(line), "%s", libc->line);
        append(line, sizeof(line), candidates[i].tunable);
        if (compare(line, alias, &c, error) != 0)
            return -1;
        if (helps(&c)) {
            memcpy(libc->line, line, sizeof(line));
            record(libc, &c);
        }
    }
    return 0;
}
