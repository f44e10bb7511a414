/* SPDX-License-Identifier: MIT */
/*
 * One implementation for vectors of VECTOR_BYTES, which the including file defines: the bodies of
 * sse2.c, avx2.c and avx512.c differ in nothing else.
 *
 * A copy is composed from blocks. Up to 64 bytes: the inline body. Up to 4 vectors: four that
 * overlap as the size demands, without a branch on it. Above: a loop of blocks that is
 * aligned on one side, with the unaligned ends loaded before the first store and stored after the
 * last, which makes both directions right for overlapping blocks too. Copy and move are therefore
 * one function. A block is 4 vectors, or 2 of the widest: what the last one writes twice costs more
 * than a branch in ten.
 */
#ifndef FASTMM_SRC_COPY_VECTOR_H
#define FASTMM_SRC_COPY_VECTOR_H

#include "copy/impl.h"

typedef uint64_t vec __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));
typedef uint64_t vec_aligned
    __attribute__((vector_size(VECTOR_BYTES), aligned(VECTOR_BYTES), may_alias));

#if VECTOR_BYTES == 64
#    define BLOCK_VECTORS 2
#else
#    define BLOCK_VECTORS 4
#endif
#define BLOCK ((size_t)BLOCK_VECTORS * VECTOR_BYTES)

struct block {
    vec a, b;
#if BLOCK_VECTORS == 4
    vec c, d;
#endif
};

FASTMM_INLINE struct block load_block(const unsigned char *p)
{
    struct block x;
    x.a = *(const vec *)p;
    x.b = *(const vec *)(p + VECTOR_BYTES);
#if BLOCK_VECTORS == 4
    x.c = *(const vec *)(p + 2 * VECTOR_BYTES);
    x.d = *(const vec *)(p + 3 * VECTOR_BYTES);
#endif
    return x;
}

FASTMM_INLINE void store_block(unsigned char *p, struct block x)
{
    *(vec *)p = x.a;
    *(vec *)(p + VECTOR_BYTES) = x.b;
#if BLOCK_VECTORS == 4
    *(vec *)(p + 2 * VECTOR_BYTES) = x.c;
    *(vec *)(p + 3 * VECTOR_BYTES) = x.d;
#endif
}

FASTMM_INLINE void store_block_aligned(unsigned char *p, struct block x)
{
    *(vec_aligned *)p = x.a;
    *(vec_aligned *)(p + VECTOR_BYTES) = x.b;
#if BLOCK_VECTORS == 4
    *(vec_aligned *)(p + 2 * VECTOR_BYTES) = x.c;
    *(vec_aligned *)(p + 3 * VECTOR_BYTES) = x.d;
#endif
}

/* The largest size of copy_upto4(), if it is larger than that of the inline body. */
#define UPTO4 ((size_t)4 * VECTOR_BYTES)

/* 1 to 4 vectors; `inner` moves the middle ones outward as the size grows. */
FASTMM_INLINE void copy_upto4(unsigned char *d, const unsigned char *s, size_t n)
{
    size_t inner = (n >> 1) & (3 * VECTOR_BYTES), last = n - VECTOR_BYTES;
    vec a = *(const vec *)s, b = *(const vec *)(s + inner);
    vec c = *(const vec *)(s + last - inner), e = *(const vec *)(s + last);
    *(vec *)d = a;
    *(vec *)(d + inner) = b;
    *(vec *)(d + last - inner) = c;
    *(vec *)(d + last) = e;
}

/* 1 to 2 blocks. */
FASTMM_INLINE void copy_two_blocks(unsigned char *d, const unsigned char *s, size_t n)
{
    struct block head = load_block(s), tail = load_block(s + n - BLOCK);
    store_block(d, head);
    store_block(d + n - BLOCK, tail);
}

/* `aligned` is d or s, whichever the loop is to meet at whole vectors. */
FASTMM_INLINE void copy_forward(unsigned char *d, const unsigned char *s, size_t n,
                                const unsigned char *aligned)
{
    unsigned char *end = d + n - BLOCK;
    struct block tail = load_block(s + n - BLOCK);
    vec head = *(const vec *)s;
    size_t skip = VECTOR_BYTES - ((uintptr_t)aligned & (VECTOR_BYTES - 1));
    unsigned char *to = d + skip;
    for (s += skip; to < end; to += BLOCK, s += BLOCK)
        store_block(to, load_block(s));
    store_block(end, tail);
    *(vec *)d = head;
}

static void copy_backward(unsigned char *d, const unsigned char *s, size_t n)
{
    struct block head = load_block(s);
    vec tail = *(const vec *)(s + n - VECTOR_BYTES);
    size_t left = n - ((((uintptr_t)d + n - 1) & (VECTOR_BYTES - 1)) + 1);
    for (; left > BLOCK; left -= BLOCK)
        store_block_aligned(d + left - BLOCK, load_block(s + left - BLOCK));
    *(vec *)(d + n - VECTOR_BYTES) = tail;
    store_block(d, head);
}

FASTMM_INLINE void *move_aligning(void *dst, const void *src, size_t n, const void *aligned)
{
    unsigned char *d = (unsigned char *)dst;
    const unsigned char *s = (const unsigned char *)src;
    if (n <= 64)
        fastmm_copy_upto64(dst, src, n);
    else if (UPTO4 > 64 && n <= UPTO4)
        copy_upto4(d, s, n);
    else if (2 * BLOCK > UPTO4 && n <= 2 * BLOCK)
        copy_two_blocks(d, s, n);
    else if (fastmm_copy_backward(dst, src, n))
        copy_backward(d, s, n);
    else
        copy_forward(d, s, n, (const unsigned char *)aligned);
    return dst;
}

static void *move(void *dst, const void *src, size_t n)
{
    return move_aligning(dst, src, n, dst);
}

FASTMM_INLINE vec splat(int value)
{
    typedef unsigned char bytes __attribute__((vector_size(VECTOR_BYTES)));
    return (vec)((bytes){0} + (unsigned char)value);
}

static void *fill(void *dst, int value, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
    if (n <= 64) {
        fastmm_fill_upto64(dst, value, n);
        return dst;
    }
    vec x = splat(value);
    struct block block = {
        x,
        x
#if BLOCK_VECTORS == 4
        ,
        x,
        x
#endif
    };
    if (UPTO4 > 64 && n <= UPTO4) {
        size_t inner = (n >> 1) & (3 * VECTOR_BYTES), last = n - VECTOR_BYTES;
        *(vec *)d = x;
        *(vec *)(d + inner) = x;
        *(vec *)(d + last - inner) = x;
        *(vec *)(d + last) = x;
        return dst;
    }
    unsigned char *end = d + n - BLOCK;
    *(vec *)d = x;
    for (unsigned char *to = d + VECTOR_BYTES - ((uintptr_t)d & (VECTOR_BYTES - 1)); to < end;
         to += BLOCK)
        store_block_aligned(to, block);
    store_block(end, block);
    return dst;
}

#endif
