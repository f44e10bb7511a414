/* SPDX-License-Identifier: MIT */
/*
 * Places that copy or clear, each with its own code: one in a loop, which stays warm, and 64 in a
 * row, of which none has been executed lately.
 */
#ifndef FASTMM_BENCH_CLAIMS_COPY_SITES_H
#define FASTMM_BENCH_CLAIMS_COPY_SITES_H

#include "placed.h"

#include <stddef.h>
#include <stdint.h>

enum copy_way {
    COPY_LIBC,
    COPY_LIBC_AGAIN,
    COPY_REP_CALL,
    COPY_REP,
    COPY_CALL,
    COPY_INLINE,
    COPY_WAYS
};
enum { COPY_COPY, COPY_CLEAR, COPY_OPS };
enum { COPY_SITES = 64 };

struct copy_blocks {
    unsigned char *dst;
    const unsigned char *src;
    size_t size;
};

typedef void copy_run(const struct copy_blocks *blocks, uint64_t times);

struct copy_sites {
    copy_run *warm[PLACEMENTS];
    copy_run *cold[PLACEMENTS]; /* `times` is 1: all the sites */
    unsigned (*text)(void);     /* bytes of cold[0] */
};

extern const struct copy_sites copy_sites_of[COPY_OPS][COPY_WAYS];

#endif
