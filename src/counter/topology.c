/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "counter/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long fastmm_counter_last_in_list(const char *list, size_t length)
{
    long last = -1;
    long number = -1;
    for (size_t i = 0; i < length; i++) {
        char c = list[i];
        if (c >= '0' && c <= '9') {
            number = (number < 0 ? 0 : number) * 10 + (c - '0');
            if (number > 1000000)
                return -1;
            if (number > last)
                last = number;
        } else if (c == '-' || c == ',' || c == '\n') {
            number = -1;
        } else {
            return -1;
        }
    }
    return last;
}

unsigned fastmm_counter_last_in_affinity(fastmm_counter_get_affinity get)
{
    /* The kernel refuses a mask shorter than its own, whose length it doesn't tell. */
    unsigned long mask[FASTMM_COUNTER_ROWS_MAX / (8 * sizeof(unsigned long))];
    for (size_t bytes = 128; bytes <= sizeof(mask); bytes *= 2) {
        memset(mask, 0, sizeof(mask));
        long copied = get(bytes, mask);
        if (copied == -EINVAL)
            continue;
        if (copied < 0)
            return 0;
        for (size_t w = sizeof(mask) / sizeof(mask[0]); w-- > 0;)
            if (mask[w])
                return (unsigned)(8 * sizeof(long) * (w + 1)) - (unsigned)__builtin_clzl(mask[w]);
    }
    return 0;
}

static long own_affinity(size_t bytes, unsigned long *mask)
{
    long copied = syscall(SYS_sched_getaffinity, 0, bytes, mask);
    return copied < 0 ? -errno : copied;
}

static long last_in_file(const char *path)
{
    char text[4096] = {0}; /* MSan doesn't know what the system calls below write */
    /* System calls, because libc's own open() and read() are cancellation points. */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    long length = syscall(SYS_read, fd, text, sizeof(text));
    syscall(SYS_close, fd);
    return length > 0 ? fastmm_counter_last_in_list(text, (size_t)length) : -1;
}

unsigned fastmm_counter_possible_cpus(void)
{
    long last = last_in_file("/sys/devices/system/cpu/possible");
    unsigned rows = last >= 0 ? (unsigned)last + 1 : 0;
    /* Without sysfs the ids of CPUs we may run on are the best guess; others use the base word. */
    if (!rows)
        rows = fastmm_counter_last_in_affinity(own_affinity);
    if (!rows)
        rows = 1;
    return rows < FASTMM_COUNTER_ROWS_MAX ? rows : FASTMM_COUNTER_ROWS_MAX;
}
