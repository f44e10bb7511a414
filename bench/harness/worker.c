/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct worker {
    pid_t pid;
    int to;   /* the child's standard input */
    int from; /* its standard output */
    char buffer[4096];
    size_t start, end; /* what of the buffer is unread */
};

static const double patience = 60; /* seconds beyond what a pair may take */

static struct worker *start(const char *path, const char *mode)
{
    int input[2], output[2];
    struct worker *worker = calloc(1, sizeof(*worker));
    if (!worker || pipe2(input, O_CLOEXEC) != 0) {
        free(worker);
        return NULL;
    }
    if (pipe2(output, O_CLOEXEC) != 0) {
        close(input[0]);
        close(input[1]);
        free(worker);
        return NULL;
    }
    worker->pid = fork();
    if (worker->pid == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        signal(SIGPIPE, SIG_DFL);
        execl(path, path, mode, (char *)NULL);
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        _exit(127);
    }
    int error = errno;
    close(input[0]);
    close(output[1]);
    worker->to = input[1];
    worker->from = output[0];
    if (worker->pid < 0) {
        close(worker->to);
        close(worker->from);
        free(worker);
        errno = error;
        return NULL;
    }
    return worker;
}

struct worker *worker_start(const char *path, bool single)
{
    return start(path, single ? "--compare=single" : "--compare=threaded");
}

/* The next line without its end; NULL at the end of the output or when `seconds` have passed. */
static char *read_line(struct worker *worker, double seconds)
{
    for (;;) {
        char *line = worker->buffer + worker->start;
        char *newline = memchr(line, '\n', worker->end - worker->start);
        if (newline) {
            *newline = '\0';
            worker->start = (size_t)(newline - worker->buffer) + 1;
            return line;
        }
        memmove(worker->buffer, line, worker->end - worker->start);
        worker->end -= worker->start;
        worker->start = 0;
        if (worker->end == sizeof(worker->buffer))
            return NULL;

        struct pollfd wait = {.fd = worker->from, .events = POLLIN};
        int ready = poll(&wait, 1, seconds > 2e6 ? -1 : (int)(seconds * 1000));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return NULL;
        ssize_t got =
            read(worker->from, worker->buffer + worker->end, sizeof(worker->buffer) - worker->end);
        if (got <= 0)
            return NULL;
        worker->end += (size_t)got;
    }
}

static void give_up(struct pair_result *out, enum pair_status status, const char *reason, ...)
    __attribute__((format(printf, 3, 4)));

static void give_up(struct pair_result *out, enum pair_status status, const char *reason, ...)
{
    va_list args;
    out->status = status;
    va_start(args, reason);
    vsnprintf(out->reason, sizeof(out->reason), reason, args);
    va_end(args);
}

/* Ends the child and says how it ended. */
static void bury(struct worker *worker, const struct worker_request *request,
                 struct pair_result *out)
{
    const char *ours = request->ours, *rival = request->rival;
    int status = 0;
    pid_t ended = waitpid(worker->pid, &status, WNOHANG);
    for (int tries = 0; ended == 0 && tries < 10; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        ended = waitpid(worker->pid, &status, WNOHANG);
    }
    if (ended == 0) {
        kill(worker->pid, SIGKILL);
        waitpid(worker->pid, &status, 0);
        give_up(out, PAIR_BROKEN, "gave no answer in time, measuring %s and %s", ours, rival);
    } else if (WIFSIGNALED(status)) {
        give_up(out, PAIR_BROKEN, "ended by signal %d, measuring %s and %s", WTERMSIG(status), ours,
                rival);
    } else {
        give_up(out, PAIR_BROKEN, "ended with status %d, measuring %s and %s", WEXITSTATUS(status),
                ours, rival);
    }
    worker->pid = 0;
}

static bool add_block(struct pair_result *out, unsigned round, char *rest)
{
    char order[8];
    struct block block;
    if (sscanf(rest, "%7s %lf %lf %lf", order, &block.ours, &block.rival, &block.overlap) != 4)
        return false;
    if (!(block.ours > 0) || !(block.rival > 0))
        return false;
    block.ours_first = strcmp(order, "ABBA") == 0;
    block.round = round;
    struct block *grown = realloc(out->blocks, (out->count + 1) * sizeof(*grown));
    if (!grown)
        return false;
    out->blocks = grown;
    out->blocks[out->count++] = block;
    return true;
}

/* Whether another answer follows. */
static bool take_answer(char *line, unsigned round, struct pair_result *out)
{
    char *rest = line;
    const char *kind = strsep(&rest, "\t");
    if (strcmp(kind, "block") == 0 && rest && add_block(out, round, rest))
        return true;
    if (strcmp(kind, "unchecked") == 0)
        return out->unchecked = true;
    if (strcmp(kind, "end") == 0)
        out->status = PAIR_MEASURED;
    else if (strcmp(kind, "skip") == 0 && rest)
        give_up(out, PAIR_SKIPPED, "%s", rest);
    else if (strcmp(kind, "differ") == 0 && rest)
        give_up(out, PAIR_DIFFERENT, "different result (ours, rival: %s)", rest);
    else
        give_up(out, PAIR_BROKEN, "gave an answer that is not understood: %s %s", kind,
                rest ? rest : "");
    return false;
}

void worker_compare(struct worker *worker, const struct worker_request *request,
                    struct pair_result *out)
{
    /* A dead child shows as the end of its output, below. */
    dprintf(worker->to, "%s\t%s\t%.3f\t%.3f\t%u\n", request->ours, request->rival, request->target,
            request->limit, request->round);
    for (bool more = true; more;) {
        char *line = read_line(worker, request->limit + patience);
        if (line) {
            more = take_answer(line, request->round, out);
        } else {
            bury(worker, request, out);
            more = false;
        }
    }
}

void worker_stop(struct worker *worker)
{
    close(worker->to);
    close(worker->from);
    if (worker->pid > 0)
        waitpid(worker->pid, NULL, 0);
    free(worker);
}

int worker_lines(const char *path, const char *option, char ***lines, unsigned *count, char *error,
                 size_t size)
{
    if (access(path, X_OK) != 0) {
        int status = -errno;
        snprintf(error, size, "%s: %s", path, strerror(errno));
        return status;
    }
    struct worker *worker = start(path, option);
    if (!worker) {
        snprintf(error, size, "%s: %s", path, strerror(errno));
        return -EIO;
    }
    *lines = NULL;
    *count = 0;
    int status = 0;
    for (char *line; !status && (line = read_line(worker, patience));) {
        char **grown = realloc(*lines, (*count + 1) * sizeof(*grown));
        if (grown)
            *lines = grown;
        if (!grown || !(grown[*count] = strdup(line)))
            status = -ENOMEM;
        else
            ++*count;
    }
    int ended = 0;
    close(worker->to);
    close(worker->from);
    waitpid(worker->pid, &ended, 0);
    free(worker);
    if (!status && ended != 0) {
        snprintf(error, size, "%s %s: failed", path, option);
        status = -EIO;
    }
    return status;
}
