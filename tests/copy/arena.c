/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "arena.h"

#include <check.h>
#include <sys/mman.h>

struct arena arena_make(size_t size)
{
    size_t pages = (size + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE;
    unsigned char *all =
        mmap(NULL, pages + (size_t)2 * ARENA_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(all, MAP_FAILED);
    ck_assert_int_eq(mprotect(all + ARENA_PAGE, pages, PROT_READ | PROT_WRITE), 0);
    struct arena arena = {all + ARENA_PAGE, pages};
    return arena;
}

void arena_free(struct arena *arena)
{
    munmap(arena->data - ARENA_PAGE, arena->size + (size_t)2 * ARENA_PAGE);
}

void arena_pattern(unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        unsigned x = ((unsigned)i + seed * 40503u) * 2654435761u;
        p[i] = (unsigned char)(x >> 24 ^ x >> 11);
    }
}
