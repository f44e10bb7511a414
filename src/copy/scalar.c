/* SPDX-License-Identifier: MIT */
/*
 * Eight bytes at a time in plain C: for architectures without an implementation of their own, and
 * the yardstick that the others are tested against. The compiler must not turn these loops into
 * calls of memcpy() or memset(), which may be ours: src/copy/CMakeLists.txt says so to it.
 */
#include "copy/impl.h"

#define LOAD(p)     FASTMM_COPY_LOAD(struct fastmm_copy_u64, p)
#define STORE(p, x) FASTMM_COPY_STORE(struct fastmm_copy_u64, p, x)

static void forward(unsigned char *dst, const unsigned char *src, size_t n)
{
    struct fastmm_copy_u64 tail = LOAD(src + n - 8);
    for (size_t i = 0; i + 8 < n; i += 8)
        STORE(dst + i, LOAD(src + i));
    STORE(dst + n - 8, tail);
}

static void backward(unsigned char *dst, const unsigned char *src, size_t n)
{
    struct fastmm_copy_u64 head = LOAD(src);
    for (size_t i = n; i > 8; i -= 8)
        STORE(dst + i - 8, LOAD(src + i - 8));
    STORE(dst, head);
}

static void *move(void *dst, const void *src, size_t n)
{
    if (n < 8)
        fastmm_copy_upto7((unsigned char *)dst, (const unsigned char *)src, n);
    else if (fastmm_copy_backward(dst, src, n))
        backward((unsigned char *)dst, (const unsigned char *)src, n);
    else
        forward((unsigned char *)dst, (const unsigned char *)src, n);
    return dst;
}

static void *fill(void *dst, int value, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
    if (n < 16) {
        fastmm_fill_upto64(dst, value, n);
        return dst;
    }
    struct fastmm_copy_u64 word = {(uint64_t)(unsigned char)value * 0x0101010101010101u};
    for (size_t i = 0; i + 8 < n; i += 8)
        STORE(d + i, word);
    STORE(d + n - 8, word);
    return dst;
}

const struct fastmm_copy_ops fastmm_copy_ops_scalar = {.copy = move, .move = move, .fill = fill};
