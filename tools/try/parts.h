/* SPDX-License-Identifier: MIT */
/* The parts of a trial; each prints what it found and returns false if the trial has failed. */
#ifndef FASTMM_TOOLS_TRY_PARTS_H
#define FASTMM_TOOLS_TRY_PARTS_H

#include "seam.h"

#include <stdint.h>

/* Answers of the lookup and the setter against the library's, over entries that can and can't be.
 */
bool try_equal(const struct fastmm_try *user, uint64_t seed);

/* Made-up traces and given ones, on a machine with the user's primitives and on one without. */
bool try_traces(const struct fastmm_try *user, uint64_t seed, uint64_t ops, char **files,
                unsigned count);

/* The same made-up traces on the running kernel, where that is permitted. */
bool try_kernel(const struct fastmm_try *user, uint64_t seed, uint64_t ops);

/* Times of the user's primitives beside the library's, both through a pointer. */
void try_bench(const struct fastmm_try *user);

#endif
