/* SPDX-License-Identifier: MIT */
#include "ways.h"

#include "copy/impl.h"
#include "test_main.h"

#include <fastmm/copy.h>

/* Millions of calls: Check's own assertions make a system call each. */
static inline void succeeds(int error)
{
    if (error != 0)
        ck_abort_msg("failed with %d", error);
}

static inline void returns(const void *returned, const void *dst)
{
    if (returned != dst)
        ck_abort_msg("returned %p, not %p", returned, dst);
}

#define IMPL(id, name)                                            \
    static void name##_copy(void *dst, const void *src, size_t n) \
    {                                                             \
        succeeds(fastmm_copy_with(id, dst, src, n));              \
    }                                                             \
    static void name##_move(void *dst, const void *src, size_t n) \
    {                                                             \
        succeeds(fastmm_move_with(id, dst, src, n));              \
    }                                                             \
    static void name##_fill(void *dst, int value, size_t n)       \
    {                                                             \
        succeeds(fastmm_fill_with(id, dst, value, n));            \
    }

IMPL(FASTMM_COPY_SCALAR, scalar)
IMPL(FASTMM_COPY_SSE2, sse2)
IMPL(FASTMM_COPY_AVX2, avx2)
IMPL(FASTMM_COPY_AVX512, avx512)
IMPL(FASTMM_COPY_REP, rep)
IMPL(FASTMM_COPY_STREAM, stream)

/* Calls that return their first argument. */
#define CALL2(way, call)                                  \
    static void way(void *dst, const void *src, size_t n) \
    {                                                     \
        returns(call(dst, src, n), dst);                  \
    }
#define FILL(way, call)                             \
    static void way(void *dst, int value, size_t n) \
    {                                               \
        returns(call(dst, value, n), dst);          \
    }
#define CLEAR(way, call)                            \
    static void way(void *dst, int value, size_t n) \
    {                                               \
        (void)value;                                \
        returns(call(dst, n), dst);                 \
    }

CALL2(inline_copy, fastmm_copy)
CALL2(inline_move, fastmm_move)
FILL(inline_fill, fastmm_fill)
CLEAR(inline_clear, fastmm_clear)
CALL2(masked_copy, fastmm_copy_masked)
CALL2(call_copy, fastmm_copy_call)
CALL2(call_move, fastmm_move_call)
FILL(call_fill, fastmm_fill_call)
CLEAR(call_clear, fastmm_clear_call)
CALL2(masked_call_copy, fastmm_copy_masked_call)
CALL2(large_copy, fastmm_copy_large)
CALL2(large_move, fastmm_move_large)
FILL(large_fill, fastmm_fill_large)
CALL2(streaming_copy, fastmm_copy_stream)
CLEAR(streaming_clear, fastmm_clear_stream)

/* Not among those that can be forced: the plan of some parts takes it for avx512. */
#ifdef __x86_64__
CALL2(source_copy, fastmm_copy_ops_avx512_source.copy)
CALL2(source_move, fastmm_copy_ops_avx512_source.move)
#else
#    define source_copy NULL
#    define source_move NULL
#endif

static void huge_clear(void *dst, int value, size_t n)
{
    (void)value;
    succeeds(fastmm_clear_huge(dst, n, n / 2));
}

const struct way ways[] = {
    {"scalar", scalar_copy, scalar_move, scalar_fill, 0, FASTMM_COPY_SCALAR},
    {"sse2", sse2_copy, sse2_move, sse2_fill, 0, FASTMM_COPY_SSE2},
    {"avx2", avx2_copy, avx2_move, avx2_fill, 0, FASTMM_COPY_AVX2},
    {"avx512", avx512_copy, avx512_move, avx512_fill, 0, FASTMM_COPY_AVX512},
    {"avx512_source", source_copy, source_move, NULL, 0, FASTMM_COPY_AVX512},
    {"rep", rep_copy, rep_move, rep_fill, 0, FASTMM_COPY_REP},
    {"stream", stream_copy, stream_move, stream_fill, 0, FASTMM_COPY_STREAM},
    {"inline", inline_copy, inline_move, inline_fill, 0, -1},
    {"inline_clear", NULL, NULL, inline_clear, 1, -1},
    {"masked", masked_copy, NULL, NULL, 0, -1},
    {"call", call_copy, call_move, call_fill, 0, -1},
    {"call_clear", NULL, NULL, call_clear, 1, -1},
    {"masked_call", masked_call_copy, NULL, NULL, 0, -1},
    {"large", large_copy, large_move, large_fill, 0, -1},
    {"streaming", streaming_copy, NULL, streaming_clear, 1, -1},
    {"huge_clear", NULL, NULL, huge_clear, 1, -1},
};
const int way_count = sizeof(ways) / sizeof(ways[0]);

const struct way *way_or_skip(int index)
{
    const struct way *way = &ways[index];
    if (way->impl >= 0 && !fastmm_copy_impl_usable((uint32_t)way->impl, fastmm_cpu_native()))
        test_skip("%s: this CPU or architecture has no such instructions", way->name);
    return way;
}

void add_way_cases(Suite *suite, const struct way_test *tests, size_t count)
{
    for (int i = 0; i < way_count; i++) {
        TCase *tc = tcase_create(ways[i].name);
        tcase_set_timeout(tc, 3600);
        for (size_t t = 0; t < count; t++)
            if (!tests[t].is_for || tests[t].is_for(&ways[i]))
                tcase_add_loop_test(tc, tests[t].test, i, i + 1);
        suite_add_tcase(suite, tc);
    }
}

void add_known_case(Suite *suite, const char *name, const TTest *const *tests, size_t count)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 3600);
    for (size_t t = 0; t < count; t++)
        tcase_add_loop_test(tc, tests[t], 0, way_count);
    suite_add_tcase(suite, tc);
}
