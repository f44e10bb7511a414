/* SPDX-License-Identifier: MIT */
/*
 * What each way writes, and that it touches nothing else: every size over every pair of offsets,
 * flush against guard pages, and every overlap. The seeded part of it by default, all of it with
 * FASTMM_TEST_LONG=1.
 */
#include "arena.h"
#include "test_main.h"
#include "ways.h"

#include <fastmm/copy.h>

#include <stdint.h>
#include <string.h>

#define SIZE_END 4201
#define OFFSETS  64
#define CANARY   128

/* The bytes around a block that must stay, and their value. */
#define CANARY_BYTE 0xa5

static struct arena source, target;
static unsigned char canary[CANARY];

static void prepare(void)
{
    source = arena_make(4 * ARENA_PAGE);
    target = arena_make(4 * ARENA_PAGE);
    arena_pattern(source.data, source.size, 1);
    memset(target.data, CANARY_BYTE, target.size);
    memset(canary, CANARY_BYTE, CANARY);
}

static void check_around(const struct way *way, const unsigned char *dst, size_t n)
{
    const unsigned char *end = target.data + target.size;
    size_t before = (size_t)(dst - target.data), after = (size_t)(end - dst) - n;
    before = before < CANARY ? before : CANARY;
    after = after < CANARY ? after : CANARY;
    if (memcmp(dst - before, canary, before) != 0 || memcmp(dst + n, canary, after) != 0)
        ck_abort_msg("%s: n=%zu dst=%p: wrote outside", way->name, n, (const void *)dst);
}

static void try_copy(const struct way *way, void (*copy)(void *, const void *, size_t),
                     unsigned char *dst, const unsigned char *src, size_t n)
{
    copy(dst, src, n);
    if (memcmp(dst, src, n) != 0)
        ck_abort_msg("%s: n=%zu dst=%p src=%p: wrong bytes", way->name, n, (void *)dst,
                     (const void *)src);
    check_around(way, dst, n);
    memset(dst, CANARY_BYTE, n);
}

static void try_fill(const struct way *way, unsigned char *dst, size_t n)
{
    int value = way->only_zero ? 0 : 0x100 + (int)(n * 7 % 255);
    way->fill(dst, value, n);
    for (size_t i = 0; i < n; i++)
        if (dst[i] != (unsigned char)value)
            ck_abort_msg("%s: n=%zu dst=%p: wrong byte %zu", way->name, n, (void *)dst, i);
    check_around(way, dst, n);
    memset(dst, CANARY_BYTE, n);
}

static void try_all(const struct way *way, unsigned char *dst, const unsigned char *src, size_t n)
{
    if (way->copy)
        try_copy(way, way->copy, dst, src, n);
    if (way->move)
        try_copy(way, way->move, dst, src, n);
    if (way->fill)
        try_fill(way, dst, n);
}

/* Sizes at which routes within an implementation change, and their neighbours, are never left out.
 */
static int is_edge(size_t n)
{
    size_t below = n & 63;
    return n <= 300 || below <= 1 || below == 63;
}

START_TEST(every_size_at_offsets)
{
    const struct way *way = way_or_skip(_i);
    uint64_t random = test_seed() + (uint64_t)_i;
    prepare();
    for (size_t n = 0; n < SIZE_END; n++) {
        if (test_long()) {
            for (size_t pair = 0; pair < OFFSETS * OFFSETS; pair++)
                try_all(way, target.data + CANARY + pair / OFFSETS,
                        source.data + CANARY + pair % OFFSETS, n);
            continue;
        }
        for (int tries = is_edge(n) ? 8 : 1; tries > 0; tries--) {
            uint64_t r = test_random(&random);
            try_all(way, target.data + CANARY + r % OFFSETS,
                    source.data + CANARY + (r >> 32) % OFFSETS, n);
        }
    }
}
END_TEST

/* Each block begins or ends flush with a guard page, or straddles a page boundary. */
START_TEST(every_size_beside_guard_pages)
{
    const struct way *way = way_or_skip(_i);
    prepare();
    for (size_t n = 0; n < SIZE_END; n++) {
        unsigned char *to[] = {target.data, target.data + target.size - n,
                               target.data + 2 * ARENA_PAGE - n / 2};
        const unsigned char *from[] = {source.data, source.data + source.size - n,
                                       source.data + 2 * ARENA_PAGE - n / 3};
        for (int i = 0; i < 9; i++)
            if (test_long() || is_edge(n) || i % 4 == 0)
                try_all(way, to[i / 3], from[i % 3], n);
    }
}
END_TEST

/* One move by `distance` within a buffer that ends flush with guard pages on both sides. */
static void try_overlap(const struct way *way, size_t n, ptrdiff_t distance)
{
    static unsigned char expected[2 * SIZE_END];
    size_t apart = (size_t)(distance < 0 ? -distance : distance), span = n + apart;
    unsigned char *base = target.data + target.size - span;
    unsigned char *src = distance < 0 ? base + apart : base, *dst = src + distance;
    arena_pattern(base, span, (unsigned)n);
    memcpy(expected, base, span);
    memmove(expected + (dst - base), expected + (src - base), n);
    way->move(dst, src, n);
    if (memcmp(base, expected, span) != 0)
        ck_abort_msg("%s: move n=%zu by %td is wrong", way->name, n, distance);
}

START_TEST(every_overlap)
{
    const struct way *way = way_or_skip(_i);
    uint64_t random = test_seed() + (uint64_t)_i;
    if (!way->move)
        return;
    prepare();
    for (ptrdiff_t n = 0; n < SIZE_END; n++) {
        if (test_long() || n <= 150) {
            for (ptrdiff_t distance = -n; distance <= n; distance++)
                try_overlap(way, (size_t)n, distance);
            continue;
        }
        for (int tries = 6; tries > 0; tries--) {
            uint64_t r = test_random(&random);
            /* Half of them within two lines, where vectors overlap themselves. */
            ptrdiff_t reach = r >> 63 ? n : 128;
            reach = reach < n ? reach : n;
            try_overlap(way, (size_t)n, (ptrdiff_t)(r % (uint64_t)(2 * reach + 1)) - reach);
        }
    }
}
END_TEST

/* Offsets of whole pages and lines, where loads meet the low address bits of earlier stores. */
START_TEST(aliasing_blocks)
{
    const struct way *way = way_or_skip(_i);
    prepare();
    if (!way->copy)
        return;
    for (size_t alias = 0; alias < 600; alias += alias < 70 ? 1 : 37)
        for (size_t n = 1; n < 2 * ARENA_PAGE; n += n / 7 + 1)
            try_copy(way, way->copy, target.data + CANARY + alias, source.data + CANARY, n);
}
END_TEST

/* Beyond the thresholds of every route that this CPU may take by itself. */
START_TEST(large_sizes)
{
    const struct way *way = way_or_skip(_i);
    static const size_t sizes[] = {20000, 65536, 100001, (1 << 20) + 63, (3 << 20) + 17};
    prepare();
    struct arena from = arena_make((4 << 20) + ARENA_PAGE);
    arena_free(&target);
    target = arena_make((4 << 20) + ARENA_PAGE);
    memset(target.data, CANARY_BYTE, target.size);
    arena_pattern(from.data, from.size, 3);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t offset = 0; offset < 70; offset += 23) {
            size_t n = sizes[i];
            try_all(way, target.data + offset, from.data + offset / 2, n);
            try_all(way, target.data + target.size - n - offset, from.data + from.size - n, n);
        }
}
END_TEST

/* M13: small sizes with unaligned ends, over all offsets of a line. */
START_TEST(small_sizes_over_all_offsets)
{
    const struct way *way = way_or_skip(_i);
    prepare();
    for (size_t n = 0; n <= 512; n++)
        for (size_t pair = 0; pair < OFFSETS * OFFSETS; pair += test_long() ? 1 : 61)
            try_all(way, target.data + CANARY + pair / OFFSETS,
                    source.data + CANARY + pair % OFFSETS, n);
}
END_TEST

/* M15: nothing is read, written or concluded from pointers of a block of 0 bytes. */
START_TEST(zero_bytes_at_any_pointer)
{
    const struct way *way = way_or_skip(_i);
    unsigned char byte = 77;
    struct {
        void *dst;
        const void *src;
    } pairs[] = {{NULL, NULL},
                 {&byte, NULL},
                 {NULL, &byte},
                 {(void *)1, (void *)3},
                 {(void *)-1, (void *)-64}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (way->copy)
            way->copy(pairs[i].dst, pairs[i].src, 0);
        if (way->move)
            way->move(pairs[i].dst, pairs[i].src, 0);
        if (way->fill)
            way->fill(pairs[i].dst, 0, 0);
    }
    ck_assert_uint_eq(byte, 77);
}
END_TEST

/* A compiler that took "not NULL" from the call would drop the test after it. */
static __attribute__((noinline)) int is_null_after(void *p, size_t n)
{
    fastmm_copy(p, p, n);
    fastmm_move(p, NULL, n);
    fastmm_clear(p, n);
    fastmm_fill_call(p, 1, n);
    if (!p)
        return 1;
    return 0;
}

START_TEST(zero_bytes_say_nothing_of_null)
{
    unsigned char byte = 0;
    ck_assert_int_eq(is_null_after(NULL, 0), 1);
    ck_assert_int_eq(is_null_after(&byte, 0), 0);
    ck_assert_ptr_null(fastmm_copy(NULL, NULL, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.impl");
    const TTest *whole[] = {every_size_at_offsets, every_size_beside_guard_pages, every_overlap,
                            aliasing_blocks, large_sizes};
    const TTest *m13[] = {small_sizes_over_all_offsets};
    const TTest *m15[] = {zero_bytes_at_any_pointer};
    add_way_cases(suite, whole, sizeof(whole) / sizeof(whole[0]));
    add_known_case(suite, "M13", m13, 1);
    add_known_case(suite, "M15", m15, 1);
    TCase *null = tcase_create("M15");
    tcase_add_test(null, zero_bytes_say_nothing_of_null);
    suite_add_tcase(suite, null);
    return test_main(suite);
}
