/* SPDX-License-Identifier: MIT */
/*
 * Sizes just beyond the inline ones, without a loop and without a second call: where sizes can't be
 * predicted, both of those are mispredicted as well. Assembly as in copy_inline.h, for the same
 * reasons. All loads come before the first store, so that copy and move are one.
 */
#ifndef FASTMM_SRC_COPY_STRAIGHT_H
#define FASTMM_SRC_COPY_STRAIGHT_H

#include <fastmm/copy.h>

#define FASTMM_STRAIGHT_MIN 128
#define FASTMM_STRAIGHT_MAX 512

#if FASTMM_COPY_EVEX
#    ifdef __AVX512F__
#        define FASTMM_STRAIGHT_CLOBBERS \
            "memory", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23"
#    else
#        define FASTMM_STRAIGHT_CLOBBERS "memory"
#    endif

/* n bytes, 128 <= n <= 512. */
static inline void fastmm_copy_straight(void *dst, const void *src, size_t n)
{
    if (n <= 192)
        __asm__ volatile("vmovdqu64 (%1), %%zmm16\n\t"
                         "vmovdqu64 64(%1), %%zmm17\n\t"
                         "vmovdqu64 -64(%1, %2), %%zmm18\n\t"
                         "vmovdqu64 %%zmm16, (%0)\n\t"
                         "vmovdqu64 %%zmm17, 64(%0)\n\t"
                         "vmovdqu64 %%zmm18, -64(%0, %2)"
                         :
                         : "r"(dst), "r"(src), "r"(n)
                         : FASTMM_STRAIGHT_CLOBBERS);
    else if (n <= 256)
        __asm__ volatile("vmovdqu64 (%1), %%zmm16\n\t"
                         "vmovdqu64 64(%1), %%zmm17\n\t"
                         "vmovdqu64 -128(%1, %2), %%zmm18\n\t"
                         "vmovdqu64 -64(%1, %2), %%zmm19\n\t"
                         "vmovdqu64 %%zmm16, (%0)\n\t"
                         "vmovdqu64 %%zmm17, 64(%0)\n\t"
                         "vmovdqu64 %%zmm18, -128(%0, %2)\n\t"
                         "vmovdqu64 %%zmm19, -64(%0, %2)"
                         :
                         : "r"(dst), "r"(src), "r"(n)
                         : FASTMM_STRAIGHT_CLOBBERS);
    else if (n <= 384)
        __asm__ volatile("vmovdqu64 (%1), %%zmm16\n\t"
                         "vmovdqu64 64(%1), %%zmm17\n\t"
                         "vmovdqu64 128(%1), %%zmm18\n\t"
                         "vmovdqu64 -192(%1, %2), %%zmm19\n\t"
                         "vmovdqu64 -128(%1, %2), %%zmm20\n\t"
                         "vmovdqu64 -64(%1, %2), %%zmm21\n\t"
                         "vmovdqu64 %%zmm16, (%0)\n\t"
                         "vmovdqu64 %%zmm17, 64(%0)\n\t"
                         "vmovdqu64 %%zmm18, 128(%0)\n\t"
                         "vmovdqu64 %%zmm19, -192(%0, %2)\n\t"
                         "vmovdqu64 %%zmm20, -128(%0, %2)\n\t"
                         "vmovdqu64 %%zmm21, -64(%0, %2)"
                         :
                         : "r"(dst), "r"(src), "r"(n)
                         : FASTMM_STRAIGHT_CLOBBERS);
    else
        __asm__ volatile("vmovdqu64 (%1), %%zmm16\n\t"
                         "vmovdqu64 64(%1), %%zmm17\n\t"
                         "vmovdqu64 128(%1), %%zmm18\n\t"
                         "vmovdqu64 192(%1), %%zmm19\n\t"
                         "vmovdqu64 -256(%1, %2), %%zmm20\n\t"
                         "vmovdqu64 -192(%1, %2), %%zmm21\n\t"
                         "vmovdqu64 -128(%1, %2), %%zmm22\n\t"
                         "vmovdqu64 -64(%1, %2), %%zmm23\n\t"
                         "vmovdqu64 %%zmm16, (%0)\n\t"
                         "vmovdqu64 %%zmm17, 64(%0)\n\t"
                         "vmovdqu64 %%zmm18, 128(%0)\n\t"
                         "vmovdqu64 %%zmm19, 192(%0)\n\t"
                         "vmovdqu64 %%zmm20, -256(%0, %2)\n\t"
                         "vmovdqu64 %%zmm21, -192(%0, %2)\n\t"
                         "vmovdqu64 %%zmm22, -128(%0, %2)\n\t"
                         "vmovdqu64 %%zmm23, -64(%0, %2)"
                         :
                         : "r"(dst), "r"(src), "r"(n)
                         : FASTMM_STRAIGHT_CLOBBERS);
}

/* The low byte of value n times, 128 <= n <= 512. */
static inline void fastmm_fill_straight(void *dst, int value, size_t n)
{
    if (n <= 256)
        __asm__ volatile("vpbroadcastb %1, %%zmm16\n\t"
                         "vmovdqu64 %%zmm16, (%0)\n\t"
                         "vmovdqu64 %%zmm16, 64(%0)\n\t"
                         "vmovdqu64 %%zmm16, -128(%0, %2)\n\t"
                         "vmovdqu64 %%zmm16, -64(%0, %2)"
                         :
                         : "r"(dst), "r"(value), "r"(n)
                         : FASTMM_STRAIGHT_CLOBBERS);
    else
        __asm__ volatile("vpbroadcastb %1, %%zmm16\n\t"
                         "vmovdqu64 %%zmm16, (%0)\n\t"
                         "vmovdqu64 %%zmm16, 64(%0)\n\t"
                         "vmovdqu64 %%zmm16, 128(%0)\n\t"
                         "vmovdqu64 %%zmm16, 192(%0)\n\t"
                         "vmovdqu64 %%zmm16, -256(%0, %2)\n\t"
                         "vmovdqu64 %%zmm16, -192(%0, %2)\n\t"
                         "vmovdqu64 %%zmm16, -128(%0, %2)\n\t"
                         "vmovdqu64 %%zmm16, -64(%0, %2)"
                         :
                         : "r"(dst), "r"(value), "r"(n)
                         : FASTMM_STRAIGHT_CLOBBERS);
}
#else
/* Never come to: no size is below the ends in struct fastmm_copy_fast. */
static inline void fastmm_copy_straight(void *dst, const void *src, size_t n)
{
    (void)dst, (void)src, (void)n;
}

static inline void fastmm_fill_straight(void *dst, int value, size_t n)
{
    (void)dst, (void)value, (void)n;
}
#endif

#endif
