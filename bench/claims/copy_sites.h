/* SPDX-License-Identifier: MIT */
/*
 * Places that copy or clear, each with its own code: one in a loop, which stays warm, and 32 in a
 * row, of which none has been executed lately.
 */
#ifndef FASTMM_BENCH_CLAIMS_COPY_SITES_H
#define FASTMM_BENCH_CLAIMS_COPY_SITES_H

#include "copy/sizes.h"
#include "placed.h"

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
enum { COPY_SITES = 32 };

/* What to copy: one request again and again, or a list of them. */
struct copy_blocks {
    unsigned char *dst;
    const unsigned char *src;
    const struct copy_request *list;
    uint64_t mask; /* the list's length - 1 */
};

typedef void copy_run(const struct copy_blocks *blocks, uint64_t times);

struct copy_sites {
    copy_run *warm[PLACEMENTS];
    copy_run *cold[PLACEMENTS]; /* each site once, with the requests of round `times` */
    unsigned (*text)(void);     /* bytes of cold[0] */
};

extern const struct copy_sites copy_sites_of[COPY_OPS][COPY_WAYS];

#endif
