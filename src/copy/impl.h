/* SPDX-License-Identifier: MIT */
/*
 * The implementations as a table. Each row is whole: it handles any size and alignment, and any
 * overlap in move, so that each can be forced and tested by the same test.
 */
#ifndef FASTMM_SRC_COPY_IMPL_H
#define FASTMM_SRC_COPY_IMPL_H

#include <fastmm/copy.h>

/* All return dst. */
struct fastmm_copy_ops {
    void *(*copy)(void *dst, const void *src, size_t n);
    void *(*move)(void *dst, const void *src, size_t n);
    void *(*fill)(void *dst, int value, size_t n);
};

extern const struct fastmm_copy_ops fastmm_copy_ops_scalar;
#ifdef __x86_64__
extern const struct fastmm_copy_ops fastmm_copy_ops_sse2;
extern const struct fastmm_copy_ops fastmm_copy_ops_avx2;
extern const struct fastmm_copy_ops fastmm_copy_ops_avx512;
extern const struct fastmm_copy_ops fastmm_copy_ops_rep;
extern const struct fastmm_copy_ops fastmm_copy_ops_stream;
#endif

/* The operations of an implementation; NULL outside the enum or if this architecture has none. */
const struct fastmm_copy_ops *fastmm_copy_impl_ops(uint32_t impl);

/* The CPU features it needs, as bits 1 << enum fastmm_cpu_feature. */
uint64_t fastmm_copy_impl_needs(uint32_t impl);

/*
 * Moves must run backward when dst lies inside the source, and forward when src lies inside the
 * destination. Of separate blocks, those whose distance is a little more than a multiple of 4096
 * run better backward: forward, each load has the low address bits of a store that was issued just
 * before, and waits for it.
 */
#define FASTMM_COPY_ALIAS_WINDOW 512

static inline int fastmm_copy_backward(const void *dst, const void *src, size_t n)
{
    uintptr_t distance = (uintptr_t)dst - (uintptr_t)src;
    if (distance < n)
        return 1;
    return ((distance - 1) & 4095) < FASTMM_COPY_ALIAS_WINDOW - 1 && -distance >= n;
}

#endif
