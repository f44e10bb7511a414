/* SPDX-License-Identifier: MIT */
/*
 * One implementation for vectors of VECTOR_BYTES, which the including file defines: the bodies of
 * sse2.c, avx2.c and avx512.c differ in nothing else.
 *
 * A copy is composed from blocks. Up to 64 bytes: the inline body. Up to 4 vectors: four that
 * overlap as the size demands, without a branch on it. Up to 8: four from each end. Above: a loop
 * of 4 over aligned destinations, with the unaligned ends loaded before the first store and stored
 * after the last, which makes both directions right for overlapping blocks too. Copy and move are
 * therefore one function.
 */
#ifndef FASTMM_SRC_COPY_VECTOR_H
#define FASTMM_SRC_COPY_VECTOR_H

#include "copy/impl.h"

typedef uint64_t vec __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));
typedef uint64_t vec_aligned
    __attribute__((vector_size(VECTOR_BYTES), aligned(VECTOR_BYTES), may_alias));

struct vec4 {
    vec a, b, c, d;
};

#define VECTOR_STEP ((size_t)4 * VECTOR_BYTES)

FASTMM_INLINE struct vec4 load4(const unsigned char *p)
{
    struct vec4 x = {*(const vec *)p, *(const vec *)(p + VECTOR_BYTES),
                     *(const vec *)(p + 2 * VECTOR_BYTES), *(const vec *)(p + 3 * VECTOR_BYTES)};
    return x;
}

FASTMM_INLINE void store4(unsigned char *p, struct vec4 x)
{
    *(vec *)p = x.a;
    *(vec *)(p + VECTOR_BYTES) = x.b;
    *(vec *)(p + 2 * VECTOR_BYTES) = x.c;
    *(vec *)(p + 3 * VECTOR_BYTES) = x.d;
}

FASTMM_INLINE void store4_aligned(unsigned char *p, struct vec4 x)
{
    *(vec_aligned *)p = x.a;
    *(vec_aligned *)(p + VECTOR_BYTES) = x.b;
    *(vec_aligned *)(p + 2 * VECTOR_BYTES) = x.c;
    *(vec_aligned *)(p + 3 * VECTOR_BYTES) = x.d;
}

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

/* 4 to 8 vectors. */
FASTMM_INLINE void copy_upto8(unsigned char *d, const unsigned char *s, size_t n)
{
    struct vec4 head = load4(s), tail = load4(s + n - VECTOR_STEP);
    store4(d, head);
    store4(d + n - VECTOR_STEP, tail);
}

static void copy_forward(unsigned char *d, const unsigned char *s, size_t n)
{
    unsigned char *end = d + n - VECTOR_STEP;
    struct vec4 tail = load4(s + n - VECTOR_STEP);
    vec head = *(const vec *)s;
    size_t skip = VECTOR_BYTES - ((uintptr_t)d & (VECTOR_BYTES - 1));
    unsigned char *to = d + skip;
    for (s += skip; to < end; to += VECTOR_STEP, s += VECTOR_STEP)
        store4_aligned(to, load4(s));
    store4(end, tail);
    *(vec *)d = head;
}

static void copy_backward(unsigned char *d, const unsigned char *s, size_t n)
{
    struct vec4 head = load4(s);
    vec tail = *(const vec *)(s + n - VECTOR_BYTES);
    size_t left = n - ((((uintptr_t)d + n - 1) & (VECTOR_BYTES - 1)) + 1);
    for (; left > VECTOR_STEP; left -= VECTOR_STEP)
        store4_aligned(d + left - VECTOR_STEP, load4(s + left - VECTOR_STEP));
    *(vec *)(d + n - VECTOR_BYTES) = tail;
    store4(d, head);
}

static void *move(void *dst, const void *src, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
    const unsigned char *s = (const unsigned char *)src;
    if (n <= 64)
        fastmm_copy_upto64(dst, src, n);
    else if (VECTOR_STEP > 64 && n <= VECTOR_STEP)
        copy_upto4(d, s, n);
    else if (n <= 2 * VECTOR_STEP)
        copy_upto8(d, s, n);
    else if (fastmm_copy_backward(dst, src, n))
        copy_backward(d, s, n);
    else
        copy_forward(d, s, n);
    return dst;
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
    struct vec4 x4 = {x, x, x, x};
    if (VECTOR_STEP > 64 && n <= VECTOR_STEP) {
        size_t inner = (n >> 1) & (3 * VECTOR_BYTES), last = n - VECTOR_BYTES;
        *(vec *)d = x;
        *(vec *)(d + inner) = x;
        *(vec *)(d + last - inner) = x;
        *(vec *)(d + last) = x;
        return dst;
    }
    unsigned char *end = d + n - VECTOR_STEP;
    *(vec *)d = x;
    for (unsigned char *to = d + VECTOR_BYTES - ((uintptr_t)d & (VECTOR_BYTES - 1)); to < end;
         to += VECTOR_STEP)
        store4_aligned(to, x4);
    store4(end, x4);
    return dst;
}

#endif
