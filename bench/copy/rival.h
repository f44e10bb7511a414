/* SPDX-License-Identifier: MIT */
/*
 * What the copy benches share: the data a loop works on, and the table of loops that each
 * implementation, ours or a rival's, exports from a file of its own.
 */
#ifndef FASTMM_BENCH_COPY_RIVAL_H
#define FASTMM_BENCH_COPY_RIVAL_H

#include "harness/bench.h"

#include <stddef.h>
#include <stdint.h>

/* One call of a list. Offsets are from the start of each buffer. */
struct copy_request {
    uint16_t size, dst, src;
};

/* A power of two, large enough that no branch predictor learns the list by heart. */
#define COPY_REQUESTS 65536

struct copy_data {
    unsigned char *dst, *src;
    size_t size;               /* of one call */
    struct copy_request *list; /* COPY_REQUESTS of them, or NULL */
    size_t arena, at;          /* of cold loops: bytes to go through, and where the last call was */
    unsigned char *maps[2];    /* what is to be unmapped, and how much */
    size_t map_bytes;
};

/* Where in a cleared block the page lies that its user goes on with. */
#define COPY_HOT ((size_t)1234 * 1024)

/* The offset of the next block of a cold loop. */
static inline size_t copy_next(struct copy_data *data)
{
    data->at = data->at + 2 * data->size <= data->arena ? data->at + data->size : 0;
    return data->at;
}

typedef void copy_loop(struct bench *b, uint64_t iterations);

/* Loops that an implementation doesn't have are NULL. */
struct copy_rival {
    const char *name;
    uint64_t needs; /* bits 1 << enum fastmm_cpu_feature that it was built for */
    copy_loop *copy_fixed, *copy_list, *copy_cold, *copy_reload;
    copy_loop *clear_fixed, *clear_list, *clear_hot;
};

extern const struct copy_rival copy_fastmm, copy_fastmm_call, copy_fastmm_masked,
    copy_fastmm_stream;
extern const struct copy_rival copy_libc, copy_rep_movsb, copy_rep_stosb, copy_vector_loop;
#ifdef FASTMM_BENCH_DPDK
extern const struct copy_rival copy_dpdk;
#endif

#endif
