/* SPDX-License-Identifier: MIT */
/*
 * The rivals of the counters. Each lives in a file of its own with its loops, so that its add is
 * inlined into them as a careful user's would be, and the compiler can't merge it with ours.
 */
#ifndef FASTMM_BENCH_BASELINE_COUNTER_H
#define FASTMM_BENCH_BASELINE_COUNTER_H

#include <stddef.h>
#include <stdint.h>

/* One counter that threads share. Exact once the adders have ended their loops. */
struct counter_rival {
    const char *name;
    const char *label;
    void *(*make)(void);                        /* NULL: can't run here */
    void (*add)(void *counter, uint64_t times); /* one, so many times */
    int64_t (*sum)(void *counter);
    void (*free)(void *counter);
};

extern const struct counter_rival counter_lock_add;
extern const struct counter_rival counter_bypass;
extern const struct counter_rival counter_thread_shards;
extern const struct counter_rival counter_thread_batch;
extern const struct counter_rival counter_thread_cached;
extern const struct counter_rival counter_thread_agent;
extern const struct counter_rival counter_striped_cells;
extern const struct counter_rival counter_cpu_split;
extern const struct counter_rival counter_rseq_array;
extern const struct counter_rival counter_rseq_spill;
extern const struct counter_rival counter_rseq_switchable;

/* Four counters, -1 on two and +1 on two in each step. */
void *relaxed_atomics_make(void);
void relaxed_atomics_mix(void *four, uint64_t times);
void relaxed_atomics_sums(void *four, int64_t sums[4]);
void relaxed_atomics_free(void *four);

/* Four counters with a padded slot for each CPU, made and freed. */
int padded_arrays_life(unsigned cpus, uint64_t times);
/* One such life in which 1 to 4 is added to them: what they then are. */
int padded_arrays_sums(unsigned cpus, int64_t sums[4]);

/* The sum of an array with a cache line for each slot. */
void *padded_array_make(unsigned slots, int64_t each);
int64_t padded_array_sum(void *array, uint64_t times);
void padded_array_free(void *array);

/* A limit kept by compare-and-swap on one word. */
void *cas_limit_make(int64_t limit);
void cas_limit_take_and_return(void *word, int64_t v, uint64_t times);
int64_t cas_limit_used(void *word);
/* What is in use between taking v and returning it; -1 if there was no room. */
int64_t cas_limit_used_within(void *word, int64_t v);
void cas_limit_free(void *word);

/* Where the rseq rivals find a thread's area; set by make(). */
extern ptrdiff_t counter_rseq_offset;

/* Memory on lines of its own, zeroed; NULL if there is none. */
void *lines(size_t bytes);

/* Nothing before this point may be moved behind it, or merged with what follows. */
#define COMPILER_BARRIER() __asm__ volatile("" : : : "memory")

#endif
