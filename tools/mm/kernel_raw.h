/* SPDX-License-Identifier: MIT */
/*
 * The page tables themselves, for whoever may run BPF programs: the 64 bits of each entry, with
 * what no file in /proc tells. Where it isn't permitted, or anything looks unfamiliar, there is no
 * such channel, and nobody is worse off.
 */
#ifndef FASTMM_TOOLS_MM_KERNEL_RAW_H
#define FASTMM_TOOLS_MM_KERNEL_RAW_H

#include "mm/agent.h"

#include <stdbool.h>
#include <stddef.h>

/* Once for a process and its forks, before the first of them. False if it can't be had. */
bool kernel_raw_open(void);

/* The descriptor that forks must keep open, or -1. */
int kernel_raw_descriptor(void);

/* What an agent is to be asked, so that kernel_raw_root() finds its page tables afterwards. */
struct agent_request kernel_raw_request(void);

/* Kernel address of the root of the page tables of whoever carried the request out last, or 0. */
uint64_t kernel_raw_root(void);

/* The entries of pages [address, address + 4096 * count); 0 where there is no table. */
bool kernel_raw_read(uint64_t root, uint64_t address, size_t count, uint64_t *entries);

#endif
