/* SPDX-License-Identifier: MIT */
/* The counter's cases, a file for each job, and what they share. */
#ifndef FASTMM_BENCH_COUNTER_CASES_H
#define FASTMM_BENCH_COUNTER_CASES_H

#include "baseline/counter.h"
#include "counter/mechanism.h"
#include "harness/bench.h"

#include <fastmm/counter.h>

void add_cases_of_add(void);
void add_cases_of_group(void);
void add_cases_of_padding(void);
void add_cases_of_sum(void);
void add_cases_of_bounded(void);
void add_cases_of_quota(void);
void add_cases_of_figures(void);

/*
 * Makes the library's next slot table as if this machine had `rows` possible CPUs, whose number is
 * simulated_cpu where `by_number` is set, or as if it had no rseq. Several instances may ask for
 * the same; the last one to end it restores the real machine. 0 or a negative errno value.
 */
struct machine {
    unsigned rows;
    int by_number;
    int no_rseq;
};
int machine_begin(const struct machine *wanted);
void machine_end(void);
extern _Thread_local struct fastmm_counter_area simulated_area;
#define simulated_cpu simulated_area.id

/* True if per-CPU adds go to slots of CPUs here. */
int have_percpu(void);

#endif
