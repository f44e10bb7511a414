/* SPDX-License-Identifier: MIT */
/*
 * The string instructions. Never backward: with the direction flag set they are tens of times
 * slower than any loop, and a signal handler could see the flag. The flag is cleared first, which
 * costs nothing beside the start of the instruction and keeps the bytes right for a caller that
 * entered with the flag set against the ABI.
 *
 * Under a sanitizer the compiler's instrumentation can't see into the instruction, so a byte loop
 * does the same work.
 */
#include "copy/impl.h"

#ifdef __x86_64__

static void *copy(void *dst, const void *src, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
    const unsigned char *s = (const unsigned char *)src;
#    if FASTMM_COPY_SANITIZED
    for (size_t i = 0; i < n; i++)
        d[i] = s[i];
#    else
    if (n)
        __asm__ volatile("cld\n\trep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory", "cc");
#    endif
    return dst;
}

static void *move(void *dst, const void *src, size_t n)
{
    if ((size_t)((uintptr_t)dst - (uintptr_t)src) < n)
        return fastmm_copy_ops_sse2.move(dst, src, n);
    return copy(dst, src, n);
}

static void *fill(void *dst, int value, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
#    if FASTMM_COPY_SANITIZED
    for (size_t i = 0; i < n; i++)
        d[i] = (unsigned char)value;
#    else
    if (n)
        __asm__ volatile("cld\n\trep stosb" : "+D"(d), "+c"(n) : "a"(value) : "memory", "cc");
#    endif
    return dst;
}

const struct fastmm_copy_ops fastmm_copy_ops_rep = {.copy = copy, .move = move, .fill = fill};
#endif
