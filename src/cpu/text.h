/* SPDX-License-Identifier: MIT */
/* Text without the C library: decoding may run before it is ready. */
#ifndef FASTMM_SRC_CPU_TEXT_H
#define FASTMM_SRC_CPU_TEXT_H

static inline int same_text(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

#endif
