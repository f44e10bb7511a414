/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* CPU sets and system calls */
/*
 * userfaultfd, operated from outside: the descriptors live in the process that runs the trace, so
 * that an agent's fork needs no thread of its own to answer it. Faults end in SIGBUS rather than in
 * a message (UFFD_FEATURE_SIGBUS): the access is over, and nothing but the access has changed.
 */
#include "mm/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers that this may be compiled with. */
#define FEATURE_WP_UNPOPULATED (UINT64_C(1) << 13)
#define FEATURE_WP_ASYNC       (UINT64_C(1) << 15)
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#    define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

struct poison_ioctl {
    struct uffdio_range range;
    uint64_t mode;
    int64_t updated;
};
#define IOCTL_POISON _IOWR(UFFDIO, 0x08, struct poison_ioctl)

static const struct {
    uint32_t flag;
    uint64_t feature;
} features[] = {
    {FASTMM_VM_UFFD_FORK, UFFD_FEATURE_EVENT_FORK},
    {FASTMM_VM_UFFD_UNPOPULATED, FEATURE_WP_UNPOPULATED},
    {FASTMM_VM_UFFD_ASYNC, FEATURE_WP_ASYNC},
    {FASTMM_VM_UFFD_REMAP, UFFD_FEATURE_EVENT_REMAP},
};
#define FEATURES 4u
/* Rows as bits of a descriptor's index. */
#define FORK_BIT  (1u << 0)
#define REMAP_BIT (1u << 3)

static unsigned index_of(uint32_t flags)
{
    unsigned index = 0;
    for (unsigned i = 0; i < FEATURES; i++)
        if (flags & features[i].flag)
            index |= 1u << i;
    return index;
}

static int say_features(int fd, unsigned index)
{
    struct uffdio_api api = {
        .api = UFFD_API,
        .features =
            UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
    };
    for (unsigned i = 0; i < FEATURES; i++)
        if (index & (1u << i))
            api.features |= features[i].feature;
    return ioctl(fd, UFFDIO_API, &api) ? -errno : 0;
}

/* Whoever lacks privileges may still watch accesses from user mode, which are the only ones here.
 */
static int open_flags(void)
{
    static int flags;
    if (flags)
        return flags;
    flags = O_CLOEXEC | O_NONBLOCK;
    int fd = (int)syscall(SYS_userfaultfd, flags);
    if (fd >= 0)
        close(fd);
    else if (errno == EPERM)
        flags |= UFFD_USER_MODE_ONLY;
    return flags;
}

static int probe_features(unsigned index)
{
    int fd = (int)syscall(SYS_userfaultfd, open_flags());
    int rc = fd < 0 ? -errno : say_features(fd, index);
    if (fd >= 0)
        close(fd);
    return rc;
}

bool world_kernel_hears_forks(void)
{
    return probe_features(FORK_BIT) == 0;
}

int kernel_uffd_probe(const struct trace *trace, struct tool_error *error)
{
    uint32_t flags = 0;
    bool any = false;
    for (size_t i = 0; i < trace->count; i++) {
        any |= trace->op[i].verb == TRACE_REGISTER;
        flags |= trace->op[i].verb == TRACE_REGISTER ? trace->op[i].flags : 0;
    }
    if (!any)
        return 0;
    int rc = probe_features(index_of(flags));
    if (!rc)
        return 0;
    tool_fail(error, "userfaultfd isn't to be had here: %s", strerror(-rc));
    return WORLD_NOT_PERMITTED;
}

/* Opens descriptor `index` of the process, if it isn't. *outcome is 0 or a negative errno. */
static int need(struct kernel_process *p, unsigned index, int *outcome, struct tool_error *error)
{
    const struct agent_request request = {.verb = AGENT_UFFD, .arg = {open_flags()}};
    struct agent_reply reply;
    int fd;
    *outcome = 0;
    if (p->uffd[index] >= 0)
        return 0;
    if (kernel_ask(p, &request, -1, &reply, &fd, error))
        return -1;
    *outcome = fd < 0 ? (int)reply.result : say_features(fd, index);
    if (*outcome)
        return tool_fail(error, "kernel: userfaultfd with features %u: %s", index,
                         strerror(-*outcome));
    p->uffd[index] = fd;
    return 0;
}

static struct uffdio_range range_of(unsigned first, unsigned end)
{
    return (struct uffdio_range){kernel_address(first), (uint64_t)(end - first) * FASTMM_PAGE_SIZE};
}

int kernel_register(struct kernel *k, const struct trace_op *op, int *outcome,
                    struct tool_error *error)
{
    struct kernel_process *p = &k->process[op->process];
    unsigned index = index_of(op->flags);
    struct uffdio_register request = {
        .range = range_of(op->first, op->first + op->count),
        .mode = UFFDIO_REGISTER_MODE_WP,
    };
    if (need(p, index, outcome, error))
        return -1;
    *outcome = ioctl(p->uffd[index], UFFDIO_REGISTER, &request) ? -errno : 0;
    for (unsigned i = op->first; !*outcome && i < op->first + op->count; i++)
        if (p->mapped[i])
            p->registered[i] = (uint8_t)(index + 1);
    return 0;
}

static int unregister_run(struct kernel_process *p, unsigned index, unsigned first, unsigned end,
                          int *outcome, struct tool_error *error)
{
    struct uffdio_range range = range_of(first, end);
    if (need(p, index, outcome, error))
        return -1;
    *outcome = ioctl(p->uffd[index], UFFDIO_UNREGISTER, &range) ? -errno : 0;
    if (!*outcome)
        memset(p->registered + first, 0, end - first);
    return 0;
}

/* The end of the run of pages that are mapped and registered like the first. */
static unsigned run_end(const struct kernel_process *p, unsigned first, unsigned end)
{
    unsigned next = first + 1;
    while (next < end && p->registered[next] == p->registered[first] &&
           p->mapped[next] == p->mapped[first])
        next++;
    return next;
}

static int unregister_runs(struct kernel_process *p, const struct trace_op *op, bool registered,
                           bool *any, int *outcome, struct tool_error *error)
{
    unsigned end = op->first + op->count, next;
    for (unsigned first = op->first; first < end && !*outcome; first = next) {
        next = run_end(p, first, end);
        if (!p->mapped[first] || registered != (p->registered[first] != 0))
            continue;
        unsigned index = registered ? p->registered[first] - 1u : 0;
        *any = true;
        if (unregister_run(p, index, first, next, outcome, error))
            return -1;
    }
    return 0;
}

/*
 * A descriptor may end only its own registrations, so that the range is taken apart by them: first
 * what isn't registered, to hear whether that may be named at all.
 */
int kernel_unregister(struct kernel *k, const struct trace_op *op, int *outcome,
                      struct tool_error *error)
{
    struct kernel_process *p = &k->process[op->process];
    bool any = false;
    *outcome = 0;
    if (unregister_runs(p, op, false, &any, outcome, error) ||
        unregister_runs(p, op, true, &any, outcome, error))
        return -1;
    return any ? 0 : unregister_run(p, 0, op->first, op->first + op->count, outcome, error);
}

int kernel_protect(struct kernel *k, const struct trace_op *op, int *outcome,
                   struct tool_error *error)
{
    struct kernel_process *p = &k->process[op->process];
    unsigned index = 0;
    struct uffdio_writeprotect request = {
        .range = range_of(op->first, op->first + op->count),
        .mode = op->verb == TRACE_WP ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
    };
    for (unsigned i = op->first; i < op->first + op->count; i++)
        if (p->registered[i])
            index = p->registered[i] - 1u;
    if (need(p, index, outcome, error))
        return -1;
    *outcome = ioctl(p->uffd[index], UFFDIO_WRITEPROTECT, &request) ? -errno : 0;
    return 0;
}

int kernel_poison(struct kernel *k, const struct trace_op *op, int *outcome,
                  struct tool_error *error)
{
    struct kernel_process *p = &k->process[op->process];
    struct poison_ioctl request = {.range = range_of(op->first, op->first + op->count)};
    unsigned index = p->registered[op->first] ? p->registered[op->first] - 1u : 0;
    if (need(p, index, outcome, error))
        return -1;
    *outcome = ioctl(p->uffd[index], IOCTL_POISON, &request) ? -errno : 0;
    return 0;
}

bool kernel_follows(unsigned registered)
{
    return registered && ((registered - 1) & REMAP_BIT);
}

unsigned kernel_listeners(const struct kernel_process *p, unsigned *which)
{
    unsigned count = 0;
    for (unsigned i = 0; i < KERNEL_UFFDS; i++)
        if ((i & (FORK_BIT | REMAP_BIT)) && p->uffd[i] >= 0)
            which[count++] = i;
    return count;
}

void kernel_hear(const struct kernel_process *p, struct kernel_process *child, unsigned which)
{
    struct uffd_msg message;
    if (read(p->uffd[which], &message, sizeof(message)) == (ssize_t)sizeof(message) &&
        message.event == UFFD_EVENT_FORK && child)
        child->uffd[which] = (int)message.arg.fork.ufd;
}
