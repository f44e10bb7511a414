/* SPDX-License-Identifier: MIT */
/*
 * How many CPU ids there can be. Only ids matter here: containers and debuggers show fewer CPUs
 * than the ids that threads report, so nothing is sized by a count of CPUs online or allowed.
 */
#ifndef FASTMM_COUNTER_TOPOLOGY_H
#define FASTMM_COUNTER_TOPOLOGY_H

#include <stddef.h>

/* More rows than this are not made; CPUs beyond count in the base word. */
#define FASTMM_COUNTER_ROWS_MAX 8192u

/* One above the highest possible CPU id, at least 1, at most FASTMM_COUNTER_ROWS_MAX. */
unsigned fastmm_counter_possible_cpus(void);

/* The highest number in a list such as "0-3,8-11\n", or -1 if it is none. */
long fastmm_counter_last_in_list(const char *list, size_t length);

/* One above the highest bit that `get(bytes, mask)` reports, growing the mask until it accepts. */
typedef long (*fastmm_counter_get_affinity)(size_t bytes, unsigned long *mask);
unsigned fastmm_counter_last_in_affinity(fastmm_counter_get_affinity get);

#endif
