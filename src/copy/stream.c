/* SPDX-License-Identifier: MIT */
/*
 * Non-temporal stores: whole lines written past the cache, without reading them first. They are
 * weakly ordered, so each exit after one goes through sfence (Intel SDM volume 1, 10.4.6.2); blocks
 * too short to hold a line are done by plain stores and need none.
 *
 * 16-byte stores do: the CPU merges them to whole lines before they leave the core.
 */
#include "copy/impl.h"

#ifdef __x86_64__

#    include <emmintrin.h>

#    define LINE 64

typedef uint64_t line_part __attribute__((vector_size(16), aligned(16), may_alias));

/* Sanitizers of some compilers don't instrument the non-temporal store. */
FASTMM_INLINE void stream16(unsigned char *to, fastmm_copy_v16 x)
{
#    if FASTMM_COPY_SANITIZED
    *(line_part *)to = x;
#    else
    _mm_stream_si128((__m128i *)(void *)to, (__m128i)x);
#    endif
}

FASTMM_INLINE void stream_line(unsigned char *to, fastmm_copy_v16 a, fastmm_copy_v16 b,
                               fastmm_copy_v16 c, fastmm_copy_v16 d)
{
    stream16(to, a);
    stream16(to + 16, b);
    stream16(to + 32, c);
    stream16(to + 48, d);
}

/* The bytes before the first whole line of the destination. */
FASTMM_INLINE size_t head_of(const void *dst)
{
    return -(uintptr_t)dst & (LINE - 1);
}

static void *copy(void *dst, const void *src, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
    const unsigned char *s = (const unsigned char *)src;
    size_t head = head_of(dst);
    if (n < head + LINE)
        return fastmm_copy_ops_sse2.copy(dst, src, n);

    fastmm_copy_upto64(d, s, head);
    size_t done = head;
    for (; n - done >= LINE; done += LINE) {
        const unsigned char *from = s + done;
        stream_line(d + done, FASTMM_COPY_LOAD(fastmm_copy_v16, from),
                    FASTMM_COPY_LOAD(fastmm_copy_v16, from + 16),
                    FASTMM_COPY_LOAD(fastmm_copy_v16, from + 32),
                    FASTMM_COPY_LOAD(fastmm_copy_v16, from + 48));
    }
    fastmm_copy_upto64(d + done, s + done, n - done);
    _mm_sfence();
    return dst;
}

static void *move(void *dst, const void *src, size_t n)
{
    uintptr_t distance = (uintptr_t)dst - (uintptr_t)src;
    if (distance < n || -distance < n)
        return fastmm_copy_ops_sse2.move(dst, src, n);
    return copy(dst, src, n);
}

static void *fill(void *dst, int value, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
    size_t head = head_of(dst);
    if (n < head + LINE)
        return fastmm_copy_ops_sse2.fill(dst, value, n);

    fastmm_fill_upto64(d, value, head);
    uint64_t word = (uint64_t)(unsigned char)value * 0x0101010101010101u;
    fastmm_copy_v16 x = {word, word};
    size_t done = head;
    for (; n - done >= LINE; done += LINE)
        stream_line(d + done, x, x, x, x);
    fastmm_fill_upto64(d + done, value, n - done);
    _mm_sfence();
    return dst;
}

const struct fastmm_copy_ops fastmm_copy_ops_stream = {.copy = copy, .move = move, .fill = fill};
#endif
