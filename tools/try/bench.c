/* SPDX-License-Identifier: MIT */
/* Each primitive is called through a pointer, the user's and the library's in turns. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */
#include "host.h"
#include "parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef fastmm_normal_page
#undef fastmm_set_range

#define ROUNDS     31u
#define FORK_PAGES 4096u

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), by_value);
    return values[ROUNDS / 2];
}

/* One round of something: nanoseconds for each of its units. */
typedef double round_of(const struct fastmm_try *primitives, unsigned size);

static void compare(const char *what, unsigned size, const struct fastmm_try *ours,
                    const struct fastmm_try *user, round_of *round)
{
    double times[2][ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        times[i % 2][i] = round(i % 2 ? user : ours, size);
        times[!(i % 2)][i] = round(i % 2 ? ours : user, size);
    }
    double library = median(times[0]), own = median(times[1]);
    printf("%-24s %8.2f ns ours %8.2f ns yours, %.2f times as fast\n", what, library, own,
           library / own);
}

static double time_lookups(const struct fastmm_try *p, unsigned size)
{
    static fastmm_pte_t ptes[FASTMM_PTES];
    struct fastmm_frames frames = {.highest = 100000};
    const struct fastmm_vma vma = {.flags = FASTMM_VM_READ};
    uint64_t sum = 0;
    for (unsigned i = 0; i < FASTMM_PTES; i++)
        ptes[i] = fastmm_pte_make(600 + i, FASTMM_PROT_READONLY);
    uint64_t began = now();
    for (unsigned turn = 0; turn < size; turn++)
        for (unsigned i = 0; i < FASTMM_PTES; i++)
            sum += p->normal_page(&frames, &vma, i, ptes[i]);
    uint64_t spent = now() - began;
    if (sum == 1) /* keeps the calls */
        puts("");
    return (double)spent / size / FASTMM_PTES;
}

static double time_setter(const struct fastmm_try *p, unsigned size)
{
    static fastmm_pte_t ptes[FASTMM_PTES];
    const struct fastmm_vma vma = {.flags = FASTMM_VM_READ | FASTMM_VM_WRITE,
                                   .page_prot = FASTMM_PROT_READONLY};
    unsigned calls = 65536 / size + 1000;
    uint64_t began = now();
    for (unsigned i = 0; i < calls; i++)
        p->set_range(&vma, ptes, 600 + i, size, FASTMM_SET_WRITE | FASTMM_SET_ORIG_VALID, 0);
    return (double)(now() - began) / calls / size;
}

/* The whole fork of a process that has written all its pages. */
static double time_fork(const struct fastmm_try *p, unsigned size)
{
    const struct fastmm_machine_config config = {.frames = FORK_PAGES, .impl = FASTMM_MM_PLAIN};
    const uint64_t start = UINT64_C(1) << 30, end = start + (uint64_t)FORK_PAGES * FASTMM_PAGE_SIZE;
    const struct fastmm_map map = {
        .start = start, .end = end, .flags = FASTMM_VM_READ | FASTMM_VM_WRITE};
    struct fastmm_machine *machine;
    struct fastmm_mm *mm, *child;
    double spent = 0;
    host_use(NULL);
    if (fastmm_machine_create(&config, &machine))
        return 0;
    if (!fastmm_mm_create(machine, &mm)) {
        if (!fastmm_mm_map(mm, &map))
            fastmm_mm_access(mm, start, end - start, FASTMM_WRITE, NULL);
        for (unsigned i = 0; i < size; i++) {
            host_use(p);
            uint64_t began = now();
            int rc = fastmm_mm_fork(mm, &child);
            spent += (double)(now() - began);
            host_use(NULL);
            if (!rc)
                fastmm_mm_destroy(child, NULL);
        }
        fastmm_mm_destroy(mm, NULL);
    }
    fastmm_machine_destroy(machine);
    return spent / size / FORK_PAGES;
}

void try_bench(const struct fastmm_try *user)
{
    static const struct fastmm_try ours = {.normal_page = fastmm_normal_page_call,
                                           .set_range = fastmm_set_range_call};
    if (user->normal_page)
        compare("normal_page, an entry", 64, &ours, user, time_lookups);
    if (user->set_range) {
        compare("set_range of 1, an entry", 1, &ours, user, time_setter);
        compare("set_range of 16", 16, &ours, user, time_setter);
        compare("set_range of 512", 512, &ours, user, time_setter);
    }
    if (user->fork_range)
        compare("fork, an entry", 4, NULL, user, time_fork);
}
