/* SPDX-License-Identifier: MIT */
/*
 * Memory that notices: whole pages between two pages that nobody may touch, so that one byte too
 * far on either side is a fault.
 */
#ifndef FASTMM_TESTS_COPY_ARENA_H
#define FASTMM_TESTS_COPY_ARENA_H

#include <stddef.h>

#define ARENA_PAGE 4096

struct arena {
    unsigned char *data; /* page-aligned */
    size_t size;         /* bytes, a multiple of the page */
};

/* Room for at least `size` bytes, zeroed. Fails the running test if the system has no memory. */
struct arena arena_make(size_t size);

void arena_free(struct arena *arena);

/* Fills n bytes with a pattern that differs between neighbours, pages and seeds. */
void arena_pattern(unsigned char *p, size_t n, unsigned seed);

#endif
