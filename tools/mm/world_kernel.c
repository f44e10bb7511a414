/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* CPU sets and system calls */
/*
 * The running kernel as a world: each operation is the system call that it stands for, made by the
 * process that the trace names.
 */
#include "mm/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#    define MADV_GUARD_INSTALL 102
#    define MADV_GUARD_REMOVE  103
#endif
#ifndef MADV_COLD
#    define MADV_COLD 20
#endif
#ifndef MADV_PAGEOUT
#    define MADV_PAGEOUT 21
#endif
#ifndef MADV_POPULATE_READ
#    define MADV_POPULATE_READ  22
#    define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_FIXED_NOREPLACE
#    define MAP_FIXED_NOREPLACE 0x100000
#endif

static struct kernel *kernel_of(struct world *world)
{
    return (struct kernel *)(void *)world;
}

static size_t bytes_of(const struct trace_op *op)
{
    return (size_t)op->count * FASTMM_PAGE_SIZE;
}

/* --- System calls ---------------------------------------------------------------------------- */

static int call(struct kernel_process *p, const struct agent_request *request, int *outcome,
                struct tool_error *error)
{
    struct agent_reply reply;
    if (kernel_ask(p, request, -1, &reply, NULL, error))
        return -1;
    *outcome = reply.result < 0 ? (int)reply.result : 0;
    return 0;
}

static int64_t protection(uint32_t flags)
{
    return (flags & FASTMM_VM_READ ? PROT_READ : 0) | (flags & FASTMM_VM_WRITE ? PROT_WRITE : 0) |
           (flags & FASTMM_VM_EXEC ? PROT_EXEC : 0);
}

static int advise(struct kernel_process *p, const struct trace_op *op, int advice, int *outcome,
                  struct tool_error *error)
{
    const struct agent_request request = {
        .verb = AGENT_CALL,
        .arg = {SYS_madvise, (int64_t)kernel_address(op->first), (int64_t)bytes_of(op), advice},
    };
    return call(p, &request, outcome, error);
}

static const int advices[TRACE_VERBS] = {
    [TRACE_DONTNEED] = MADV_DONTNEED,
    [TRACE_FREE] = MADV_FREE,
    [TRACE_PAGEOUT] = MADV_PAGEOUT,
    [TRACE_REMOVE] = MADV_REMOVE,
    [TRACE_POPULATE_READ] = MADV_POPULATE_READ,
    [TRACE_POPULATE_WRITE] = MADV_POPULATE_WRITE,
    [TRACE_DONTFORK] = MADV_DONTFORK,
    [TRACE_DOFORK] = MADV_DOFORK,
    [TRACE_WIPEONFORK] = MADV_WIPEONFORK,
    [TRACE_KEEPONFORK] = MADV_KEEPONFORK,
    [TRACE_GUARD] = MADV_GUARD_INSTALL,
    [TRACE_UNGUARD] = MADV_GUARD_REMOVE,
};

/*
 * New pages, and pages on their way to be lazy, wait in lists of the CPU, which hold references to
 * them: whether a write copies then is chance. MADV_COLD empties the lists of its CPU first,
 * whatever it is asked about.
 */
static int empty_lists(struct kernel_process *p, struct tool_error *error)
{
    static char somewhere[2 * FASTMM_PAGE_SIZE];
    const int64_t page = FASTMM_PAGE_SIZE;
    const struct agent_request request = {
        .verb = AGENT_CALL,
        .arg = {SYS_madvise, ((int64_t)(uintptr_t)somewhere + page - 1) / page * page, page,
                MADV_COLD},
    };
    int outcome;
    return call(p, &request, &outcome, error);
}

static int give_advice(struct kernel_process *p, const struct trace_op *op, int *outcome,
                       struct tool_error *error)
{
    const bool by_list = op->verb == TRACE_FREE;
    if (by_list && empty_lists(p, error))
        return -1;
    if (advise(p, op, advices[op->verb], outcome, error))
        return -1;
    if (by_list && empty_lists(p, error))
        return -1;
    if (op->verb == TRACE_DONTFORK ||
        op->verb == TRACE_DOFORK) /* holes don't keep it from being done */
        for (unsigned i = op->first; i < op->first + op->count; i++)
            p->dontfork[i] = p->mapped[i] && op->verb == TRACE_DONTFORK;
    return 0;
}

static int protect(struct kernel_process *p, const struct trace_op *op, int *outcome,
                   struct tool_error *error)
{
    const struct agent_request request = {
        .verb = AGENT_CALL,
        .arg = {SYS_mprotect, (int64_t)kernel_address(op->first), (int64_t)bytes_of(op),
                protection(op->flags)},
    };
    return call(p, &request, outcome, error);
}

/*
 * A new mapping joins its neighbours at once. One that is to have more flags is therefore made with
 * a protection that no trace can ask for, and gets its own when it is complete.
 */
static int add_flags(struct kernel_process *p, const struct trace_op *op, int *outcome,
                     struct tool_error *error)
{
    if ((op->flags & FASTMM_VM_DONTCOPY) && advise(p, op, MADV_DONTFORK, outcome, error))
        return -1;
    if (!*outcome && (op->flags & FASTMM_VM_WIPEONFORK) &&
        advise(p, op, MADV_WIPEONFORK, outcome, error))
        return -1;
    return *outcome ? 0 : protect(p, op, outcome, error);
}

static int map(struct kernel *k, struct kernel_process *p, const struct trace_op *op, int *outcome,
               struct tool_error *error)
{
    /* Without NORESERVE, having been writable once would set a mapping apart from its neighbours.
     */
    int64_t flags = MAP_FIXED_NOREPLACE | MAP_NORESERVE |
                    (op->flags & FASTMM_VM_SHARED ? MAP_SHARED : MAP_PRIVATE);
    int fd = op->object < 0 ? -1 : k->object[op->object];
    if (op->flags & FASTMM_VM_PFNMAP) {
        *outcome = -ENOTSUP;
        return 0;
    }
    bool more_flags = op->flags & (FASTMM_VM_DONTCOPY | FASTMM_VM_WIPEONFORK);
    const struct agent_request request = {
        .verb = AGENT_CALL,
        .arg = {SYS_mmap, (int64_t)kernel_address(op->first), (int64_t)bytes_of(op),
                more_flags ? PROT_EXEC : protection(op->flags),
                flags | (fd < 0 ? MAP_ANONYMOUS : 0), fd, (int64_t)op->offset * FASTMM_PAGE_SIZE},
    };
    if (call(p, &request, outcome, error) || *outcome)
        return *outcome ? 0 : -1;
    for (unsigned i = op->first; i < op->first + op->count; i++) {
        p->mapped[i] = true;
        p->dontfork[i] = op->flags & FASTMM_VM_DONTCOPY;
    }
    return more_flags ? add_flags(p, op, outcome, error) : 0;
}

static int unmap(struct kernel_process *p, const struct trace_op *op, int *outcome,
                 struct tool_error *error)
{
    const struct agent_request request = {
        .verb = AGENT_CALL,
        .arg = {SYS_munmap, (int64_t)kernel_address(op->first), (int64_t)bytes_of(op)},
    };
    if (call(p, &request, outcome, error))
        return -1;
    for (unsigned i = op->first; !*outcome && i < op->first + op->count; i++) {
        p->mapped[i] = p->dontfork[i] = false;
        p->registered[i] = 0;
    }
    return 0;
}

/* --- Accesses -------------------------------------------------------------------------------- */

/*
 * SIGBUS has three causes: poison says so, protection is seen in the entry, the rest are ends. An
 * empty entry that is protected gets its page before the write is held up, so there is one then.
 */
static int fault_of(struct kernel_process *p, const struct agent_reply *reply)
{
    if (reply->signal != SIGBUS)
        return reply->signal == SIGSEGV ? FASTMM_FAULT_SIGSEGV : 0;
    if (reply->code == BUS_ADRERR &&
        kernel_is_wp(p, (unsigned)((reply->where - TRACE_BASE) / FASTMM_PAGE_SIZE)))
        return FASTMM_FAULT_UFFD_WP;
    return FASTMM_FAULT_SIGBUS;
}

static int touch(struct kernel_process *p, const struct trace_op *op, int *outcome,
                 struct tool_error *error)
{
    const struct agent_request request = {
        .verb = AGENT_TOUCH,
        .arg = {(int64_t)kernel_address(op->first), op->count, op->verb == TRACE_WRITE},
    };
    struct agent_reply reply;
    if (kernel_ask(p, &request, -1, &reply, NULL, error))
        return -1;
    *outcome = fault_of(p, &reply);
    return 0;
}

/* What a debugger does. The pages it gets hold of wait in lists as well. */
static int force_write(struct kernel_process *p, const struct trace_op *op, int *outcome,
                       struct tool_error *error)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/mem", p->pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return tool_fail(error, "kernel: %s: %s", path, strerror(errno));
    for (unsigned i = 0; i < op->count && !*outcome; i++)
        if (pwrite(fd, "", 1, (off_t)kernel_address(op->first + i)) != 1)
            *outcome = -errno;
    close(fd);
    return empty_lists(p, error);
}

static int pin_or_unpin(struct kernel_process *p, const struct trace_op *op, int *outcome,
                        struct tool_error *error)
{
    bool pinning = op->verb == TRACE_PIN;
    for (unsigned i = op->first; i < op->first + op->count && !*outcome; i++) {
        const struct agent_request request = {
            .verb = AGENT_PIN,
            .arg = {i, pinning ? (int64_t)kernel_address(i) : 0},
        };
        if (p->pinned[i] == pinning)
            *outcome = pinning ? -EBUSY : -EINVAL;
        else if (call(p, &request, outcome, error))
            return -1;
        else if (!*outcome)
            p->pinned[i] = pinning;
    }
    return 0;
}

/* --- Processes ------------------------------------------------------------------------------- */

static void inherit(const struct kernel_process *from, struct kernel_process *to)
{
    for (unsigned i = 0; i < TRACE_PAGES; i++) {
        bool gone = !from->mapped[i] || from->dontfork[i];
        to->mapped[i] = !gone;
        to->pinned[i] = false;
        to->dontfork[i] = false;
        to->registered[i] = from->registered[i];
        if (gone || !from->registered[i] || to->uffd[from->registered[i] - 1] < 0)
            to->registered[i] = 0;
    }
}

static int fork_child(struct kernel *k, const struct trace_op *op, int *outcome,
                      struct tool_error *error)
{
    int64_t result;
    if (kernel_fork(k, op->process, op->child, &result, error))
        return -1;
    *outcome = (int)result;
    inherit(&k->process[op->process], &k->process[op->child]);
    return 0;
}

static int apply(struct world *world, const struct trace_op *op, int *outcome,
                 struct tool_error *error)
{
    struct kernel *k = kernel_of(world);
    struct kernel_process *p = &k->process[op->process];
    *outcome = 0;
    if (advices[op->verb])
        return give_advice(p, op, outcome, error);
    switch (op->verb) {
    case TRACE_MAP:
        return map(k, p, op, outcome, error);
    case TRACE_UNMAP:
        return unmap(p, op, outcome, error);
    case TRACE_REMAP:
        return kernel_remap(k, op, outcome, error);
    case TRACE_PROTECT:
        return protect(p, op, outcome, error);
    case TRACE_READ:
    case TRACE_WRITE:
        return touch(p, op, outcome, error);
    case TRACE_FORCE_WRITE:
        return force_write(p, op, outcome, error);
    case TRACE_PIN:
    case TRACE_UNPIN:
        return pin_or_unpin(p, op, outcome, error);
    case TRACE_POISON:
        return kernel_poison(k, op, outcome, error);
    case TRACE_REGISTER:
        return kernel_register(k, op, outcome, error);
    case TRACE_UNREGISTER:
        return kernel_unregister(k, op, outcome, error);
    case TRACE_WP:
    case TRACE_UNWP:
        return kernel_protect(k, op, outcome, error);
    case TRACE_WP_MATCHING:
        *outcome = kernel_protect_matching(p, op);
        return 0;
    case TRACE_FORK:
        return fork_child(k, op, outcome, error);
    case TRACE_EXIT:
        kernel_end(p, true);
        return 0;
    default:
        *outcome = -ENOTSUP;
        return 0;
    }
}

static int observe(struct world *world, struct world_view *view, struct tool_error *error)
{
    return kernel_look(kernel_of(world), view, error);
}

/* --- Life ------------------------------------------------------------------------------------ */

static void close_kernel(struct world *world)
{
    struct kernel *k = kernel_of(world);
    const int fds[] = {k->page_count, k->page_flags, k->object[0],
                       k->object[1],  k->object[2],  k->object[3]};
    for (unsigned i = 0; i < TRACE_PROCESSES; i++)
        kernel_end(&k->process[i], false);
    for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    sched_setaffinity(0, sizeof(k->cpus), &k->cpus);
    free(k);
}

/* On one CPU pages are freed, and lists drained, in the order in which things happen. */
static void stay_on_one_cpu(struct kernel *k)
{
    cpu_set_t one;
    int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0u : (unsigned)cpu, &one);
    sched_getaffinity(0, sizeof(k->cpus), &k->cpus);
    sched_setaffinity(0, sizeof(one), &one);
}

static int file_on_disk(void)
{
    char path[] = "/var/tmp/fastmm-trace-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* Files are written page by page, so that each page is a folio of its own, and not read ahead. */
static int write_pages(int fd, unsigned pages)
{
    static const char page[FASTMM_PAGE_SIZE] = {1};
    if (posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
        return -1;
    for (unsigned i = 0; i < pages; i++)
        if (pwrite(fd, page, sizeof(page), (off_t)i * FASTMM_PAGE_SIZE) != (ssize_t)sizeof(page))
            return -1;
    return fsync(fd);
}

static int open_object(const struct trace_object *declared, int *fd, struct tool_error *error)
{
    bool shmem = declared->kind == TRACE_OBJECT_SHMEM;
    *fd = shmem ? (int)syscall(SYS_memfd_create, "trace", 1u) : file_on_disk();
    if (*fd < 0 || ftruncate(*fd, (off_t)declared->pages * FASTMM_PAGE_SIZE) ||
        (!shmem && write_pages(*fd, declared->pages)))
        return tool_fail(error, "kernel: making an object failed: %s", strerror(errno));
    return 0;
}

static struct kernel *new_kernel(const struct trace *trace)
{
    struct kernel *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    k->world =
        (struct world){.name = "kernel", .apply = apply, .observe = observe, .close = close_kernel};
    trace_window(trace, &k->world.first, &k->world.count);
    for (unsigned i = 0; i < TRACE_OBJECTS; i++)
        k->object[i] = -1;
    for (unsigned i = 0; i < TRACE_PROCESSES; i++) {
        struct kernel_process *p = &k->process[i];
        p->socket = p->pagemap = p->status = p->maps = -1;
        for (unsigned j = 0; j < KERNEL_UFFDS; j++)
            p->uffd[j] = -1;
    }
    return k;
}

bool world_kernel_pins(void)
{
    struct io_uring_params params = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    if (ring >= 0)
        close(ring);
    return ring >= 0;
}

static int probe_pins(const struct trace *trace, struct tool_error *error)
{
    bool wanted = false;
    for (size_t i = 0; i < trace->count; i++)
        wanted |= trace->op[i].verb == TRACE_PIN;
    if (!wanted || world_kernel_pins())
        return 0;
    tool_fail(error, "io_uring, which pins pages, isn't to be had here: %s", strerror(errno));
    return WORLD_NOT_PERMITTED;
}

/* The rules that the model follows were seen on this kernel; older ones differ in many. */
static int probe(const struct trace *trace, struct tool_error *error)
{
    unsigned major = 0, minor = 0;
    struct utsname name;
#if !defined(__x86_64__)
    tool_fail(error, "the model is of x86-64, and this isn't");
    return WORLD_NOT_PERMITTED;
#endif
    if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2 ||
        major * 1000 + minor < 6018) {
        tool_fail(error, "the model is of Linux 6.18, and this is %s", name.release);
        return WORLD_NOT_PERMITTED;
    }
    if (access("/proc/self/pagemap", R_OK)) {
        tool_fail(error, "/proc/self/pagemap: %s", strerror(errno));
        return WORLD_NOT_PERMITTED;
    }
    if (trace->soft_dirty) {
        tool_fail(error, "soft-dirty tracking is the model's alone");
        return WORLD_NOT_PERMITTED;
    }
    int rc = probe_pins(trace, error);
    if (!rc)
        rc = kernel_uffd_probe(trace, error);
    return rc ? rc : kernel_swap_probe(trace, error);
}

int world_open_kernel(const struct trace *trace, struct world **world, struct tool_error *error)
{
    int rc = probe(trace, error);
    if (rc)
        return rc;
    struct kernel *k = new_kernel(trace);
    if (!k)
        return tool_fail(error, "out of memory");
    stay_on_one_cpu(k);
    kernel_look_open(k);
    for (unsigned i = 0; i < TRACE_OBJECTS && !rc; i++)
        if (trace->object[i].kind)
            rc = open_object(&trace->object[i], &k->object[i], error);
    if (!rc)
        rc = kernel_start(k, error);
    if (!rc)
        rc = kernel_look_rss(&k->process[0], k->own_rss, error);
    if (rc) {
        close_kernel(&k->world);
        return rc;
    }
    *world = &k->world;
    return 0;
}
