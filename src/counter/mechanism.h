/* SPDX-License-Identifier: MIT */
/*
 * How an add finds its row: decided once for the process, before the first slots are handed out.
 */
#ifndef FASTMM_COUNTER_MECHANISM_H
#define FASTMM_COUNTER_MECHANISM_H

#include <fastmm/counter.h>

/* Decides if nobody has yet. */
enum fastmm_counter_mechanism_kind fastmm_counter_decide(void);

/* Possible CPUs; 0 while undecided. */
unsigned fastmm_counter_cpus(void);

/* Rows of the table; 0 while undecided. */
unsigned fastmm_counter_rows(void);

/* Rows that may hold anything but zero. Sums need no others. */
unsigned fastmm_counter_rows_used(void);

/* The calling thread's shard. */
unsigned fastmm_counter_shard(void);

/*
 * Behind an add of the calling thread that could not use its row: opens that row for the next one,
 * and takes the critical-section pointer away from code that may be unloaded.
 */
void fastmm_counter_leave_sequence(void);

/* Stands in for a thread's rseq area where its id is simulated: nothing aborts then. */
struct fastmm_counter_area {
    uint32_t others[6];
    uint32_t id;
} __attribute__((aligned(FASTMM_COUNTER_AREA_ALIGN)));

/* What tests replace. Zero fields mean the real thing. */
struct fastmm_counter_seam {
    unsigned rows;                          /* possible CPUs */
    const struct fastmm_counter_area *area; /* of the calling thread, thread-local */
    int no_rseq;                            /* as if libc had registered none */
    int no_mm_cid;                          /* as if the kernel had no concurrency ids */
};

/* Also forgets the decision. -EBUSY while slots are held, in use or not. */
int fastmm_counter_seam_set(const struct fastmm_counter_seam *seam);

#endif
