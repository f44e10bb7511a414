/* SPDX-License-Identifier: MIT */
/*
 * Threads for the threaded cases: made at the first use and kept, so that a batch measures the case
 * and not the start of threads, and let go together by a spinning barrier. A process that runs no
 * threaded case never makes one.
 */
#ifndef FASTMM_BENCH_POOL_H
#define FASTMM_BENCH_POOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Thread i of every later job runs on cpus[i % count]; not copied. Binds the caller, thread 0. */
void pool_place(const int *cpus, unsigned count);
/* How many CPUs the threads are spread over; 0 when they are not bound. */
unsigned pool_cpus(void);

/* Runs job(context, i) for i = 0 .. threads - 1 at the same time, i = 0 in the caller. */
void pool_run(unsigned threads, void (*job)(void *context, unsigned thread), void *context);

/*
 * Nanoseconds for which the calling thread has so far been ready to run and had no CPU; 0 where the
 * kernel doesn't tell. Two threads that began and ended together may have taken turns all the same.
 */
uint64_t pool_waited(void);

#ifdef __cplusplus
}
#endif

#endif
