/* SPDX-License-Identifier: MIT */
/*
 * Non-temporal stores: whole lines written past the cache, without reading them first. They are
 * weakly ordered, so each exit after one goes through sfence (Intel SDM volume 1, 10.4.6.2); blocks
 * too short to hold a line are done by plain stores and need none.
 *
 * 16-byte stores would do, since the CPU merges them to whole lines before they leave the core. One
 * store a line is 8 to 12 % faster all the same where there are registers for it (Zen 5, copies of
 * 64 KiB to 128 MiB).
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

/* As many whole lines as n bytes hold, one at least. Returns the bytes done. Assembly as in
 * copy_inline.h, for the same reasons. */
static size_t copy_lines(unsigned char *d, const unsigned char *s, size_t n)
{
    size_t done = 0;
#    if FASTMM_COPY_EVEX
    int wide = fastmm_copy_level_now() == FASTMM_COPY_LEVEL_EVEX;
    for (; wide && n - done >= LINE; done += LINE)
        __asm__ volatile("vmovdqu64 (%1), %%zmm16\n\t"
                         "vmovntdq %%zmm16, (%0)"
                         :
                         : "r"(d + done), "r"(s + done)
                         : FASTMM_COPY_EVEX_CLOBBERS);
#    endif
    for (; n - done >= LINE; done += LINE)
        stream_line(d + done, FASTMM_COPY_LOAD(fastmm_copy_v16, s + done),
                    FASTMM_COPY_LOAD(fastmm_copy_v16, s + done + 16),
                    FASTMM_COPY_LOAD(fastmm_copy_v16, s + done + 32),
                    FASTMM_COPY_LOAD(fastmm_copy_v16, s + done + 48));
    return done;
}

static size_t fill_lines(unsigned char *d, int value, size_t n)
{
    size_t bytes = n & ~(size_t)(LINE - 1);
#    if FASTMM_COPY_EVEX
    if (fastmm_copy_level_now() == FASTMM_COPY_LEVEL_EVEX) {
        unsigned char *to = d;
        __asm__ volatile("vpbroadcastb %[value], %%zmm16\n"
                         "1:\tvmovntdq %%zmm16, (%[to])\n\t"
                         "add $64, %[to]\n\t"
                         "cmp %[end], %[to]\n\t"
                         "jne 1b"
                         : [to] "+r"(to)
                         : [end] "r"(d + bytes), [value] "r"(value)
                         : FASTMM_COPY_EVEX_CLOBBERS, "cc");
        return bytes;
    }
#    endif
    uint64_t word = (uint64_t)(unsigned char)value * 0x0101010101010101u;
    fastmm_copy_v16 x = {word, word};
    for (size_t done = 0; done < bytes; done += LINE)
        stream_line(d + done, x, x, x, x);
    return bytes;
}

static void *copy(void *dst, const void *src, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
    const unsigned char *s = (const unsigned char *)src;
    size_t head = head_of(dst);
    if (n < head + LINE)
        return fastmm_copy_ops_sse2.copy(dst, src, n);

    fastmm_copy_upto64(d, s, head);
    size_t done = head + copy_lines(d + head, s + head, n - head);
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
    size_t done = head + fill_lines(d + head, value, n - head);
    fastmm_fill_upto64(d + done, value, n - done);
    _mm_sfence();
    return dst;
}

const struct fastmm_copy_ops fastmm_copy_ops_stream = {.copy = copy, .move = move, .fill = fill};
#endif
