/* SPDX-License-Identifier: MIT */
/*
 * What a careful person writes in an afternoon: 32-byte vectors in a loop, overlapping ends, size
 * classes below. Chosen at build time for a CPU with AVX2, so that it may be inlined.
 */
#include <fastmm/cpu.h>

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

static inline void copy_ends(unsigned char *d, const unsigned char *s, size_t n, size_t part)
{
    unsigned char a[16], b[16];
    memcpy(a, s, part);
    memcpy(b, s + n - part, part);
    memcpy(d, a, part);
    memcpy(d + n - part, b, part);
}

static inline void vector_copy(unsigned char *d, const unsigned char *s, size_t n)
{
    if (n >= 32) {
        __m256i tail = _mm256_loadu_si256((const __m256i *)(const void *)(s + n - 32));
        for (size_t i = 0; i + 32 < n; i += 32)
            _mm256_storeu_si256((__m256i *)(void *)(d + i),
                                _mm256_loadu_si256((const __m256i *)(const void *)(s + i)));
        _mm256_storeu_si256((__m256i *)(void *)(d + n - 32), tail);
    } else if (n >= 16) {
        copy_ends(d, s, n, 16);
    } else if (n >= 8) {
        copy_ends(d, s, n, 8);
    } else if (n >= 4) {
        copy_ends(d, s, n, 4);
    } else if (n >= 2) {
        copy_ends(d, s, n, 2);
    } else if (n == 1) {
        *d = *s;
    }
}

#define RIVAL         copy_vector_loop
#define RIVAL_NAME    "vector_loop"
#define RIVAL_NEEDS   ((uint64_t)1 << FASTMM_CPU_AVX2)
#define COPY(d, s, n) vector_copy(d, s, n)
#include "copy/loops.h"
