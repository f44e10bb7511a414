/* SPDX-License-Identifier: MIT */
/* Short words for tests that set up an address space and look at it. */
#ifndef FASTMM_TESTS_MM_SPACE_H
#define FASTMM_TESTS_MM_SPACE_H

#include "holds.h"

#include <fastmm/mm_inline.h>

#include <errno.h>
#include <stdio.h>

#define PAGES(n) ((uint64_t)(n) << 12)
#define BASE     UINT64_C(0x100000000)
#define RW       (FASTMM_VM_READ | FASTMM_VM_WRITE)

static inline struct fastmm_machine *new_machine(uint64_t frames)
{
    const struct fastmm_machine_config config = {.frames = frames};
    struct fastmm_machine *machine;
    EQUAL(fastmm_machine_create(&config, &machine), 0);
    return machine;
}

static inline struct fastmm_mm *new_mm(struct fastmm_machine *machine)
{
    struct fastmm_mm *mm;
    EQUAL(fastmm_mm_create(machine, &mm), 0);
    return mm;
}

/* Maps `pages` at `start`. */
static inline void map_at(struct fastmm_mm *mm, uint64_t start, uint64_t pages, uint32_t flags,
                          struct fastmm_object *object)
{
    const struct fastmm_map map = {start, start + PAGES(pages), flags, object, 0};
    EQUAL(fastmm_mm_map(mm, &map), 0);
}

static inline fastmm_pte_t pte_at(const struct fastmm_mm *mm, uint64_t addr)
{
    fastmm_pte_t pte = 0;
    EQUAL(fastmm_mm_lookup(mm, addr, &pte), 0);
    return pte;
}

static inline int64_t rss_of(const struct fastmm_mm *mm, enum fastmm_rss which)
{
    int64_t rss[FASTMM_RSS_COUNTERS];
    fastmm_mm_rss(mm, rss);
    return rss[which];
}

static inline struct fastmm_machine_stats stats_of(const struct fastmm_machine *machine)
{
    struct fastmm_machine_stats stats;
    fastmm_machine_get_stats(machine, &stats);
    return stats;
}

static inline void tell_breach(void *context, const struct fastmm_breach *b)
{
    (void)context;
    fprintf(stderr, "breach: %s, at %#llx, entry %#llx\n", b->rule, (unsigned long long)b->addr,
            (unsigned long long)b->pte);
}

static inline void check_machine(struct fastmm_machine *machine)
{
    EQUAL(fastmm_machine_check(machine, tell_breach, NULL), 0);
}

static inline void end_mm(struct fastmm_mm *mm)
{
    int64_t residue[FASTMM_RSS_COUNTERS + 1];
    EQUAL(fastmm_mm_destroy(mm, residue), 0);
    for (int i = 0; i <= FASTMM_RSS_COUNTERS; i++)
        EQUAL(residue[i], 0);
}

/* Everything that lived in the machine is gone, and then the machine. */
static inline void end_machine(struct fastmm_machine *machine)
{
    check_machine(machine);
    struct fastmm_machine_stats stats = stats_of(machine);
    EQUAL(stats.frames_used, 0);
    EQUAL(stats.tables, 0);
    EQUAL(stats.swap_used, 0);
    EQUAL(stats.pfn_reservations, 0);
    EQUAL(fastmm_machine_destroy(machine), 0);
}

static inline int populate(struct fastmm_mm *mm, uint64_t start, uint64_t count,
                           enum fastmm_populate_kind kind, uint64_t value, uint32_t flags)
{
    const struct fastmm_populate run = {start, count, value, (uint8_t)kind, 0, flags};
    return fastmm_mm_populate(mm, &run, 1, NULL);
}

#endif
