/* SPDX-License-Identifier: MIT */
/*
 * Claim 2 as another experiment: real programs whose copies and fills in userspace are this
 * library's. Nothing of that is what the claim was about, the copies of system calls.
 */
#define _GNU_SOURCE
#include "claims.h"

#include "harness/bench.h"
#include "need.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 20 };

enum metric { ELAPSED, USER, SYSTEM, METRICS };
static const char *const metrics[METRICS] = {"elapsed", "user", "system"};

/* What is preloaded; the path is empty for nothing. */
struct preload {
    const char *label;
    char path[PATH_MAX];
};
enum { NOTHING, EMPTY, FASTMM, PRELOADS };
static struct preload preloads[PRELOADS] = {
    {.label = "nothing"}, {.label = "empty"}, {.label = "fastmm"}};

struct job {
    const char *name;
    char *const *arguments;
    const char
        *directory; /* in git's scratch, with settings for git; or NULL: as the user has it */
    enum metric metric;
    bool failed;
};
static struct job *jobs;
static unsigned job_count;
static char scratch[64];    /* where git works; empty when there is none */
static char repository[80]; /* in there */

/* The first one makes a repository and does it all; the others work in one that is there. */
static const char *const git_commands[][2] = {
    {"all",
     "rm -rf all && sh ./make all && cd all && git status >/dev/null && git log -p >/dev/null && "
     "git grep -c line >/dev/null && git diff HEAD~5 HEAD >/dev/null && git gc -q"},
    {"init", "git init -q again"},
    {"add", "git add --renormalize ."},
    {"commit", "git commit -q --allow-empty -m again"},
    {"status", "git status >/dev/null"},
    {"log", "git log -p >/dev/null"},
    {"grep", "git grep -c line >/dev/null"},
    {"diff", "git diff HEAD~5 HEAD >/dev/null"},
    {"gc", "git gc -q --force"},
};
enum { COMMANDS = sizeof(git_commands) / sizeof(git_commands[0]) };

/* make DIRECTORY: a repository of 8 files and 6 commits, the same every time. */
static const char make_script[] =
    "set -e\n"
    "git init -q \"$1\" && cd \"$1\"\n"
    "text=$(i=0; while [ $i -lt 100 ]; do echo \"line $i of a file\"; i=$((i + 1)); done)\n"
    "for commit in 1 2 3 4 5 6; do\n"
    "  for file in 0 1 2 3 4 5 6 7; do\n"
    "    echo \"$text $file $text $commit $text\" >file$file\n"
    "  done\n"
    "  git add . && git commit -q -m \"commit $commit\"\n"
    "done\n";

/* Nothing of the user's is read or written: no settings, and no repository that a hook works on. */
static bool set_git_environment(void)
{
    static const char *const settings[][2] = {
        {"GIT_CONFIG_NOSYSTEM", "1"},
        {"GIT_AUTHOR_NAME", "A"},
        {"GIT_AUTHOR_EMAIL", "a@example.org"},
        {"GIT_AUTHOR_DATE", "2020-01-01T00:00:00Z"},
        {"GIT_COMMITTER_NAME", "A"},
        {"GIT_COMMITTER_EMAIL", "a@example.org"},
        {"GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z"},
    };
    for (char **variable = environ; *variable;) {
        const char *end = strchr(*variable, '=');
        if (!end || strncmp(*variable, "GIT_", 4) != 0) {
            variable++;
            continue;
        }
        char *name = strndup(*variable, (size_t)(end - *variable));
        if (!name || unsetenv(name) != 0)
            return false;
        free(name); /* the next one has moved up */
    }
    bool set = unsetenv("XDG_CONFIG_HOME") == 0 && setenv("HOME", scratch, 1) == 0;
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        set = set && setenv(settings[i][0], settings[i][1], 1) == 0;
    return set;
}

/* As a shell would start it, but for the one CPU that it has, so that turns compare. */
static bool prepare_child(const struct job *job, const struct preload *preload)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    if (*preload->path)
        setenv("LD_PRELOAD", preload->path, 1);
    else
        unsetenv("LD_PRELOAD");
    signal(SIGPIPE, SIG_DFL);
    personality((unsigned long)personality(0xffffffff) & ~(unsigned long)ADDR_NO_RANDOMIZE);
    return !job->directory || (chdir(job->directory) == 0 && set_git_environment());
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

/* ns, or 0 if the command failed. */
static double run_job(const struct job *job, const struct preload *preload)
{
    int status = 0;
    struct rusage usage;
    uint64_t start = bench_now();
    pid_t child = fork();
    if (child == 0) {
        if (prepare_child(job, preload))
            execvp(job->arguments[0], job->arguments);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0)
        return 0;
    if (job->metric == ELAPSED)
        return (double)(bench_now() - start);
    return 1e9 * seconds_of(job->metric == USER ? &usage.ru_utime : &usage.ru_stime) + 1;
}

static double time_job(void *context, const void *variant, unsigned placement, uint64_t times)
{
    struct job *job = context;
    double ns = 0;
    (void)placement;
    while (times--) {
        double took = run_job(job, variant);
        job->failed |= took <= 0;
        ns += took > 0 ? took : 1;
    }
    return ns;
}

static void add_job(struct claims *claims, const char *group, const char *name,
                    char *const *arguments, const char *directory, enum metric metric, int base,
                    int other)
{
    struct job *job = &jobs[job_count++];
    *job = (struct job){name, arguments, directory, metric, false};
    char family[64];
    snprintf(family, sizeof(family), "%s/%s", group, metrics[metric]);
    struct claim_row *row =
        claims_add(claims, 2, family, "%s/%s/%s/%s-%s", group, name, metrics[metric],
                   preloads[base].label, base == other ? "again" : preloads[other].label);
    row->aa = base == other;
    row->headline =
        !directory || directory == scratch; /* the user's command, and all that git does */
    row->timed = time_job;
    row->context = job;
    row->placements = claims->smoke ? 1 : TURNS;
    row->batch_ns = 0;
    row->side[0] = (struct claim_side){preloads[base].label, &preloads[base], 0};
    row->side[1] =
        (struct claim_side){base == other ? "again" : preloads[other].label, &preloads[other], 0};
}

static bool run_quietly(char *const *arguments, const char *directory)
{
    const struct job job = {.arguments = arguments, .directory = directory};
    return run_job(&job, &preloads[NOTHING]) > 0;
}

static bool write_script(void)
{
    char path[sizeof(scratch) + 8];
    snprintf(path, sizeof(path), "%s/make", scratch);
    FILE *out = fopen(path, "we");
    if (out)
        fputs(make_script, out);
    return out && fclose(out) == 0;
}

static bool make_repository(void)
{
    static char shell[] = "sh", script[] = "./make", name[] = "work";
    static char *make[] = {shell, script, name, NULL};
    snprintf(scratch, sizeof(scratch), "/tmp/fastmm-claims-XXXXXX");
    if (!mkdtemp(scratch)) {
        scratch[0] = '\0';
        return false;
    }
    snprintf(repository, sizeof(repository), "%s/%s", scratch, name);
    return write_script() && run_quietly(make, scratch);
}

static void add_git(struct claims *claims)
{
    static char shell[] = "sh", option[] = "-c";
    static char *arguments[COMMANDS][4];
    if (!make_repository()) {
        claims_skip(claims, "claim 2, git under the preloaded library: git is not here, or made no "
                            "repository");
        return;
    }
    for (int c = 0; c < COMMANDS; c++) {
        const bool all = c == 0;
        char *const made[] = {shell, option, need(strdup(git_commands[c][1])), NULL};
        const char *directory = all ? scratch : repository;
        memcpy(arguments[c], made, sizeof(made));
        const char *name = git_commands[c][0];
        add_job(claims, "git", name, arguments[c], directory, ELAPSED, EMPTY, FASTMM);
        if (!all)
            continue;
        add_job(claims, "git", name, arguments[c], directory, USER, EMPTY, FASTMM);
        add_job(claims, "git", name, arguments[c], directory, SYSTEM, EMPTY, FASTMM);
        add_job(claims, "git", name, arguments[c], directory, ELAPSED, NOTHING, FASTMM);
        add_job(claims, "git", name, arguments[c], directory, ELAPSED, EMPTY, EMPTY);
    }
}

static void add_user(struct claims *claims)
{
    if (!run_quietly(claims->user, NULL)) {
        claims_skip(claims, "claim 2, the command %s: it failed even without the library",
                    claims->user[0]);
        return;
    }
    for (int metric = 0; metric < METRICS; metric++)
        add_job(claims, "command", claims->user[0], claims->user, NULL, (enum metric)metric, EMPTY,
                FASTMM);
    add_job(claims, "command", claims->user[0], claims->user, NULL, ELAPSED, EMPTY, EMPTY);
}

static bool find_libraries(const struct claims *claims)
{
    static const char *const names[PRELOADS] = {NULL, "libfastmm-preload-empty.so",
                                                "libfastmm-preload.so"};
    static const char *const places[] = {"../tools/preload", "."};
    for (int i = EMPTY; i < PRELOADS; i++)
        for (size_t p = 0; p < sizeof(places) / sizeof(places[0]) && !*preloads[i].path; p++) {
            char path[PATH_MAX];
            int length =
                snprintf(path, sizeof(path), "%s/%s/%s", claims->directory, places[p], names[i]);
            if (length < PATH_MAX && access(path, R_OK) == 0 && !realpath(path, preloads[i].path))
                preloads[i].path[0] = '\0';
        }
    return *preloads[EMPTY].path && *preloads[FASTMM].path;
}

void preload_claim_add(struct claims *claims)
{
    if (!find_libraries(claims)) {
        claims_skip(claims, "claim 2, programs under the preloaded library: it was not built");
        return;
    }
    claims_explain(
        claims, 2,
        "git/ and command/ are another experiment than the claim: the copies of programs "
        "are replaced, not those of system calls.");
    jobs = need(calloc(COMMANDS + METRICS + 8, sizeof(*jobs)));
    if (claims->user)
        add_user(claims);
    add_git(claims);
}

bool preload_claim_worked(void)
{
    bool worked = true;
    for (unsigned i = 0; i < job_count; i++)
        if (jobs[i].failed) {
            fprintf(stderr, "fastmm-bench-claims: %s failed under a preloaded library\n",
                    jobs[i].name);
            worked = false;
        }
    return worked;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

void preload_claim_free(void)
{
    if (*scratch)
        nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(jobs);
}
