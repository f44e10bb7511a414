/* SPDX-License-Identifier: MIT */
/* The string instruction that clears, inlined. */
#include <stddef.h>

static inline void rep_stosb(void *d, size_t n)
{
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(0) : "memory");
}

#define RIVAL       copy_rep_stosb
#define RIVAL_NAME  "rep_stosb"
#define CLEAR(d, n) rep_stosb(d, n)
#include "copy/loops.h"
