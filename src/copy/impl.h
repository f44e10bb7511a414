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
extern const struct fastmm_copy_ops fastmm_copy_ops_avx512_source; /* aligns the source instead */
extern const struct fastmm_copy_ops fastmm_copy_ops_rep;
extern const struct fastmm_copy_ops fastmm_copy_ops_stream;
#endif

/* The operations of an implementation; NULL outside the enum or if this architecture has none. */
const struct fastmm_copy_ops *fastmm_copy_impl_ops(uint32_t impl);

/* The CPU features it needs, as bits 1 << enum fastmm_cpu_feature. */
uint64_t fastmm_copy_impl_needs(uint32_t impl);

/*
 * Moves must run backward when dst lies inside the source, and forward when src lies inside the
 * destination. Separate blocks whose distance is a little more than a multiple of 4096 run better
 * backward, if they are in the first-level cache: forward, each load has the low address bits of a
 * store that was issued just before, and waits for it (1.1 to 1.7 times, Zen 5, 4 to 16 KiB). In
 * short blocks that is not worth a branch that can't be predicted; in long ones prefetching likes
 * forward better.
 */
#define FASTMM_COPY_ALIAS_WINDOW 512
#define FASTMM_COPY_ALIAS_FIRST  4096
#define FASTMM_COPY_ALIAS_LAST   32768

static inline int fastmm_copy_backward(const void *dst, const void *src, size_t n)
{
    uintptr_t distance = (uintptr_t)dst - (uintptr_t)src;
    if (distance < n)
        return 1;
    return n >= FASTMM_COPY_ALIAS_FIRST && n <= FASTMM_COPY_ALIAS_LAST && -distance >= n &&
           ((distance - 1) & 4095) < FASTMM_COPY_ALIAS_WINDOW - 1;
}

#endif
