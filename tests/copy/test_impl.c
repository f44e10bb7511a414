/* SPDX-License-Identifier: MIT */
/*
 * What each way writes, and that it touches nothing else: every size over every pair of offsets,
 * flush against guard pages and across a page's end, and every overlap. The seeded part of it by
 * default, all of it with FASTMM_TEST_LONG=1; CK_RUN_CASE=<way> takes one way, so that the long
 * form can run in parallel.
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

/* No block of a test is larger: half of the memory that it takes. */
#define MOST_MEMORY ((uint64_t)64 << 20)

/* The bytes around a block that must stay, and their value. */
#define CANARY_BYTE 0xa5

static struct arena source, target;

/* Canaries, and what a source holds: as many as the blocks and the whole target have bytes. */
static unsigned char canary[4 * ARENA_PAGE], pattern[3 * SIZE_END];

static void prepare(void)
{
    source = arena_make(4 * ARENA_PAGE);
    target = arena_make(4 * ARENA_PAGE);
    arena_pattern(source.data, source.size, 1);
    arena_pattern(pattern, sizeof(pattern), 2);
    memset(target.data, CANARY_BYTE, target.size);
    memset(canary, CANARY_BYTE, sizeof(canary));
}

/* ---- One call ------------------------------------------------------------------------------- */

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

static void try_copies(const struct way *way, unsigned char *dst, const unsigned char *src,
                       size_t n)
{
    if (way->copy)
        try_copy(way, way->copy, dst, src, n);
    if (way->move)
        try_copy(way, way->move, dst, src, n);
}

static void try_fill(const struct way *way, unsigned char *dst, size_t n)
{
    int value = way->only_zero ? 0 : 0x100 + (int)(n * 7 % 255);
    if (!way->fill)
        return;
    way->fill(dst, value, n);
    if (n && (dst[0] != (unsigned char)value || memcmp(dst, dst + 1, n - 1) != 0))
        ck_abort_msg("%s: n=%zu dst=%p: wrong bytes", way->name, n, (void *)dst);
    check_around(way, dst, n);
    memset(dst, CANARY_BYTE, n);
}

static void try_all(const struct way *way, unsigned char *dst, const unsigned char *src, size_t n)
{
    try_copies(way, dst, src, n);
    try_fill(way, dst, n);
}

/* ---- Sizes and places ----------------------------------------------------------------------- */

/* `offset` bytes behind the guard page in front or before the one behind, or a little before the
 * end of a page. */
enum { AT_START, AT_END, ACROSS_PAGES, PLACES };

static unsigned char *place(const struct arena *arena, size_t where, size_t offset, size_t n)
{
    if (where == AT_START)
        return arena->data + offset;
    if (where == AT_END)
        return arena->data + arena->size - n - offset;
    return arena->data + 2 * ARENA_PAGE - 1 - offset;
}

/* Sizes at which routes within an implementation change, and their neighbours, are never left out.
 */
static int is_edge(size_t n)
{
    size_t below = n & 63;
    return n <= 300 || below <= 1 || below == 63;
}

/* Every pair of places and offsets. */
static void try_everywhere(const struct way *way, size_t n)
{
    for (size_t to = 0; to < PLACES * OFFSETS; to++) {
        unsigned char *dst = place(&target, to / OFFSETS, to % OFFSETS, n);
        for (size_t from = 0; from < PLACES * OFFSETS; from++)
            try_copies(way, dst, place(&source, from / OFFSETS, from % OFFSETS, n), n);
        try_fill(way, dst, n);
    }
}

/* The flush ones of each pair of places, and some at random. */
static void try_some_places(const struct way *way, size_t n, uint64_t *random)
{
    for (size_t i = 0; i < PLACES * PLACES; i++)
        if (is_edge(n) || i % (PLACES + 1) == 0)
            try_all(way, place(&target, i / PLACES, 0, n), place(&source, i % PLACES, 0, n), n);
    for (int tries = is_edge(n) ? 8 : 1; tries > 0; tries--) {
        uint64_t r = test_random(random);
        try_all(way, place(&target, r % PLACES, r >> 8 & (OFFSETS - 1), n),
                place(&source, (r >> 16) % PLACES, r >> 32 & (OFFSETS - 1), n), n);
    }
}

START_TEST(every_size_everywhere)
{
    const struct way *way = way_or_skip(_i);
    uint64_t random = test_seed() + (uint64_t)_i;
    prepare();
    for (size_t n = 0; n < SIZE_END; n++) {
        if (test_long())
            try_everywhere(way, n);
        else
            try_some_places(way, n, &random);
        if (memcmp(target.data, canary, target.size) != 0)
            ck_abort_msg("%s: n=%zu: wrote far outside", way->name, n);
    }
}
END_TEST

/* ---- Overlap -------------------------------------------------------------------------------- */

/*
 * One move by `distance`, source and destination flush with the guard page before or behind. The
 * destination holds what the source held; what belongs to the source alone hasn't changed.
 */
static void try_overlap(const struct way *way, size_t n, ptrdiff_t distance, int at_end)
{
    size_t apart = (size_t)(distance < 0 ? -distance : distance), span = n + apart;
    unsigned char *base = place(&target, at_end ? AT_END : AT_START, 0, span);
    size_t src = distance < 0 ? apart : 0, dst = distance < 0 ? 0 : apart;
    size_t rest = distance < 0 ? n : 0;
    memcpy(base, pattern, span);
    way->move(base + dst, base + src, n);
    if (memcmp(base + dst, pattern + src, n) != 0 ||
        memcmp(base + rest, pattern + rest, apart) != 0)
        ck_abort_msg("%s: move n=%zu by %td is wrong", way->name, n, distance);
    check_around(way, base, span);
    memset(base, CANARY_BYTE, span);
}

START_TEST(every_overlap)
{
    const struct way *way = way_or_skip(_i);
    uint64_t random = test_seed() + (uint64_t)_i;
    prepare();
    for (ptrdiff_t n = 0; n < SIZE_END; n++) {
        if (test_long() || n <= 150) {
            for (ptrdiff_t distance = -n; distance <= n; distance++)
                for (int at_end = 0; at_end <= 1; at_end++)
                    try_overlap(way, (size_t)n, distance, at_end);
            continue;
        }
        for (int tries = 6; tries > 0; tries--) {
            uint64_t r = test_random(&random);
            /* Half of them within two lines, where vectors overlap themselves. */
            ptrdiff_t reach = r >> 63 ? n : 128;
            reach = reach < n ? reach : n;
            try_overlap(way, (size_t)n, (ptrdiff_t)(r % (uint64_t)(2 * reach + 1)) - reach,
                        tries & 1);
        }
    }
}
END_TEST

/* ---- Larger --------------------------------------------------------------------------------- */

/* Offsets of whole pages and lines, where loads meet the low address bits of earlier stores. */
START_TEST(aliasing_blocks)
{
    const struct way *way = way_or_skip(_i);
    prepare();
    for (size_t alias = 0; alias < 600; alias += alias < 70 ? 1 : 37)
        for (size_t n = 1; n < 2 * ARENA_PAGE; n += n / 7 + 1)
            try_copy(way, way->copy, target.data + CANARY + alias, source.data + CANARY, n);
}
END_TEST

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

/* A byte below and above each threshold that the plan in force has. */
START_TEST(around_each_threshold)
{
    const struct way *way = way_or_skip(_i);
    struct fastmm_copy_plan plan;
    fastmm_copy_plan_get(&plan);
    const uint64_t thresholds[] = {plan.copy.rep_min.bytes, plan.copy.rep_end.bytes,
                                   plan.copy.stream_min.bytes, plan.fill.rep_min.bytes,
                                   plan.fill.stream_min.bytes};
    prepare();
    for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
        if (thresholds[i] > MOST_MEMORY)
            continue;
        struct arena from = arena_make((size_t)thresholds[i] + ARENA_PAGE);
        arena_free(&target);
        target = arena_make(from.size);
        memset(target.data, CANARY_BYTE, target.size);
        arena_pattern(from.data, from.size, 4);
        for (size_t n = (size_t)thresholds[i] - 1; n <= thresholds[i] + 1; n++)
            try_all(way, target.data + 77, from.data + 2048, n);
        arena_free(&from);
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

static int has_copy(const struct way *way)
{
    return way->copy != NULL;
}

static int has_move(const struct way *way)
{
    return way->move != NULL;
}

static int follows_plan(const struct way *way)
{
    return way->impl < 0;
}

int main(void)
{
    Suite *suite = suite_create("copy.impl");
    const struct way_test whole[] = {{every_size_everywhere, NULL},
                                     {every_overlap, has_move},
                                     {aliasing_blocks, has_copy},
                                     {large_sizes, NULL},
                                     {around_each_threshold, follows_plan}};
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
