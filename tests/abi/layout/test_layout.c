/* SPDX-License-Identifier: MIT */
/*
 * Sizes and offsets of every struct that the stable headers let callers see, and the numbers of the
 * enumerators and macros that land in their code. Inline bodies and callers' own structs have them
 * compiled in, so a change of one is a change of the binary interface, on every 64-bit
 * architecture.
 *
 * Fields must tile their struct: one that is missing here, or padding that nobody meant, shows.
 */
#include "test_main.h"

#include <fastmm/bounded.h>
#include <fastmm/copy.h>
#include <fastmm/counter.h>
#include <fastmm/cpu.h>
#include <fastmm/quota.h>

#include <stddef.h>

/* A field; or, where `field` is NULL, the whole struct behind its fields: its size and alignment.
 */
struct row {
    const char *type, *field;
    size_t offset, size;         /* as they must be */
    size_t has_offset, has_size; /* as they are */
};

#define FIELD(type, field, offset, size)                                   \
    {                                                                      \
#        type, #        field, offset, size, offsetof(struct type, field), \
            sizeof(((struct type *)0)->field)                              \
    }
#define PADDING(type, offset, size)                    \
    {                                                  \
#        type, "(padding)", offset, size, offset, size \
    }
#define WHOLE(type, size, alignment)                                             \
    {                                                                            \
#        type, NULL, size, alignment, sizeof(struct type), _Alignof(struct type) \
    }

#define GROUP(type, n) \
    FIELD(type, group, 0, 8), FIELD(type, base, 8, 8 * (n)), WHOLE(type, 8 + 8 * (n), 8)

static const struct row rows[] = {
    FIELD(fastmm_counter_group, slots, 0, 8),
    WHOLE(fastmm_counter_group, 8, 8),
    GROUP(fastmm_counter, 1),
    GROUP(fastmm_counter_group1, 1),
    GROUP(fastmm_counter_group2, 2),
    GROUP(fastmm_counter_group3, 3),
    GROUP(fastmm_counter_group4, 4),
    GROUP(fastmm_counter_group5, 5),
    GROUP(fastmm_counter_group6, 6),
    GROUP(fastmm_counter_group7, 7),
    GROUP(fastmm_counter_group8, 8),

    FIELD(fastmm_counter_mechanism, kind, 0, 4),
    FIELD(fastmm_counter_mechanism, slots, 4, 4),
    FIELD(fastmm_counter_mechanism, used, 8, 4),
    PADDING(fastmm_counter_mechanism, 12, 4),
    FIELD(fastmm_counter_mechanism, reason, 16, 8),
    WHOLE(fastmm_counter_mechanism, 24, 8),

    FIELD(fastmm_counter_memory, map, 0, 8),
    FIELD(fastmm_counter_memory, unmap, 8, 8),
    FIELD(fastmm_counter_memory, context, 16, 8),
    WHOLE(fastmm_counter_memory, 24, 8),

    FIELD(fastmm_counter_hot, id, 0, 8),
    FIELD(fastmm_counter_hot, ids, 8, 4),
    PADDING(fastmm_counter_hot, 12, 52),
    WHOLE(fastmm_counter_hot, 64, 64),

    FIELD(fastmm_counter_bounded, group, 0, 8),
    FIELD(fastmm_counter_bounded, batch, 8, 4),
    FIELD(fastmm_counter_bounded, tracks_peak, 12, 4),
    FIELD(fastmm_counter_bounded, value, 16, 8),
    FIELD(fastmm_counter_bounded, published, 24, 8),
    FIELD(fastmm_counter_bounded, peak, 32, 8),
    PADDING(fastmm_counter_bounded, 40, 8),
    WHOLE(fastmm_counter_bounded, 48, 16),

    FIELD(fastmm_quota, group, 0, 8),
    FIELD(fastmm_quota, room, 8, 8),
    FIELD(fastmm_quota, limit, 16, 8),
    FIELD(fastmm_quota, batch, 24, 8),
    WHOLE(fastmm_quota, 32, 8),

    FIELD(fastmm_quota_range, up, 0, 32),
    FIELD(fastmm_quota_range, down, 32, 32),
    WHOLE(fastmm_quota_range, 64, 8),

    FIELD(fastmm_cpu_cache, size, 0, 8),
    FIELD(fastmm_cpu_cache, reported, 8, 24),
    FIELD(fastmm_cpu_cache, verdict, 32, 12),
    FIELD(fastmm_cpu_cache, shared, 44, 4),
    WHOLE(fastmm_cpu_cache, 48, 8),

    FIELD(fastmm_cpu, advertised, 0, 8),
    FIELD(fastmm_cpu, usable, 8, 8),
    FIELD(fastmm_cpu, xcr0, 16, 8),
    FIELD(fastmm_cpu, vendor, 24, 4),
    FIELD(fastmm_cpu, family, 28, 4),
    FIELD(fastmm_cpu, model, 32, 4),
    FIELD(fastmm_cpu, stepping, 36, 4),
    FIELD(fastmm_cpu, hypervisor, 40, 4),
    FIELD(fastmm_cpu, line, 44, 4),
    FIELD(fastmm_cpu, cache, 48, 144),
    FIELD(fastmm_cpu, vendor_id, 192, 16),
    FIELD(fastmm_cpu, hypervisor_id, 208, 16),
    FIELD(fastmm_cpu, name, 224, 56),
    WHOLE(fastmm_cpu, 280, 8),

    FIELD(fastmm_cpu_feature_info, name, 0, 8),
    FIELD(fastmm_cpu_feature_info, what, 8, 8),
    FIELD(fastmm_cpu_feature_info, xcr0, 16, 8),
    FIELD(fastmm_cpu_feature_info, leaf, 24, 4),
    FIELD(fastmm_cpu_feature_info, subleaf, 28, 4),
    FIELD(fastmm_cpu_feature_info, reg, 32, 4),
    FIELD(fastmm_cpu_feature_info, bit, 36, 4),
    FIELD(fastmm_cpu_feature_info, requires_feature, 40, 4),
    PADDING(fastmm_cpu_feature_info, 44, 4),
    WHOLE(fastmm_cpu_feature_info, 48, 8),

    FIELD(fastmm_cpuid_source, read, 0, 8),
    FIELD(fastmm_cpuid_source, ctx, 8, 8),
    FIELD(fastmm_cpuid_source, xcr0, 16, 8),
    WHOLE(fastmm_cpuid_source, 24, 8),

    FIELD(fastmm_copy_threshold, bytes, 0, 8),
    FIELD(fastmm_copy_threshold, why, 8, 4),
    FIELD(fastmm_copy_threshold, reserved, 12, 4),
    WHOLE(fastmm_copy_threshold, 16, 8),

    FIELD(fastmm_copy_thresholds, rep_min, 0, 16),
    FIELD(fastmm_copy_thresholds, rep_end, 16, 16),
    FIELD(fastmm_copy_thresholds, stream_min, 32, 16),
    WHOLE(fastmm_copy_thresholds, 48, 8),

    FIELD(fastmm_copy_plan, vector, 0, 4),
    FIELD(fastmm_copy_plan, vector_why, 4, 4),
    FIELD(fastmm_copy_plan, inline_level, 8, 4),
    FIELD(fastmm_copy_plan, forced, 12, 4),
    FIELD(fastmm_copy_plan, rep_alias_first, 16, 4),
    FIELD(fastmm_copy_plan, rep_alias_last, 20, 4),
    FIELD(fastmm_copy_plan, rep_align, 24, 4),
    FIELD(fastmm_copy_plan, reserved, 28, 4),
    FIELD(fastmm_copy_plan, copy, 32, 48),
    FIELD(fastmm_copy_plan, fill, 80, 48),
    WHOLE(fastmm_copy_plan, 128, 8),

    FIELD(fastmm_copy_settings, implementation, 0, 8),
    FIELD(fastmm_copy_settings, disable, 8, 8),
    FIELD(fastmm_copy_settings, copy_rep_min, 16, 8),
    FIELD(fastmm_copy_settings, fill_rep_min, 24, 8),
    FIELD(fastmm_copy_settings, copy_stream_min, 32, 8),
    FIELD(fastmm_copy_settings, fill_stream_min, 40, 8),
    WHOLE(fastmm_copy_settings, 48, 8),

    FIELD(fastmm_copy_route, impl, 0, 4),
    FIELD(fastmm_copy_route, why, 4, 4),
    WHOLE(fastmm_copy_route, 8, 4),
};

enum { ROWS = sizeof(rows) / sizeof(*rows) };

START_TEST(fields_tile_their_structs)
{
    size_t end = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *r = &rows[i];
        const char *field = r->field ? r->field : "(whole)";
        ck_assert_msg(r->offset == end,
                      "%s.%s: stated to begin at %zu, but what is before it ends at %zu", r->type,
                      field, r->offset, end);
        ck_assert_msg(r->offset == r->has_offset && r->size == r->has_size,
                      "%s.%s: %zu, %zu instead of %zu, %zu", r->type, field, r->has_offset,
                      r->has_size, r->offset, r->size);
        end = r->field ? r->offset + r->size : 0;
    }
}
END_TEST

/* Each is numbered from 0 in this order. */
static const int features[] = {
    FASTMM_CPU_SSE2,     FASTMM_CPU_AVX,      FASTMM_CPU_AVX2,          FASTMM_CPU_BMI2,
    FASTMM_CPU_AVX512F,  FASTMM_CPU_AVX512DQ, FASTMM_CPU_AVX512CD,      FASTMM_CPU_AVX512BW,
    FASTMM_CPU_AVX512VL, FASTMM_CPU_ERMS,     FASTMM_CPU_FSRM,          FASTMM_CPU_FZRM,
    FASTMM_CPU_FSRS,     FASTMM_CPU_FSRC,     FASTMM_CPU_FEATURE_COUNT,
};
static const int vendors[] = {
    FASTMM_CPU_VENDOR_OTHER, FASTMM_CPU_VENDOR_INTEL,   FASTMM_CPU_VENDOR_AMD,
    FASTMM_CPU_VENDOR_HYGON, FASTMM_CPU_VENDOR_ZHAOXIN,
};
static const int cache_sources[] = {
    FASTMM_CPU_CACHE_LEAF4,
    FASTMM_CPU_CACHE_LEAF8_1D,
    FASTMM_CPU_CACHE_LEAF8_5_6,
    FASTMM_CPU_CACHE_SOURCES,
};
static const int cache_verdicts[] = {
    FASTMM_CPU_CACHE_SILENT, FASTMM_CPU_CACHE_BELIEVED,  FASTMM_CPU_CACHE_CAPPED,
    FASTMM_CPU_CACHE_AGREES, FASTMM_CPU_CACHE_OVERRULED, FASTMM_CPU_CACHE_ABSURD,
};
static const int mechanisms[] = {
    FASTMM_COUNTER_UNDECIDED,
    FASTMM_COUNTER_RSEQ_MM_CID,
    FASTMM_COUNTER_RSEQ_CPU_ID,
    FASTMM_COUNTER_THREAD_SHARDS,
};
static const int implementations[] = {
    FASTMM_COPY_SCALAR, FASTMM_COPY_SSE2,   FASTMM_COPY_AVX2,       FASTMM_COPY_AVX512,
    FASTMM_COPY_REP,    FASTMM_COPY_STREAM, FASTMM_COPY_IMPL_COUNT,
};
static const int operations[] = {
    FASTMM_COPY_OP_COPY,
    FASTMM_COPY_OP_MOVE,
    FASTMM_COPY_OP_FILL,
    FASTMM_COPY_OP_COUNT,
};
static const int reasons[] = {
    FASTMM_COPY_WHY_BUILTIN,        FASTMM_COPY_WHY_FORCED,          FASTMM_COPY_WHY_WIDEST,
    FASTMM_COPY_WHY_CLOCK,          FASTMM_COPY_WHY_SMALL,           FASTMM_COPY_WHY_NO_ERMS,
    FASTMM_COPY_WHY_VENDOR_UNKNOWN, FASTMM_COPY_WHY_FAMILY_SLOW_REP, FASTMM_COPY_WHY_ERMS,
    FASTMM_COPY_WHY_FSRM,           FASTMM_COPY_WHY_REP_CACHED,      FASTMM_COPY_WHY_REP_SIZE,
    FASTMM_COPY_WHY_ALIAS,          FASTMM_COPY_WHY_MISALIGNED,      FASTMM_COPY_WHY_OVERLAP,
    FASTMM_COPY_WHY_CACHE,          FASTMM_COPY_WHY_CACHE_FLOOR,     FASTMM_COPY_WHY_CACHE_CEILING,
    FASTMM_COPY_WHY_STREAM_SIZE,    FASTMM_COPY_WHY_REP_STREAMS,     FASTMM_COPY_WHY_CLAMPED,
    FASTMM_COPY_WHY_COUNT,
};
static const int faults[] = {
    FASTMM_COPY_FAULT_OVERLAP,
    FASTMM_COPY_FAULT_WRAP,
    FASTMM_COPY_FAULT_SIZE,
};

static const int counter_faults[] = {
    FASTMM_COUNTER_FAULT_DEAD,
    FASTMM_COUNTER_FAULT_INDEX,
};

#define NUMBERED(list)                              \
    {                                               \
#        list, list, sizeof(list) / sizeof(*(list)) \
    }
static const struct {
    const char *name;
    const int *values;
    size_t count;
} enums[] = {
    NUMBERED(features),       NUMBERED(vendors),    NUMBERED(cache_sources),
    NUMBERED(cache_verdicts), NUMBERED(mechanisms), NUMBERED(implementations),
    NUMBERED(operations),     NUMBERED(reasons),    NUMBERED(faults),
    NUMBERED(counter_faults),
};

START_TEST(enumerators_keep_their_numbers)
{
    for (size_t i = 0; i < sizeof(enums) / sizeof(*enums); i++) {
        for (size_t j = 0; j < enums[i].count; j++)
            ck_assert_msg(enums[i].values[j] == (int)j, "%s: number %zu is %d", enums[i].name, j,
                          enums[i].values[j]);
    }
}
END_TEST

START_TEST(constants_in_callers_code_stay)
{
    ck_assert_uint_eq(FASTMM_COUNTER_GROUP_MAX, 8);
    ck_assert_uint_eq(FASTMM_COUNTER_STRIDE, 4160);
    ck_assert_uint_eq(FASTMM_COUNTER_TAG, UINT64_C(1) << 63);
    ck_assert_uint_eq(FASTMM_COPY_INLINE_MAX, 128);
    ck_assert_uint_eq(FASTMM_COPY_PAGE, 4096);
    ck_assert_uint_eq(FASTMM_CLEAR_HOT_BYTES, 65536);
    ck_assert_uint_eq(FASTMM_COPY_NEVER, UINT64_MAX);
    ck_assert_uint_eq(FASTMM_COPY_LEVEL_UNKNOWN, 0);
    ck_assert_uint_eq(FASTMM_COPY_LEVEL_BASE, 1);
    ck_assert_uint_eq(FASTMM_COPY_LEVEL_EVEX, 2);
    ck_assert_uint_eq(FASTMM_COPY_REP_FLOOR, 256);
    ck_assert_uint_eq(FASTMM_COPY_STREAM_FLOOR, 65536);
    ck_assert_uint_eq(FASTMM_CPU_L1D, 0);
    ck_assert_uint_eq(FASTMM_CPU_L2, 1);
    ck_assert_uint_eq(FASTMM_CPU_L3, 2);
    ck_assert_uint_eq(FASTMM_CPU_CACHE_LEVELS, 3);
}
END_TEST

/* Static initialisers are in callers' code as well. */
START_TEST(initialisers_fit)
{
    static const struct fastmm_counter counter = FASTMM_COUNTER_INIT;
    static const struct fastmm_counter_group8 group = FASTMM_COUNTER_GROUP_INIT(8);
    static const struct fastmm_counter_bounded bounded = FASTMM_COUNTER_BOUNDED_INIT(7);
    static const struct fastmm_quota quota = FASTMM_QUOTA_INIT(100, 10);

    ck_assert_mem_eq(&counter, (&(uint64_t[]){1, 0}), sizeof(counter));
    ck_assert_mem_eq(&group, (&(uint64_t[9]){8}), sizeof(group));
    ck_assert_mem_eq(&quota, (&(uint64_t[]){1, 100, 100, 10}), sizeof(quota));
    ck_assert_mem_eq(&bounded, (&(uint64_t[]){2, 7, 0, 0, 0}), 40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi.layout");
    TCase *tc = tcase_create("layout");
    tcase_add_test(tc, fields_tile_their_structs);
    tcase_add_test(tc, enumerators_keep_their_numbers);
    tcase_add_test(tc, constants_in_callers_code_stay);
    tcase_add_test(tc, initialisers_fit);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
