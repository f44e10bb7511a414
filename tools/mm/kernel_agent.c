/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* CPU sets and system calls */
/* The life of agents, seen from outside. */
#include "mm/kernel.h"

#include "mm/kernel_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Nothing that an agent is asked takes long; what takes this long will never come. */
#define PATIENCE_MS 20000

static int wait_for(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int rc;
    do
        rc = poll(&poll_fd, 1, PATIENCE_MS);
    while (rc < 0 && errno == EINTR);
    return rc == 1 ? 0 : -ETIMEDOUT;
}

static int answer(const struct kernel_process *p, struct agent_reply *reply, int *received,
                  struct tool_error *error)
{
    int none;
    int rc = wait_for(p->socket);
    if (!rc)
        rc = agent_receive(p->socket, reply, sizeof(*reply), received ? received : &none);
    return rc ? tool_fail(error, "kernel: process %d doesn't answer: %s", p->pid, strerror(-rc))
              : 0;
}

int kernel_ask(const struct kernel_process *p, const struct agent_request *request, int descriptor,
               struct agent_reply *reply, int *received, struct tool_error *error)
{
    int rc = agent_send(p->socket, request, sizeof(*request), descriptor);
    if (rc)
        return tool_fail(error, "kernel: process %d is gone: %s", p->pid, strerror(-rc));
    return answer(p, reply, received, error);
}

static int open_proc(pid_t pid, const char *what)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Waits for a new agent's first word, and opens what is needed to look at it. */
static int greet(struct kernel_process *p, pid_t pid, struct tool_error *error)
{
    struct agent_reply hello;
    p->pid = pid;
    p->pagemap = open_proc(pid, "pagemap");
    p->status = open_proc(pid, "status");
    p->maps = open_proc(pid, "maps");
    if (p->pagemap < 0 || p->status < 0 || p->maps < 0)
        return tool_fail(error, "kernel: /proc/%d: %s", pid, strerror(errno));
    if (answer(p, &hello, NULL, error))
        return -1;
    if (kernel_raw_descriptor() < 0)
        return 0;
    const struct agent_request who = kernel_raw_request();
    if (kernel_ask(p, &who, -1, &hello, NULL, error))
        return -1;
    p->root = kernel_raw_root();
    return 0;
}

static int socket_pair(int ends[2], struct tool_error *error)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return tool_fail(error, "kernel: socketpair: %s", strerror(errno));
    return 0;
}

int kernel_start(struct kernel *k, struct tool_error *error)
{
    int ends[2];
    if (socket_pair(ends, error))
        return -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int keep[TRACE_OBJECTS + 1] = {kernel_raw_descriptor()};
        memcpy(keep + 1, k->object, sizeof(k->object));
        agent_main(ends[1], keep, TRACE_OBJECTS + 1);
    }
    close(ends[1]);
    k->process[0].socket = ends[0];
    if (pid < 0)
        return tool_fail(error, "kernel: fork: %s", strerror(errno));
    return greet(&k->process[0], pid, error);
}

/* What somebody listens to ends only when its messages have been read. */
static int wait_heard(const struct kernel_process *p, struct kernel_process *child,
                      struct agent_reply *reply, struct tool_error *error)
{
    unsigned which[KERNEL_UFFDS], count = kernel_listeners(p, which);
    struct pollfd polls[KERNEL_UFFDS + 1] = {{.fd = p->socket, .events = POLLIN}};
    for (unsigned i = 0; i < count; i++)
        polls[i + 1] = (struct pollfd){.fd = p->uffd[which[i]], .events = POLLIN};
    while (count && !(polls[0].revents & (POLLIN | POLLHUP))) {
        if (poll(polls, count + 1, PATIENCE_MS) <= 0)
            return tool_fail(error, "kernel: a fork or a move doesn't end");
        for (unsigned i = 0; i < count; i++)
            if (polls[i + 1].revents & POLLIN)
                kernel_hear(p, child, which[i]);
    }
    return answer(p, reply, NULL, error);
}

int kernel_ask_heard(const struct kernel_process *p, struct kernel_process *child,
                     const struct agent_request *request, int descriptor, struct agent_reply *reply,
                     struct tool_error *error)
{
    int rc = agent_send(p->socket, request, sizeof(*request), descriptor);
    if (rc)
        return tool_fail(error, "kernel: process %d is gone: %s", p->pid, strerror(-rc));
    return wait_heard(p, child, reply, error);
}

int kernel_fork(struct kernel *k, unsigned parent, unsigned child, int64_t *result,
                struct tool_error *error)
{
    const struct agent_request request = {.verb = AGENT_FORK};
    struct kernel_process *from = &k->process[parent], *to = &k->process[child];
    struct agent_reply reply;
    int ends[2];
    if (socket_pair(ends, error))
        return -1;
    to->socket = ends[0];
    int rc = kernel_ask_heard(from, to, &request, ends[1], &reply, error);
    close(ends[1]);
    if (rc)
        return -1;
    *result = reply.result < 0 ? reply.result : 0;
    return reply.result > 0 ? greet(to, (pid_t)reply.result, error) : 0;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void kernel_end(struct kernel_process *p, bool politely)
{
    const struct agent_request request = {.verb = AGENT_EXIT};
    if (p->pid) {
        if (!politely || agent_send(p->socket, &request, sizeof(request), -1))
            kill(p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close_one(&p->socket);
    close_one(&p->pagemap);
    close_one(&p->status);
    close_one(&p->maps);
    for (unsigned i = 0; i < KERNEL_UFFDS; i++)
        close_one(&p->uffd[i]);
    p->pid = 0;
}
