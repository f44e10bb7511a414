/* SPDX-License-Identifier: MIT */
/* What the claim inlines into its callers: one string instruction, whatever the size. */
#ifndef FASTMM_BENCH_CLAIMS_COPY_REP_H
#define FASTMM_BENCH_CLAIMS_COPY_REP_H

#include <stddef.h>

static inline __attribute__((always_inline)) void copy_rep(void *dst, const void *src, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}

static inline __attribute__((always_inline)) void clear_rep(void *dst, size_t n)
{
    __asm__ volatile("rep stosb" : "+D"(dst), "+c"(n) : "a"(0) : "memory");
}

void copy_rep_call(void *dst, const void *src, size_t n);
void clear_rep_call(void *dst, size_t n);

#endif
