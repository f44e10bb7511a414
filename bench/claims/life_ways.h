/* SPDX-License-Identifier: MIT */
/*
 * Five ways to keep the four resident-set counters of an address space, and two things that happen
 * to one: the life that fork, exec and a shell give it, and a storm of faults by several threads.
 */
#ifndef FASTMM_BENCH_CLAIMS_LIFE_WAYS_H
#define FASTMM_BENCH_CLAIMS_LIFE_WAYS_H

#include "placed.h"

#include <stddef.h>
#include <stdint.h>

enum life_way {
    LIFE_PERCPU, /* a slot for each CPU from the start (Linux 6.2 and later) */
    LIFE_PERCPU_AGAIN,
    LIFE_ATOMIC, /* one atomic word each, for good */
    LIFE_TASK,   /* batches of 64 in each task (Linux up to 6.1) */
    LIFE_BOUNDED,
    LIFE_HYBRID,
    LIFE_WAYS
};

enum { LIFE_COUNTERS = 4, LIFE_THREADS = 64 };

/* What one run of a program does to counters. */
struct life_job {
    unsigned spaces; /* address spaces made and given up */
    unsigned faults; /* in each */
    unsigned tables; /* page tables that are copied at its start and emptied at its end */
};

struct life_space; /* of any way */

struct life_methods {
    /* So many lives. Returns what was left in the counters, which is 0. */
    int64_t (*live[PLACEMENTS])(const struct life_job *job, uint64_t lives);
    /* One fault after the other by a thread of an address space that `threads` share. */
    void (*storm[PLACEMENTS])(struct life_space *space, unsigned thread, uint64_t faults);
    struct life_space *(*open)(unsigned threads); /* NULL for want of memory */
    void (*close)(struct life_space *space);
    /* What a reader that can't afford a sum sees; and by how much that may be wrong. */
    int64_t (*read)(const struct life_space *space);
    int64_t (*bound)(const struct life_space *space);
    int64_t (*exact)(const struct life_space *space); /* no thread is in a storm */
};

extern const struct life_methods life_ways[LIFE_WAYS];
extern const char *const life_way_names[LIFE_WAYS];

#endif
