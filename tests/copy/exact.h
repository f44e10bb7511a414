/* SPDX-License-Identifier: MIT */
/* Whether the routes in force are right, whatever they are. */
#ifndef FASTMM_TESTS_COPY_EXACT_H
#define FASTMM_TESTS_COPY_EXACT_H

#include <stddef.h>

/*
 * Copies, moves by a little, and clears each size from 0 to `end` - 1 by the public calls, flush
 * against guard pages before and behind. Fails the running test at the first wrong byte.
 */
void check_every_size(size_t end);

#endif
