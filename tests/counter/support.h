/* SPDX-License-Identifier: MIT */
/*
 * What the counter tests share: getting past the single-thread path, threads that start together,
 * and simulated machines.
 */
#ifndef FASTMM_TESTS_COUNTER_SUPPORT_H
#define FASTMM_TESTS_COUNTER_SUPPORT_H

#include <fastmm/counter.h>
#include <pthread.h>
#include <stdlib.h>

#include "counter/mechanism.h"
#include "test_main.h"

/* The simulated CPU of this thread, where simulate_cpus() made it the source of ids. */
extern _Thread_local struct fastmm_counter_area simulated_area;
#define simulated_cpu simulated_area.id

/* From here on libc knows that the process has had a second thread. */
void become_threaded(void);

/* Every table from here on has `rows` rows, chosen by simulated_cpu. Skips without rseq. */
void simulate_cpus(unsigned rows);

/* Runs body(argument) in `count` threads that start together, and joins them. */
void run_threads(unsigned count, void *(*body)(void *), void *argument);

/* 1, or `factor` under FASTMM_TEST_LONG=1. */
long scaled(long factor);

#endif
