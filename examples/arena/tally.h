/* SPDX-License-Identifier: MIT */
/*
 * Independent books of what the arena maps: the tests link with mmap, munmap, mprotect and madvise
 * wrapped by these. Any chosen call can be made to fail.
 */
#ifndef ARENA_TALLY_H
#define ARENA_TALLY_H

#include <stddef.h>
#include <stdint.h>

/* Bytes mapped now and not yet unmapped, by the arena and by the counters' slot table together. */
int64_t tally_mapped(void);

/* The same for what is readable and writable. */
int64_t tally_committed(void);

/* Calls made so far, failed ones included. */
unsigned tally_calls(void);

/* The call made when tally_calls() is `number` fails, and so do the `more` after it. */
void tally_fail(unsigned number, unsigned more);

/* Unmaps what is left of an arena that was destroyed, and lets all calls succeed. */
void tally_reset(void);

struct arena;

/* Fails the running test unless statistics, tables and these books agree. No thread may be inside.
 */
void tally_check(struct arena *a);

#endif
