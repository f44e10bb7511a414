/* SPDX-License-Identifier: MIT */
/*
 * The timed loops around copies of a size that the compiler knows. The including file defines
 *
 *   CONST_TABLE       the name of the table that the loops are exported in
 *   CONST_COPY(d, s, n)
 *
 * so that ours and the compiler's own expansion are timed by the same code, each in its own file.
 * The code comes out the same in both (a test compares it), so each loop starts a line: nothing but
 * where the linker put it could tell one from the other.
 */
#include "copy/const.h"

#define LOOP(n)                                                                             \
    static __attribute__((aligned(64))) void loop_##n(struct bench *b, uint64_t iterations) \
    {                                                                                       \
        const struct copy_data *data = (const struct copy_data *)b->data;                   \
        unsigned char *d = data->dst;                                                       \
        const unsigned char *s = data->src;                                                 \
        for (uint64_t i = 0; i < iterations; i++) {                                         \
            CONST_COPY(d, s, n);                                                            \
            bench_clobber(d);                                                               \
            bench_clobber((void *)(uintptr_t)s);                                            \
        }                                                                                   \
    }
COPY_CONST_SIZES(LOOP)

#define ROW(n) {n, loop_##n},
const struct copy_const CONST_TABLE[COPY_CONST_COUNT] = {COPY_CONST_SIZES(ROW)};
