/* SPDX-License-Identifier: MIT */
#include "tune_ops.h"

#include <fastmm/copy.h>
#include <string.h>

#if defined(__x86_64__)

#    include <immintrin.h>

bool tune_has_rep(void)
{
    return true;
}

void tune_rep_copy(void *dst, const void *src, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}

void tune_rep_clear(void *dst, const void *src, size_t n)
{
    (void)src;
    __asm__ volatile("rep stosb" : "+D"(dst), "+c"(n) : "a"(0) : "memory");
}

bool tune_has_masks(void)
{
    return fastmm_cpu_has(fastmm_cpu_native(), FASTMM_CPU_AVX512BW);
}

__attribute__((target("avx512f,avx512bw"))) void tune_masked_store(void *dst, const void *src,
                                                                   size_t n)
{
    (void)src;
    _mm512_mask_storeu_epi8(dst, (UINT64_C(1) << n) - 1, _mm512_setzero_si512());
}

__attribute__((target("avx512f,avx512bw"))) void tune_masked_load(void *dst, const void *src,
                                                                  size_t n)
{
    (void)dst;
    __m512i value = _mm512_maskz_loadu_epi8((UINT64_C(1) << n) - 1, src);
    __asm__ volatile("" : : "v"(value));
}

#else

bool tune_has_rep(void)
{
    return false;
}

bool tune_has_masks(void)
{
    return false;
}

/* Never called here: the tests above say so. */
void tune_rep_copy(void *dst, const void *src, size_t n)
{
    memcpy(dst, src, n);
}

void tune_rep_clear(void *dst, const void *src, size_t n)
{
    (void)src;
    memset(dst, 0, n);
}

void tune_masked_store(void *dst, const void *src, size_t n)
{
    tune_rep_copy(dst, src, n);
}

void tune_masked_load(void *dst, const void *src, size_t n)
{
    tune_rep_copy(dst, src, n);
}

#endif

/* Through pointers that the compiler can't see through: it must not expand the calls itself. */
static void *(*volatile libc_copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile libc_set)(void *, int, size_t) = memset;

void tune_libc_copy(void *dst, const void *src, size_t n)
{
    libc_copy(dst, src, n);
}

void tune_libc_clear(void *dst, const void *src, size_t n)
{
    (void)src;
    libc_set(dst, 0, n);
}

void tune_own_copy(void *dst, const void *src, size_t n)
{
    fastmm_copy_call(dst, src, n);
}

void tune_own_clear(void *dst, const void *src, size_t n)
{
    (void)src;
    fastmm_clear_call(dst, n);
}

void tune_stream_copy(void *dst, const void *src, size_t n)
{
    fastmm_copy_stream(dst, src, n);
}

void tune_stream_clear(void *dst, const void *src, size_t n)
{
    (void)src;
    fastmm_clear_stream(dst, n);
}
