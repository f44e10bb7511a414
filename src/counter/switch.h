/* SPDX-License-Identifier: MIT */
/* The two halves of a switch to per-CPU mode, for what switches several groups or none. */
#ifndef FASTMM_COUNTER_SWITCH_H
#define FASTMM_COUNTER_SWITCH_H

#include <fastmm/counter.h>

/* The part that can fail: what a slot pointer for a group of n will be, 0 if there is no memory. */
uintptr_t fastmm_counter_switch_prepare(unsigned n);

/* The part that can't. If g is in per-CPU mode by now, it gives the slots back. */
void fastmm_counter_switch_commit(struct fastmm_counter_group *g, uintptr_t slots);

/* Instead of a commit. */
void fastmm_counter_switch_cancel(uintptr_t slots);

#endif
