/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* CPU sets */
/*
 * Swap to write to: a device of compressed memory, since what is written there is out at once and
 * back at once, with neither writeback to wait for nor readahead to guess at. It is made for the
 * time that the runner lives, and kept by a process of its own that takes it away when the runner
 * is gone, however that ended.
 *
 * One runner at a time has swap: swapping off would bring back what another one swapped out.
 */
#include "mm/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/swap.h>
#include <unistd.h>

#define HOT_ADD      "/sys/class/zram-control/hot_add"
#define HOT_REMOVE   "/sys/class/zram-control/hot_remove"
#define PAGE_CLUSTER "/proc/sys/vm/page-cluster"
#define LOCK         "/run/fastmm-swap.lock"
#define SWAP_PAGES   4096u
#define PATIENCE_MS  120000 /* another runner may have it */
#define HIGHEST      (SWAP_FLAG_PREFER | SWAP_FLAG_PRIO_MASK)

/* What the keeper says when swap is there, or isn't. */
struct report {
    int error;
    char what[64];
};

struct device {
    int number; /* -1: none */
    char path[32], cluster[16];
};

/* --- Small files ----------------------------------------------------------------------------- */

static int put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc = 0;
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        rc = -errno;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int get(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, room - 1);
    int rc = got < 0 ? -errno : 0;
    text[got < 0 ? 0 : got] = '\0';
    if (fd >= 0)
        close(fd);
    return rc;
}

static int put_attribute(const struct device *d, const char *attribute, const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "/sys/block/zram%d/%s", d->number, attribute);
    return put(path, text);
}

/* --- The keeper ------------------------------------------------------------------------------ */

/* What mkswap(8) writes, for pages of 4096 bytes. */
static int write_header(const struct device *d)
{
    static union {
        char bytes[FASTMM_PAGE_SIZE];
        struct {
            char boot[1024];
            uint32_t version, last_page, bad_pages;
        } info;
    } header;
    header.info.version = 1;
    header.info.last_page = SWAP_PAGES - 1;
    memcpy(header.bytes + FASTMM_PAGE_SIZE - 10, "SWAPSPACE2", 10);
    int fd = open(d->path, O_WRONLY | O_CLOEXEC);
    int rc = fd >= 0 && write(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) ? 0 : -errno;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int make_device(struct device *d, const char **step)
{
    char text[32];
    *step = HOT_ADD;
    int rc = get(HOT_ADD, text, sizeof(text));
    if (rc)
        return rc;
    d->number = atoi(text);
    snprintf(d->path, sizeof(d->path), "/dev/zram%d", d->number);
    snprintf(text, sizeof(text), "%u", SWAP_PAGES * FASTMM_PAGE_SIZE);
    *step = "its size";
    rc = put_attribute(d, "disksize", text);
    *step = rc ? *step : "its header";
    return rc ? rc : write_header(d);
}

static int swap_on(struct device *d, const char **step)
{
    int rc = make_device(d, step);
    if (rc)
        return rc;
    *step = PAGE_CLUSTER;
    rc = get(PAGE_CLUSTER, d->cluster, sizeof(d->cluster));
    if (!rc)
        rc = put(PAGE_CLUSTER, "0"); /* no readahead */
    *step = rc ? *step : "swapon";
    return rc ? rc : swapon(d->path, HIGHEST) ? -errno : 0;
}

static void swap_off(const struct device *d)
{
    char text[16];
    if (d->cluster[0])
        put(PAGE_CLUSTER, d->cluster);
    if (d->number < 0)
        return;
    swapoff(d->path);
    put_attribute(d, "reset", "1");
    snprintf(text, sizeof(text), "%d", d->number);
    put(HOT_REMOVE, text);
}

/* Keeps nothing open that somebody might wait for the end of. */
static void close_others(int keep)
{
    for (int fd = 0; fd < 1024; fd++)
        if (fd != keep)
            close(fd);
}

static void keep_swap(int runner) __attribute__((noreturn));

static void keep_swap(int runner)
{
    struct device d = {.number = -1};
    struct report report = {0};
    const char *step = LOCK;
    char byte;
    setsid(); /* what interrupts the runner isn't meant for us */
    signal(SIGPIPE, SIG_IGN);
    close_others(runner);
    int lock = open(LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    report.error = lock < 0 || flock(lock, LOCK_EX) ? -errno : swap_on(&d, &step);
    snprintf(report.what, sizeof(report.what), "%s", step);
    if (write(runner, &report, sizeof(report)) == (ssize_t)sizeof(report) && !report.error)
        while (read(runner, &byte, 1) < 0 && errno == EINTR)
            ;
    swap_off(&d);
    _exit(0);
}

/* --- The runner ------------------------------------------------------------------------------ */

static struct report state = {.error = 1}; /* 1: not tried yet */

static void start_keeper(void)
{
    int ends[2];
    struct pollfd answer = {.events = POLLIN};
    state = (struct report){.error = -EAGAIN, .what = "a process to keep it"};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        keep_swap(ends[1]);
    close(ends[1]);
    answer.fd = ends[0]; /* stays open: its end is the keeper's signal */
    if (pid > 0 && poll(&answer, 1, PATIENCE_MS) == 1 &&
        read(ends[0], &state, sizeof(state)) != (ssize_t)sizeof(state))
        state.error = -EPIPE;
}

bool world_kernel_swaps(void)
{
    if (state.error == 1)
        start_keeper();
    return state.error == 0;
}

int kernel_swap_probe(const struct trace *trace, struct tool_error *error)
{
    bool wanted = false;
    for (size_t i = 0; i < trace->count; i++)
        wanted |= trace->op[i].verb == TRACE_PAGEOUT;
    if (!wanted || world_kernel_swaps())
        return 0;
    tool_fail(error, "swap isn't to be had here: %s: %s", state.what, strerror(-state.error));
    return WORLD_NOT_PERMITTED;
}
