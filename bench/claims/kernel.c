/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "kernel.h"

#include "harness/bench.h"
#include "stats.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 256, PAGE = 4096, PAGES = 2048 };

/* What the child does. */
static void end(void)
{
    _exit(0);
}

static void exec_program(void)
{
    char *arguments[] = {(char[]){"true"}, NULL}, *environment[] = {NULL};
    execve("/bin/true", arguments, environment);
    _exit(127);
}

static void exec_shell(void)
{
    /* Two commands, so that the shell doesn't become the second. */
    char *arguments[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"/bin/true; :"}, NULL};
    char *environment[] = {NULL};
    execve("/bin/sh", arguments, environment);
    _exit(127);
}

static double faults_of_children(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_minflt;
}

static struct kernel_cost measure_child(void (*work)(void), unsigned times)
{
    double ns[MOST], before = faults_of_children();
    times = times > MOST ? MOST : times;
    for (unsigned i = 0; i < times; i++) {
        int status = 0;
        uint64_t start = bench_now();
        pid_t child = fork();
        if (child == 0)
            work();
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return (struct kernel_cost){0};
        ns[i] = (double)(bench_now() - start);
    }
    return (struct kernel_cost){stats_median(ns, times), (faults_of_children() - before) / times};
}

/* ns a page of touching each page of a fresh mapping once. */
static double touch(int flags, int file, bool write)
{
    volatile unsigned char *area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, file, 0);
    if (area == MAP_FAILED)
        return 0;
    madvise((void *)area, PAGES * PAGE, MADV_NOHUGEPAGE);
    madvise((void *)area, PAGES * PAGE, MADV_RANDOM); /* no faulting around */
    uint64_t start = bench_now();
    for (size_t i = 0; i < PAGES; i++)
        if (write)
            area[i * PAGE] = 1;
        else
            (void)area[i * PAGE];
    double ns = (double)(bench_now() - start) / PAGES;
    munmap((void *)area, PAGES * PAGE);
    return ns;
}

static struct kernel_cost measure_fault(int flags, int file, bool write, unsigned times)
{
    double ns[MOST];
    times = times > MOST ? MOST : times;
    for (unsigned i = 0; i < times; i++)
        ns[i] = touch(flags, file, write);
    return (struct kernel_cost){stats_median(ns, times), 1};
}

static double own_tables(void)
{
    char line[256];
    double kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "VmPTE:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (status)
        fclose(status);
    return kib / 4;
}

void kernel_measure(struct kernel_costs *costs, unsigned times)
{
    *costs = (struct kernel_costs){.tables = own_tables()};
    fflush(NULL);
    costs->fork = measure_child(end, 4 * times);
    costs->exec = measure_child(exec_program, 2 * times);
    costs->shell = measure_child(exec_shell, times);
    costs->anon_fault = measure_fault(MAP_PRIVATE | MAP_ANONYMOUS, -1, true, times);
    int file = memfd_create("pages", MFD_CLOEXEC);
    if (file >= 0) {
        if (ftruncate(file, PAGES * PAGE) == 0 && touch(MAP_SHARED, file, true) > 0)
            costs->file_fault = measure_fault(MAP_SHARED, file, false, times);
        close(file);
    }
}
