/* SPDX-License-Identifier: MIT */
/*
 * Sizes of small blocks: steps of 16 up to 128 bytes, then four steps for each doubling, so that
 * rounding up wastes less than a fifth.
 */
#ifndef ARENA_CLASSES_H
#define ARENA_CLASSES_H

#include <stddef.h>

enum { CLASS_STEP = 16, CLASS_LINEAR = 8, CLASS_COUNT = 40, CLASS_MAX_BYTES = 32768 };

/* The class for a block of n <= CLASS_MAX_BYTES bytes. */
static inline unsigned class_of(size_t n)
{
    if (n <= CLASS_STEP * CLASS_LINEAR)
        return n ? (unsigned)((n - 1) / CLASS_STEP) : 0;
    unsigned log = 63 - (unsigned)__builtin_clzll(n - 1); /* 2^log < n <= 2^(log + 1) */
    unsigned quarter = (unsigned)((n - 1) >> (log - 2)) & 3;
    return CLASS_LINEAR + (log - 7) * 4 + quarter;
}

static inline size_t class_bytes(unsigned c)
{
    if (c < CLASS_LINEAR)
        return CLASS_STEP * (c + (size_t)1);
    unsigned log = 7 + (c - CLASS_LINEAR) / 4;
    return ((size_t)5 + (c - CLASS_LINEAR) % 4) << (log - 2);
}

#endif
