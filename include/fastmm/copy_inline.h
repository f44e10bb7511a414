/* SPDX-License-Identifier: MIT */
/*
 * The inline bodies of copy.h: what lands in the caller's code. Included by copy.h only.
 *
 * A caller is usually compiled for baseline x86-64, so the bodies up to 64 bytes are plain C on
 * 16-byte vectors, which every such CPU has; other architectures compile the same lines. Above, two
 * 64-byte registers do, in inline assembly behind one predictable test of a cached level: a
 * function with a target attribute wouldn't be inlined here. The assembly keeps to registers 16-31
 * and mask registers, which need no clean-up for the SSE code around it.
 *
 * Sizes 8 to 64 run without a branch on the size: two words at the ends and four overlapping
 * vectors. At unpredictable sizes one mispredicted branch costs more than all the stores that are
 * superfluous. Vectors can't be had of less than 16 bytes, so below that they go from a block of
 * zeros to a block on the stack. All loads come before the first store, so the same body serves
 * move. No masked stores: see fastmm_copy_masked().
 */
#ifndef FASTMM_COPY_INLINE_H
#define FASTMM_COPY_INLINE_H

#include <fastmm/copy.h>

/* Set where each access must be visible to a sanitizer that instruments the caller. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define FASTMM_COPY_SANITIZED 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
        __has_feature(thread_sanitizer)
#        define FASTMM_COPY_SANITIZED 1
#    endif
#endif
#ifndef FASTMM_COPY_SANITIZED
#    define FASTMM_COPY_SANITIZED 0
#endif

/* What inline bodies may use on this CPU. */
#define FASTMM_COPY_LEVEL_UNKNOWN 0 /* nobody has looked yet */
#define FASTMM_COPY_LEVEL_BASE    1 /* what every CPU of the architecture has */
#define FASTMM_COPY_LEVEL_EVEX    2 /* AVX-512 F, BW and VL, and BMI2 */

#define fastmm_copy_level FASTMM_EPOCH_NAME(fastmm_copy_level, FASTMM_COPY_EPOCH)
#define fastmm_copy_large FASTMM_EPOCH_NAME(fastmm_copy_large, FASTMM_COPY_EPOCH)
#define fastmm_move_large FASTMM_EPOCH_NAME(fastmm_move_large, FASTMM_COPY_EPOCH)
#define fastmm_fill_large FASTMM_EPOCH_NAME(fastmm_fill_large, FASTMM_COPY_EPOCH)
#define fastmm_copy_check FASTMM_EPOCH_NAME(fastmm_copy_check, FASTMM_COPY_EPOCH)

FASTMM_BEGIN_DECLS

/* The level in force, FASTMM_COPY_LEVEL_*. */
FASTMM_API extern uint32_t fastmm_copy_level;

/* Any size, fast above 64 bytes. They return dst. */
FASTMM_API void *fastmm_copy_large(void *dst, const void *src, size_t n);
FASTMM_API void *fastmm_move_large(void *dst, const void *src, size_t n);
FASTMM_API void *fastmm_fill_large(void *dst, int value, size_t n);

/* 1 if the call may go on, 0 if it was refused; op is enum fastmm_copy_op. */
FASTMM_API int fastmm_copy_check(uint32_t op, const void *dst, const void *src, size_t n);

FASTMM_END_DECLS

#ifdef FASTMM_CHECKED
#    define FASTMM_COPY_ACCEPTED(op, dst, src, n) FASTMM_LIKELY(fastmm_copy_check(op, dst, src, n))
#else
#    define FASTMM_COPY_ACCEPTED(op, dst, src, n) 1
#endif

/* Accesses at any address, to objects of any type. */
typedef uint64_t fastmm_copy_v16 __attribute__((vector_size(16), aligned(1), may_alias));
struct fastmm_copy_u64 {
    uint64_t v;
} __attribute__((packed, may_alias));
struct fastmm_copy_u32 {
    uint32_t v;
} __attribute__((packed, may_alias));

#define FASTMM_COPY_LOAD(type, p)     (*(const type *)(p))
#define FASTMM_COPY_STORE(type, p, x) (*(type *)(p) = (x))

/* The distance of the middle vectors from the ends, for 16 <= n <= 64. */
#define FASTMM_COPY_INNER(n) (((n) >> 1) & 0x30)

FASTMM_INLINE void fastmm_copy_upto7(unsigned char *dst, const unsigned char *src, size_t n)
{
    if (n >= 4) {
        struct fastmm_copy_u32 a = FASTMM_COPY_LOAD(struct fastmm_copy_u32, src);
        struct fastmm_copy_u32 b = FASTMM_COPY_LOAD(struct fastmm_copy_u32, src + n - 4);
        FASTMM_COPY_STORE(struct fastmm_copy_u32, dst, a);
        FASTMM_COPY_STORE(struct fastmm_copy_u32, dst + n - 4, b);
    } else if (n != 0) {
        unsigned char a = src[0], b = src[n >> 1], c = src[n - 1];
        dst[0] = a;
        dst[n >> 1] = b;
        dst[n - 1] = c;
    }
}

/* Stand-ins for a source and a destination that are too short for a vector. */
struct fastmm_copy_spare {
    fastmm_copy_v16 before, after;
};

/*
 * Copy or move of n <= 64 bytes. Addresses are numbers here, as below 16 bytes the last vector
 * starts before the first. They are chosen by conditional moves, which compilers don't make of the
 * plain expression. The words go first: whoever loads more than a word soon finds a vector.
 */
FASTMM_INLINE void fastmm_copy_upto64(void *dst, const void *src, size_t n)
{
    static const struct fastmm_copy_spare zeros = {{0, 0}, {0, 0}};
    struct fastmm_copy_spare spare;
    unsigned char *d = (unsigned char *)dst;
    const unsigned char *s = (const unsigned char *)src;
    if (n < 8) {
        fastmm_copy_upto7(d, s, n);
        return;
    }
    uintptr_t to = (uintptr_t)d, from = (uintptr_t)s;
#ifdef __x86_64__
    __asm__("cmp $16, %2\n\t"
            "cmovb %3, %0\n\t"
            "cmovb %4, %1"
            : "+r"(to), "+r"(from)
            : "r"(n), "r"(&spare.after), "r"(&zeros.after)
            : "cc");
#else
    to = n < 16 ? (uintptr_t)&spare.after : to;
    from = n < 16 ? (uintptr_t)&zeros.after : from;
#endif
    size_t second = FASTMM_COPY_INNER(n), last = n - 16, third = last - second;
    struct fastmm_copy_u64 first_word = FASTMM_COPY_LOAD(struct fastmm_copy_u64, s);
    struct fastmm_copy_u64 last_word = FASTMM_COPY_LOAD(struct fastmm_copy_u64, s + n - 8);
    fastmm_copy_v16 a = FASTMM_COPY_LOAD(fastmm_copy_v16, from);
    fastmm_copy_v16 b = FASTMM_COPY_LOAD(fastmm_copy_v16, from + second);
    fastmm_copy_v16 c = FASTMM_COPY_LOAD(fastmm_copy_v16, from + third);
    fastmm_copy_v16 e = FASTMM_COPY_LOAD(fastmm_copy_v16, from + last);
    FASTMM_COPY_STORE(struct fastmm_copy_u64, d, first_word);
    FASTMM_COPY_STORE(struct fastmm_copy_u64, d + n - 8, last_word);
    FASTMM_COPY_STORE(fastmm_copy_v16, to, a);
    FASTMM_COPY_STORE(fastmm_copy_v16, to + second, b);
    FASTMM_COPY_STORE(fastmm_copy_v16, to + third, c);
    FASTMM_COPY_STORE(fastmm_copy_v16, to + last, e);
    __asm__ volatile("" : : "m"(spare)); /* its life ends after those stores */
}

/* Fill of n <= 64 bytes with the low byte of value. */
FASTMM_INLINE void fastmm_fill_upto64(void *dst, int value, size_t n)
{
    unsigned char *d = (unsigned char *)dst;
    struct fastmm_copy_u64 word = {(uint64_t)(unsigned char)value * 0x0101010101010101u};
    if (n >= 16) {
        size_t inner = FASTMM_COPY_INNER(n), last = n - 16;
        fastmm_copy_v16 v = {word.v, word.v};
        FASTMM_COPY_STORE(fastmm_copy_v16, d, v);
        FASTMM_COPY_STORE(fastmm_copy_v16, d + inner, v);
        FASTMM_COPY_STORE(fastmm_copy_v16, d + last - inner, v);
        FASTMM_COPY_STORE(fastmm_copy_v16, d + last, v);
    } else if (n >= 8) {
        FASTMM_COPY_STORE(struct fastmm_copy_u64, d, word);
        FASTMM_COPY_STORE(struct fastmm_copy_u64, d + n - 8, word);
    } else if (n >= 4) {
        struct fastmm_copy_u32 half = {(uint32_t)word.v};
        FASTMM_COPY_STORE(struct fastmm_copy_u32, d, half);
        FASTMM_COPY_STORE(struct fastmm_copy_u32, d + n - 4, half);
    } else if (n != 0) {
        d[0] = (unsigned char)value;
        d[n >> 1] = (unsigned char)value;
        d[n - 1] = (unsigned char)value;
    }
}

#if defined(__x86_64__) && !FASTMM_COPY_SANITIZED
#    define FASTMM_COPY_EVEX 1

/* Registers that code compiled for baseline x86-64 can't be using, or may name. */
#    ifdef __AVX512F__
#        define FASTMM_COPY_EVEX_CLOBBERS "memory", "xmm16", "xmm17", "k1"
#    else
#        define FASTMM_COPY_EVEX_CLOBBERS "memory"
#    endif

FASTMM_INLINE uint32_t fastmm_copy_level_now(void)
{
    return __atomic_load_n(&fastmm_copy_level, __ATOMIC_RELAXED);
}

/* Copy or move of 64 <= n <= 128 bytes. */
FASTMM_INLINE void fastmm_copy_evex_upto128(void *dst, const void *src, size_t n)
{
    __asm__ volatile("vmovdqu64 (%1), %%zmm16\n\t"
                     "vmovdqu64 -64(%1, %2), %%zmm17\n\t"
                     "vmovdqu64 %%zmm16, (%0)\n\t"
                     "vmovdqu64 %%zmm17, -64(%0, %2)"
                     :
                     : "r"(dst), "r"(src), "r"(n)
                     : FASTMM_COPY_EVEX_CLOBBERS);
}

/*
 * Whether an access of `reach` bytes leaves the page. A masked one that does may take a hundred
 * nanoseconds when the next page isn't mapped, although nothing there is selected.
 */
FASTMM_INLINE int fastmm_copy_leaves_page(const void *p, size_t reach)
{
    return ((uintptr_t)p & 4095) > 4096 - reach;
}

/* Copy of 1 <= n <= 128 bytes, none within 128 bytes of a page's end. */
FASTMM_INLINE void fastmm_copy_evex_masked(void *dst, const void *src, size_t n)
{
    uint64_t mask = ~(uint64_t)0;
    if (n <= 64) {
        __asm__ volatile("bzhi %3, %0, %0\n\t"
                         "kmovq %0, %%k1\n\t"
                         "vmovdqu8 (%2), %%zmm16%{%%k1%}%{z%}\n\t"
                         "vmovdqu8 %%zmm16, (%1)%{%%k1%}"
                         : "+r"(mask)
                         : "r"(dst), "r"(src), "r"((uint64_t)n)
                         : FASTMM_COPY_EVEX_CLOBBERS);
    } else {
        __asm__ volatile("bzhi %3, %0, %0\n\t"
                         "kmovq %0, %%k1\n\t"
                         "vmovdqu64 (%2), %%zmm16\n\t"
                         "vmovdqu8 64(%2), %%zmm17%{%%k1%}%{z%}\n\t"
                         "vmovdqu64 %%zmm16, (%1)\n\t"
                         "vmovdqu8 %%zmm17, 64(%1)%{%%k1%}"
                         : "+r"(mask)
                         : "r"(dst), "r"(src), "r"((uint64_t)n - 64)
                         : FASTMM_COPY_EVEX_CLOBBERS);
    }
}

/* What fills: a register, which is sooner ready when it is cleared than when it is broadcast to. */
#    define FASTMM_FILL_ZERO  "vpxord %%zmm16, %%zmm16, %%zmm16\n\t"
#    define FASTMM_FILL_VALUE "vpbroadcastb %[value], %%zmm16\n\t"
#    define FASTMM_FILL_MASKED            \
        "bzhi %[n], %[mask], %[mask]\n\t" \
        "kmovq %[mask], %%k1\n\t"         \
        "vmovdqu8 %%zmm16, (%[dst])%{%%k1%}"
#    define FASTMM_FILL_ENDS              \
        "vmovdqu64 %%zmm16, (%[dst])\n\t" \
        "vmovdqu64 %%zmm16, -64(%[dst], %[n])"

/* Fill of 1 <= n <= 64 bytes, none within 64 bytes of a page's end. */
FASTMM_INLINE void fastmm_fill_evex_masked(void *dst, int value, size_t n)
{
    uint64_t mask = ~(uint64_t)0;
    if (__builtin_constant_p(value) && value == 0)
        __asm__ volatile(FASTMM_FILL_ZERO FASTMM_FILL_MASKED
                         : [mask] "+r"(mask)
                         : [dst] "r"(dst), [n] "r"((uint64_t)n)
                         : FASTMM_COPY_EVEX_CLOBBERS);
    else
        __asm__ volatile(FASTMM_FILL_VALUE FASTMM_FILL_MASKED
                         : [mask] "+r"(mask)
                         : [dst] "r"(dst), [n] "r"((uint64_t)n), [value] "r"(value)
                         : FASTMM_COPY_EVEX_CLOBBERS);
}

/* Fill of 64 <= n <= 128 bytes. */
FASTMM_INLINE void fastmm_fill_evex_upto128(void *dst, int value, size_t n)
{
    if (__builtin_constant_p(value) && value == 0)
        __asm__ volatile(FASTMM_FILL_ZERO FASTMM_FILL_ENDS
                         :
                         : [dst] "r"(dst), [n] "r"(n)
                         : FASTMM_COPY_EVEX_CLOBBERS);
    else
        __asm__ volatile(FASTMM_FILL_VALUE FASTMM_FILL_ENDS
                         :
                         : [dst] "r"(dst), [n] "r"(n), [value] "r"(value)
                         : FASTMM_COPY_EVEX_CLOBBERS);
}
#else
#    define FASTMM_COPY_EVEX 0
#endif

/* Whether the compiler knows a size that it expands better than any run-time test. */
#define FASTMM_COPY_CONSTANT(n) (__builtin_constant_p(n) && (n) <= FASTMM_COPY_INLINE_MAX)

FASTMM_INLINE void *fastmm_copy(void *dst, const void *src, size_t n)
{
    if (!FASTMM_COPY_ACCEPTED(FASTMM_COPY_OP_COPY, dst, src, n))
        return dst;
    if (FASTMM_COPY_SANITIZED || FASTMM_COPY_CONSTANT(n))
        return n ? __builtin_memcpy(dst, src, n) : dst;
    if (FASTMM_LIKELY(n <= 64)) {
        fastmm_copy_upto64(dst, src, n);
        return dst;
    }
#if FASTMM_COPY_EVEX
    if (n <= FASTMM_COPY_INLINE_MAX && fastmm_copy_level_now() == FASTMM_COPY_LEVEL_EVEX) {
        fastmm_copy_evex_upto128(dst, src, n);
        return dst;
    }
#endif
    return fastmm_copy_large(dst, src, n);
}

FASTMM_INLINE void *fastmm_move(void *dst, const void *src, size_t n)
{
    if (!FASTMM_COPY_ACCEPTED(FASTMM_COPY_OP_MOVE, dst, src, n))
        return dst;
    if (FASTMM_COPY_SANITIZED || FASTMM_COPY_CONSTANT(n))
        return n ? __builtin_memmove(dst, src, n) : dst;
    if (FASTMM_LIKELY(n <= 64)) {
        fastmm_copy_upto64(dst, src, n);
        return dst;
    }
#if FASTMM_COPY_EVEX
    if (n <= FASTMM_COPY_INLINE_MAX && fastmm_copy_level_now() == FASTMM_COPY_LEVEL_EVEX) {
        fastmm_copy_evex_upto128(dst, src, n);
        return dst;
    }
#endif
    return fastmm_move_large(dst, src, n);
}

/*
 * Masked stores by default, as C libraries do: what is cleared is mostly written next, not read,
 * and the branches that they save cost more.
 */
FASTMM_INLINE void *fastmm_fill(void *dst, int value, size_t n)
{
    if (!FASTMM_COPY_ACCEPTED(FASTMM_COPY_OP_FILL, dst, NULL, n))
        return dst;
    if (FASTMM_COPY_SANITIZED || FASTMM_COPY_CONSTANT(n))
        return n ? __builtin_memset(dst, value, n) : dst;
#if FASTMM_COPY_EVEX
    /* One test for 0 and for more than 64 bytes: most sizes meet no other. */
    if (FASTMM_LIKELY(n - 1 < 64)) {
        uint32_t level = fastmm_copy_level_now();
        if (FASTMM_LIKELY(level == FASTMM_COPY_LEVEL_EVEX && !fastmm_copy_leaves_page(dst, 64)))
            fastmm_fill_evex_masked(dst, value, n);
        else if (level == FASTMM_COPY_LEVEL_UNKNOWN)
            fastmm_fill_large(dst, value, n);
        else
            fastmm_fill_upto64(dst, value, n);
        return dst;
    }
    if (n <= FASTMM_COPY_INLINE_MAX) {
        if (n == 0)
            return dst;
        if (fastmm_copy_level_now() == FASTMM_COPY_LEVEL_EVEX) {
            fastmm_fill_evex_upto128(dst, value, n);
            return dst;
        }
    }
#else
    if (n <= 64) {
        fastmm_fill_upto64(dst, value, n);
        return dst;
    }
#endif
    return fastmm_fill_large(dst, value, n);
}

FASTMM_INLINE void *fastmm_clear(void *dst, size_t n)
{
    return fastmm_fill(dst, 0, n);
}

FASTMM_INLINE void *fastmm_copy_masked(void *dst, const void *src, size_t n)
{
#if FASTMM_COPY_EVEX && !defined(FASTMM_CHECKED)
    if (n - 1 < FASTMM_COPY_INLINE_MAX) {
        uint32_t level = fastmm_copy_level_now();
        int leaves = fastmm_copy_leaves_page(dst, FASTMM_COPY_INLINE_MAX) |
                     fastmm_copy_leaves_page(src, FASTMM_COPY_INLINE_MAX);
        if (FASTMM_LIKELY(level == FASTMM_COPY_LEVEL_EVEX && !leaves)) {
            fastmm_copy_evex_masked(dst, src, n);
            return dst;
        }
        if (level == FASTMM_COPY_LEVEL_UNKNOWN)
            return fastmm_copy_large(dst, src, n);
    }
#endif
    return fastmm_copy(dst, src, n);
}

#endif
