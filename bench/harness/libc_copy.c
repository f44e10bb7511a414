/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "libc_copy.h"

#include "bench.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_interpreter(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            *(const char **)out = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1; /* the program itself is the first, and the only one that counts */
}

/* The value of a tunable as the loader of this program prints it. */
static bool read_tunable(const char *name, char *out, size_t size)
{
    const char *loader = NULL;
    char command[512], line[256];
    bool found = false;
    dl_iterate_phdr(find_interpreter, &loader);
    if (!loader || strchr(loader, '\''))
        return false;
    snprintf(command, sizeof(command), "'%s' --list-tunables 2>/dev/null", loader);
    FILE *pipe = popen(command, "re");
    while (pipe && fgets(line, sizeof(line), pipe)) {
        size_t length = strlen(name);
        if (strncmp(line, name, length) != 0 || line[length] != ':')
            continue;
        unsigned long long value;
        found = sscanf(line + length + 1, "%llx", &value) == 1;
        if (found)
            snprintf(out, size, "%llu", value);
    }
    if (pipe)
        pclose(pipe);
    return found;
}

/* Least ns of a copy of 4 KiB whose destination lies `alias` bytes beyond the source's page offset.
 */
static double copy_time(unsigned char *area, size_t alias)
{
    enum { PAGE = 4096, CALLS = 32, TRIES = 16 };
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    double least = 1e18;
    for (int t = 0; t < TRIES; t++) {
        uint64_t start = bench_now();
        for (int i = 0; i < CALLS; i++)
            copy(area + 4 * PAGE + alias, area, PAGE);
        double ns = (double)(bench_now() - start) / CALLS;
        least = ns < least ? ns : least;
    }
    return least;
}

void libc_copy_describe(char *out)
{
    char threshold[32];
    int used = 0;
    if (read_tunable("glibc.cpu.x86_rep_movsb_threshold", threshold, sizeof(threshold)))
        used = sprintf(out, "rep movsb from %s bytes (tunable); ", threshold);
    unsigned char *area = aligned_alloc(4096, 8 * 4096);
    if (!area)
        return;
    memset(area, 1, 8 * 4096);
    double ratio = copy_time(area, 8) / copy_time(area, 64);
    free(area);
    sprintf(out + used, "4 KiB at alias 8 takes %.1f times what it takes at alias 64", ratio);
}
