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

static inline uintptr_t fastmm_counter_thread_pointer(void)
{
#ifdef FASTMM_COUNTER_RSEQ
    uintptr_t tp;
    __asm__("movq %%fs:0, %0" : "=r"(tp));
    return tp;
#else
    return (uintptr_t)__builtin_thread_pointer();
#endif
}

/* The calling thread's shard. All rows are in use then. */
static inline unsigned fastmm_counter_shard(void)
{
    /* Fibonacci hashing keeps thread pointers that lie a stack size apart in different shards. */
    uint64_t hash = (uint64_t)(fastmm_counter_thread_pointer() >> 6) * 0x9e3779b97f4a7c15u;
    uint32_t rows = __atomic_load_n(&FASTMM_COUNTER_NAME(fastmm_counter_hot).ids, __ATOMIC_RELAXED);
    return (unsigned)(hash >> 32) & (rows - 1);
}

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
