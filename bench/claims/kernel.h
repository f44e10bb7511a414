/* SPDX-License-Identifier: MIT */
/*
 * What the running kernel takes for the things that the claims were about, measured as lmbench
 * does, so that nanoseconds saved become the gain to expect.
 */
#ifndef FASTMM_BENCH_CLAIMS_KERNEL_H
#define FASTMM_BENCH_CLAIMS_KERNEL_H

struct kernel_cost {
    double ns;     /* median; 0 when it can't be done here */
    double faults; /* that it takes, in all processes together */
};

struct kernel_costs {
    struct kernel_cost fork, exec, shell;
    struct kernel_cost anon_fault; /* first write to a page of memory */
    struct kernel_cost file_fault; /* first read of a page of a file, as lat_pagefault does */
    double tables;                 /* page tables of this process */
};

/* `times` repetitions of the dearest, more of the others. */
void kernel_measure(struct kernel_costs *costs, unsigned times);

#endif
