/* SPDX-License-Identifier: MIT */
/*
 * Where per-CPU slots come from: chunks of 512 words for each row (CPU or shard).
 */
#ifndef FASTMM_COUNTER_SLAB_H
#define FASTMM_COUNTER_SLAB_H

#include <fastmm/counter.h>

/* The address of row 0 of n adjacent zero words (1 <= n <= 8) within one cache line; 0: no memory.
 * `rows` is the same in every call while memory is held. */
uintptr_t fastmm_counter_slab_alloc(unsigned n, unsigned rows);

/* Takes them back and zeroes them in the first `used` rows, the only ones that can differ. */
void fastmm_counter_slab_free(uintptr_t slot, unsigned used);

/* The n that the slots at this address were allocated with. */
unsigned fastmm_counter_slab_size(uintptr_t slot);

#endif
