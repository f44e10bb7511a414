/* SPDX-License-Identifier: MIT */
/* The string instruction, inlined: what "fast short rep movsb" promises to make enough. */
#include <stddef.h>

static inline void rep_movsb(void *d, const void *s, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
}

#define RIVAL         copy_rep_movsb
#define RIVAL_NAME    "rep_movsb"
#define COPY(d, s, n) rep_movsb(d, s, n)
#include "copy/loops.h"
