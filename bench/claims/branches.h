/* SPDX-License-Identifier: MIT */
/* How many branches a piece of work executes, by single steps: no counter of the hardware is
 * needed. */
#ifndef FASTMM_BENCH_CLAIMS_BRANCHES_H
#define FASTMM_BENCH_CLAIMS_BRANCHES_H

#include <stdbool.h>

struct branches {
    unsigned long instructions, conditional, calls;
};

/* False where single steps don't work, as under emulators. Not for use beside other threads. */
bool branches_count(void (*work)(void *context, const void *variant), void *context,
                    const void *variant, struct branches *out);

#endif
