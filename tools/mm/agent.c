/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* CPU sets and system calls */
#include "mm/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#    define MADV_POPULATE_READ  22
#    define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096u

/* CPU time that a system call may take: a thousand times what any needs that ends. */
#define CALL_MOST_US 100000

/* Mappings larger than this are reserved address space rather than memory. */
#define POPULATE_MAX ((size_t)64 << 20)

/* --- Datagrams ------------------------------------------------------------------------------- */

union control {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int))];
};

int agent_send(int socket, const void *data, size_t size, int descriptor)
{
    union control control;
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (descriptor >= 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -errno;
}

int agent_receive(int socket, void *data, size_t size, int *descriptor)
{
    union control control;
    struct iovec iov = {.iov_base = data, .iov_len = size};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t got;
    do
        got = recvmsg(socket, &message, 0);
    while (got < 0 && errno == EINTR);
    *descriptor = -1;
    if (got != (ssize_t)size)
        return got < 0 ? -errno : -EPIPE;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(descriptor, CMSG_DATA(header), sizeof(int));
    return 0;
}

/* --- Own memory ------------------------------------------------------------------------------ */

/* What an agent had mapped when it began. */
static struct {
    struct {
        void *start;
        size_t bytes;
        bool writable;
    } mapping[128];
    unsigned count;
} own;

static void note_mapping(const char *line)
{
    unsigned long start, end;
    char read, write;
    if (own.count == sizeof(own.mapping) / sizeof(own.mapping[0]) || strstr(line, "[v") ||
        sscanf(line, "%lx-%lx %c%c", &start, &end, &read, &write) != 4 || read != 'r' ||
        end - start > POPULATE_MAX)
        return;
    own.mapping[own.count].start = (void *)start; /* NOLINT: an address read from a file */
    own.mapping[own.count].bytes = end - start;
    own.mapping[own.count].writable = write == 'w';
    own.count++;
}

static void note_mappings(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps)
        return;
    while (fgets(line, sizeof(line), maps))
        note_mapping(line);
    fclose(maps);
}

/* Private pages get copied now rather than later; files get entries that fork didn't copy. */
static void fault_own(bool first)
{
    for (unsigned i = 0; i < own.count; i++)
        madvise(own.mapping[i].start, own.mapping[i].bytes,
                first && own.mapping[i].writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

static void close_all_but(int socket, const int *keep, unsigned count)
{
    for (int fd = 0; fd < 1024; fd++) {
        bool kept = fd == socket || fd == STDERR_FILENO;
        for (unsigned i = 0; i < count; i++)
            kept |= fd == keep[i];
        if (!kept)
            close(fd);
    }
}

/* --- Touching -------------------------------------------------------------------------------- */

static sigjmp_buf after_signal;
static struct agent_reply caught;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    caught.signal = signal;
    caught.code = info->si_code;
    caught.where = (uint64_t)(uintptr_t)info->si_addr;
    siglongjmp(after_signal, 1);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    signal(SIGINT, SIG_DFL);
}

static void touch_pages(uint64_t address, uint64_t pages, bool write)
{
    for (uint64_t i = 0; i < pages; i++) {
        volatile char *byte = (volatile char *)(uintptr_t)(address + i * PAGE);
        if (write)
            *byte = 1;
        else
            (void)*byte;
    }
}

/* A function of its own: nothing that lives in registers is needed after the jump. */
static void touch(const struct agent_request *request)
{
    if (!sigsetjmp(after_signal, 0))
        touch_pages((uint64_t)request->arg[0], (uint64_t)request->arg[1], request->arg[2]);
}

/* --- Pins ------------------------------------------------------------------------------------ */

/* Buffers registered with an io_uring are pinned for as long as they are, for writing. */
static int ring = -1;

static int64_t ring_register(unsigned what, void *argument, unsigned size)
{
    long result = syscall(SYS_io_uring_register, ring, what, argument, size);
    return result < 0 ? -errno : result;
}

/* With a place for each page, all of them empty. */
static int64_t open_ring(void)
{
    struct io_uring_params params = {0};
    struct io_uring_rsrc_register places = {.nr = AGENT_PINS, .flags = IORING_RSRC_REGISTER_SPARSE};
    ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    return ring < 0 ? -errno : ring_register(IORING_REGISTER_BUFFERS2, &places, sizeof(places));
}

static int64_t pin(unsigned name, void *page)
{
    struct iovec buffer = {.iov_base = page, .iov_len = page ? PAGE : 0};
    struct io_uring_rsrc_update2 update = {
        .offset = name, .data = (uint64_t)(uintptr_t)&buffer, .nr = 1};
    int64_t result = ring < 0 ? open_ring() : 0;
    if (!result)
        result = ring_register(IORING_REGISTER_BUFFERS_UPDATE, &update, sizeof(update));
    return result < 0 ? result : 0;
}

/* Pins belong to who made them. Left to its end, they would outlive a process by chance. */
static void forget_pins(bool mine)
{
    if (ring >= 0 && mine)
        ring_register(IORING_UNREGISTER_BUFFERS, NULL, 0);
    if (ring >= 0)
        close(ring);
    ring = -1;
}

/* --- Requests -------------------------------------------------------------------------------- */

/*
 * There are calls that the kernel repeats for ever (docs/semantics.md). A signal interrupts them,
 * and leaving its handler by a jump keeps them from being repeated once more. It is CPU time that
 * is measured: an agent that doesn't get to run isn't stuck.
 */
static void limit_call(long microseconds)
{
    const struct itimerval limit = {.it_value = {.tv_usec = microseconds}};
    setitimer(ITIMER_PROF, &limit, NULL);
}

static void system_call(const int64_t *arg)
{
    if (sigsetjmp(after_signal, 0)) {
        caught = (struct agent_reply){.result = -EAGAIN};
        return;
    }
    limit_call(CALL_MOST_US);
    long result = syscall(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5], arg[6]);
    caught.result = result < 0 ? -errno : result;
    limit_call(0);
}

static void be_nobodys_orphan(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The new process belongs to the parent's parent. libc isn't told: it isn't asked for anything. */
static int64_t fork_agent(int *socket, int for_child)
{
    struct agent_reply hello = {0};
    if (for_child < 0)
        return -EBADF;
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        close(*socket);
        *socket = for_child;
        forget_pins(false);
        be_nobodys_orphan();
        fault_own(false);
        agent_send(*socket, &hello, sizeof(hello), -1);
        return 0;
    }
    int64_t result = pid < 0 ? -errno : pid;
    close(for_child);
    return result;
}

/* Carries a request out. False if there is nothing to reply: this is the child. */
static bool serve(int *socket, const struct agent_request *request, int descriptor, int *reply_with)
{
    memset(&caught, 0, sizeof(caught));
    switch (request->verb) {
    case AGENT_CALL:
        system_call(request->arg);
        return true;
    case AGENT_TOUCH:
        touch(request);
        return true;
    case AGENT_UFFD:
        *reply_with = (int)syscall(SYS_userfaultfd, request->arg[0]);
        caught.result = *reply_with < 0 ? -errno : 0;
        return true;
    case AGENT_PIN:
        caught.result = pin((unsigned)request->arg[0], (void *)(uintptr_t)request->arg[1]);
        return true;
    case AGENT_FORK:
        caught.result = fork_agent(socket, descriptor);
        return caught.result != 0;
    default:
        forget_pins(true);
        _exit(0);
    }
}

void agent_main(int socket, const int *keep, unsigned count)
{
    struct agent_request request;
    int descriptor;
    be_nobodys_orphan();
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    catch_signals();
    note_mappings();
    close_all_but(socket, keep, count);
    fault_own(true);
    memset(&caught, 0, sizeof(caught));
    agent_send(socket, &caught, sizeof(caught), -1);
    while (!agent_receive(socket, &request, sizeof(request), &descriptor)) {
        int reply_with = -1;
        if (!serve(&socket, &request, descriptor, &reply_with))
            continue;
        if (agent_send(socket, &caught, sizeof(caught), reply_with))
            break;
        if (reply_with >= 0)
            close(reply_with);
    }
    _exit(0);
}
