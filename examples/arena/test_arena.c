/* SPDX-License-Identifier: MIT */
/*
 * The arena in one thread: what its blocks hold, and what its statistics say, against a model and
 * against the kernel.
 */
#include <errno.h>
#include <fastmm/counter.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arena.h"
#include "classes.h"
#include "tally.h"
#include "test_main.h"

static struct arena *create(size_t limit)
{
    struct arena *a;
    ck_assert_int_eq(arena_create(limit, &a), 0);
    return a;
}

static void destroy(struct arena *a)
{
    tally_check(a);
    arena_destroy(a);
    fastmm_counter_trim();
    ck_assert_int_eq(tally_mapped(), (int64_t)fastmm_counter_held());
}

static int fits(size_t n)
{
    unsigned c = class_of(n);
    size_t bytes = class_bytes(c);
    size_t waste = n < 128 ? CLASS_STEP - 1 : n / 4;
    return c < CLASS_COUNT && bytes % CLASS_STEP == 0 && bytes >= n && bytes - n <= waste &&
           (c == 0 || class_bytes(c - 1) < n);
}

START_TEST(classes_fit)
{
    /* Each assertion of Check's is a system call. */
    for (size_t n = 1; n <= CLASS_MAX_BYTES; n++)
        if (!fits(n))
            ck_abort_msg("%zu bytes in class %u", n, class_of(n));
    ck_assert_uint_eq(class_of(0), 0);
}
END_TEST

/* ---- Against a model ---- */

enum { MODEL_BLOCKS = 400 };

struct model {
    struct {
        unsigned char *p;
        size_t size;
        unsigned char seed;
    } blocks[MODEL_BLOCKS];
    int64_t live, allocations, frees;
};

static void fill(unsigned char *p, size_t n, unsigned char seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(seed + i * 7);
}

static void expect(const unsigned char *p, size_t n, unsigned char seed)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(seed + i * 7))
            ck_abort_msg("byte %zu of %zu at %p changed", i, n, (const void *)p);
}

static void expect_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            ck_abort_msg("byte %zu of %zu is not zero", i, n);
}

/* Many small, some large, few huge. */
static size_t some_size(uint64_t *random)
{
    static const size_t most[] = {64, 1024, 1024, CLASS_MAX_BYTES, CLASS_MAX_BYTES, 600 * 1024};
    uint64_t r = test_random(random);
    if (r % 4000 == 0)
        return (size_t)(65 << 20) + (size_t)(r >> 32) % (16 << 20);
    return (size_t)(r >> 16) % most[r % 6];
}

static void *model_alloc(struct arena *a, size_t size, uint64_t how)
{
    if (how % 2)
        return arena_alloc(a, size);
    unsigned char *p = arena_calloc(a, 1, size);
    expect_zero(p, size);
    return p;
}

static void model_step(struct arena *a, struct model *m, uint64_t *random)
{
    uint64_t r = test_random(random);
    size_t k = (size_t)(r >> 8) % MODEL_BLOCKS;
    size_t size = some_size(random);
    unsigned char seed = (unsigned char)(r >> 56);
    if (!m->blocks[k].p) {
        m->blocks[k].p = model_alloc(a, size, r);
        m->allocations++;
    } else {
        expect(m->blocks[k].p, m->blocks[k].size, m->blocks[k].seed);
        m->live -= (int64_t)arena_usable(a, m->blocks[k].p);
        if (r % 3) {
            arena_free(a, m->blocks[k].p);
            m->frees++;
            m->blocks[k].p = NULL;
            return;
        }
        unsigned char *moved = arena_realloc(a, m->blocks[k].p, size);
        expect(moved, size < m->blocks[k].size ? size : m->blocks[k].size, m->blocks[k].seed);
        m->allocations += moved != m->blocks[k].p;
        m->frees += moved != m->blocks[k].p;
        m->blocks[k].p = moved;
    }
    ck_assert_ptr_nonnull(m->blocks[k].p);
    ck_assert_uint_eq((uintptr_t)m->blocks[k].p % 16, 0);
    ck_assert_uint_ge(arena_usable(a, m->blocks[k].p), size);
    m->live += (int64_t)arena_usable(a, m->blocks[k].p);
    m->blocks[k].size = size;
    m->blocks[k].seed = seed;
    fill(m->blocks[k].p, size, seed);
}

static void model_check(struct arena *a, const struct model *m)
{
    struct arena_stats s;
    arena_get_stats(a, &s);
    ck_assert_int_eq(s.live_bytes, m->live);
    ck_assert_int_eq(s.allocations, m->allocations);
    ck_assert_int_eq(s.frees, m->frees);
    tally_check(a);
}

START_TEST(blocks_hold)
{
    static struct model m;
    struct arena *a = create(SIZE_MAX);
    uint64_t random = test_seed();
    for (unsigned step = 0; step < 8000; step++) {
        model_step(a, &m, &random);
        if (step % 500 == 0) {
            arena_purge(a);
            model_check(a, &m);
        }
    }
    for (size_t k = 0; k < MODEL_BLOCKS; k++)
        arena_free(a, m.blocks[k].p);
    struct arena_stats s;
    arena_get_stats(a, &s);
    ck_assert_int_eq(s.live_bytes, 0);
    ck_assert_int_eq(s.allocations, s.frees);
    destroy(a);
}
END_TEST

/* ---- Fresh memory ---- */

static struct arena_stats stats_of(struct arena *a)
{
    struct arena_stats s;
    arena_get_stats(a, &s);
    return s;
}

START_TEST(calloc_clears_only_what_was_used)
{
    static const size_t sizes[] = {48, 4096, CLASS_MAX_BYTES, 128 << 10, 8 << 20, 80 << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct arena *a = create(SIZE_MAX);
        int64_t bytes = (int64_t)sizes[i];
        int huge = sizes[i] > 64 << 20;

        unsigned char *p = arena_calloc(a, 1, sizes[i]);
        ck_assert_int_eq(stats_of(a).fresh, bytes);
        ck_assert_int_eq(stats_of(a).cleared, 0);
        memset(p, 0xa5, sizes[i]);
        arena_free(a, p);
        p = arena_calloc(a, 1, sizes[i]);
        expect_zero(p, sizes[i]);
        ck_assert_int_eq(stats_of(a).cleared, huge ? 0 : bytes);
        ck_assert_int_eq(stats_of(a).fresh, huge ? 2 * bytes : bytes);
        arena_free(a, p);
        destroy(a);
    }
}
END_TEST

/* Of a block over spans of which the middle one was used, the middle is cleared and no more. */
START_TEST(calloc_clears_only_the_spans_that_were_used)
{
    enum { SPAN = 64 << 10 };
    struct arena *a = create(SIZE_MAX);
    char *first = arena_alloc(a, SPAN), *middle = arena_alloc(a, SPAN);
    ck_assert_ptr_eq(middle, first + SPAN);
    memset(middle, 0xa5, SPAN);
    memset(first, 0xa5, SPAN);
    arena_free(a, first);
    arena_purge(a);
    arena_free(a, middle);
    unsigned char *p = arena_calloc(a, 3, SPAN);
    ck_assert_ptr_eq(p, first);
    expect_zero(p, 3 * SPAN);
    ck_assert_int_eq(stats_of(a).cleared, SPAN);
    ck_assert_int_eq(stats_of(a).fresh, 2 * SPAN);
    arena_free(a, p);
    destroy(a);
}
END_TEST

START_TEST(purged_memory_is_fresh)
{
    struct arena *a = create(SIZE_MAX);
    size_t size = 8 << 20;
    void *keep = arena_alloc(a, 100 << 10);
    unsigned char *p = arena_alloc(a, size);
    memset(p, 0xa5, size);
    int64_t committed = stats_of(a).committed;
    arena_free(a, p);
    ck_assert_uint_eq(arena_purge(a), size);
    ck_assert_uint_eq(arena_purge(a), 0);
    ck_assert_int_eq(stats_of(a).purged, (int64_t)size);
    ck_assert_int_eq(stats_of(a).committed, committed - (int64_t)size);
    p = arena_calloc(a, 2, size / 2);
    ck_assert_int_eq(stats_of(a).cleared, 0);
    expect_zero(p, size);
    arena_free(a, p);
    arena_free(a, keep);
    destroy(a);
}
END_TEST

START_TEST(empty_arena_maps_its_tables_only)
{
    struct arena *a = create(SIZE_MAX);
    int64_t before = stats_of(a).mapped;
    void *p = arena_alloc(a, 100 << 20);
    arena_free(a, p);
    ck_assert_int_eq(stats_of(a).mapped, before);
    p = arena_alloc(a, 1 << 20);
    arena_free(a, p);
    arena_purge(a);
    ck_assert_int_eq(stats_of(a).mapped, before);
    destroy(a);
}
END_TEST

/* ---- What is impossible ---- */

static void refuses(void *p)
{
    ck_assert_ptr_null(p);
    ck_assert_int_eq(errno, ENOMEM);
    errno = 0;
}

START_TEST(absurd_sizes)
{
    struct arena *a = create(SIZE_MAX);
    void *p = arena_alloc(a, 100);
    fill(p, 100, 3);
    struct arena_stats before = stats_of(a);
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 65535, SIZE_MAX / 2 + 1, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        refuses(arena_alloc(a, sizes[i]));
        refuses(arena_calloc(a, 1, sizes[i]));
        refuses(arena_calloc(a, sizes[i], 1));
        refuses(arena_realloc(a, p, sizes[i]));
    }
    refuses(arena_calloc(a, (size_t)1 << 32, (size_t)1 << 32));
    refuses(arena_calloc(a, (SIZE_MAX / 48) + 2, 48));
    expect(p, 100, 3);
    struct arena_stats after = stats_of(a);
    ck_assert_mem_eq(&before, &after, sizeof(before));
    destroy(a);
}
END_TEST

START_TEST(limit_is_reached_and_not_passed)
{
    enum { N = 1000 };
    struct arena *a = create(N * 64);
    void *p[N];
    for (unsigned i = 0; i < N; i++) {
        p[i] = arena_alloc(a, 50 + i % 15);
        ck_assert_ptr_nonnull(p[i]);
    }
    ck_assert_int_eq(stats_of(a).live_bytes, N * 64);
    refuses(arena_alloc(a, 1));
    refuses(arena_calloc(a, 1, 1));
    refuses(arena_realloc(a, p[0], 65));
    ck_assert_int_eq(stats_of(a).live_bytes, N * 64);
    arena_free(a, p[7]);
    refuses(arena_alloc(a, 65));
    p[7] = arena_alloc(a, 64);
    ck_assert_ptr_nonnull(p[7]);
    refuses(arena_alloc(a, 100 << 20));
    destroy(a);

    a = create(0);
    refuses(arena_alloc(a, 0));
    destroy(a);
}
END_TEST

static rlim_t address_space(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%llu", &pages), 1);
    fclose(f);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

START_TEST(address_space_is_exhausted)
{
    enum { N = 100 };
    struct arena *a = create(SIZE_MAX);
    void *p[N];
    struct rlimit old, tight;
    getrlimit(RLIMIT_AS, &old);
    tight = old;
    tight.rlim_cur = address_space() + ((rlim_t)600 << 20);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &tight), 0);
    errno = 0;
    unsigned n = 0;
    while (n < N && (p[n] = arena_alloc(a, 20 << 20)))
        n++;
    if (n == N)
        test_skip("RLIMIT_AS does not limit this process");
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_uint_gt(n, 0);
    refuses(arena_alloc(a, 100 << 20));
    tally_check(a);
    arena_free(a, p[n - 1]);
    p[n - 1] = arena_alloc(a, 20 << 20);
    ck_assert_ptr_nonnull(p[n - 1]);
    setrlimit(RLIMIT_AS, &old);
    while (n > 0)
        arena_free(a, p[--n]);
    arena_purge(a);
    ck_assert_int_eq(stats_of(a).live_bytes, 0);
    destroy(a);
}
END_TEST

/* ---- Each call of the kernel fails once, then all from one on ---- */

static void work(struct arena *a)
{
    static const size_t sizes[] = {100, 30000, 70000, 10 << 20, 70 << 20, 90 << 20, 60 << 20};
    enum { N = sizeof(sizes) / sizeof(sizes[0]) };
    void *p[N];
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N; i++) {
            p[i] = arena_alloc(a, sizes[i]);
            if (p[i])
                memset(p[i], 1, 100);
        }
        void *moved = p[2] ? arena_realloc(a, p[2], 500000) : NULL;
        if (moved)
            p[2] = moved;
        tally_check(a);
        for (unsigned i = 0; i < N; i++)
            arena_free(a, p[i]);
        arena_purge(a);
        tally_check(a);
    }
}

static void fail_each(unsigned more)
{
    struct arena *a = create(SIZE_MAX);
    unsigned before = tally_calls();
    work(a);
    unsigned calls = tally_calls() - before;
    destroy(a);
    ck_assert_uint_gt(calls, 20);
    for (unsigned k = 0; k <= calls; k++) {
        a = create(SIZE_MAX);
        tally_fail(tally_calls() + k, more);
        work(a);
        tally_fail(UINT_MAX, 0);
        arena_purge(a);
        tally_check(a);
        work(a);
        arena_destroy(a);
        tally_reset();
    }
}

START_TEST(kernel_refuses_once)
{
    fail_each(0);
}
END_TEST

START_TEST(kernel_refuses_from_then_on)
{
    fail_each(1000000);
}
END_TEST

START_TEST(creation_fails_whole)
{
    for (unsigned k = 0; k < 2; k++) {
        struct arena *a = NULL;
        tally_fail(tally_calls() + k, 0);
        ck_assert_int_eq(arena_create(SIZE_MAX, &a), -ENOMEM);
        ck_assert_ptr_null(a);
        ck_assert_int_eq(tally_mapped(), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tc = tcase_create("arena");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, classes_fit);
    tcase_add_test(tc, blocks_hold);
    tcase_add_test(tc, calloc_clears_only_what_was_used);
    tcase_add_test(tc, calloc_clears_only_the_spans_that_were_used);
    tcase_add_test(tc, purged_memory_is_fresh);
    tcase_add_test(tc, empty_arena_maps_its_tables_only);
    tcase_add_test(tc, absurd_sizes);
    tcase_add_test(tc, limit_is_reached_and_not_passed);
    tcase_add_test(tc, address_space_is_exhausted);
    tcase_add_test(tc, kernel_refuses_once);
    tcase_add_test(tc, kernel_refuses_from_then_on);
    tcase_add_test(tc, creation_fails_whole);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
