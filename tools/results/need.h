/* SPDX-License-Identifier: MIT */
/* Programs that judge results have nothing better to do without memory than to say so and end. */
#ifndef FASTMM_RESULTS_NEED_H
#define FASTMM_RESULTS_NEED_H

#include <stdio.h>
#include <stdlib.h>

static inline void *need(void *memory)
{
    if (!memory) {
        fputs("fastmm: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

#endif
