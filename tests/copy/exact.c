/* SPDX-License-Identifier: MIT */
#include "exact.h"

#include "arena.h"

#include <fastmm/copy.h>

#include <check.h>
#include <string.h>

static void check_size(struct arena *to, const struct arena *from, size_t n, int at_end)
{
    unsigned char *dst = at_end ? to->data + to->size - n : to->data;
    const unsigned char *src = at_end ? from->data + from->size - n : from->data;
    fastmm_copy(dst, src, n);
    if (memcmp(dst, src, n) != 0)
        ck_abort_msg("copy of %zu bytes is wrong", n);

    size_t by = n / 3 < 100 ? n / 3 : 100;
    fastmm_move(dst + by, dst, n - by);
    if (memcmp(dst + by, src, n - by) != 0 || memcmp(dst, src, by) != 0)
        ck_abort_msg("move of %zu bytes by %zu is wrong", n - by, by);

    fastmm_clear(dst, n);
    if (n && (dst[0] != 0 || memcmp(dst, dst + 1, n - 1) != 0))
        ck_abort_msg("clear of %zu bytes is wrong", n);
}

void check_every_size(size_t end)
{
    struct arena from = arena_make(end), to = arena_make(end);
    arena_pattern(from.data, from.size, 5);
    for (size_t n = 0; n < end; n++)
        for (int at_end = 0; at_end <= 1; at_end++)
            check_size(&to, &from, n, at_end);
    arena_free(&from);
    arena_free(&to);
}
