/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include <errno.h>
#include <fastmm/cpu.h>
#include <stdio.h>
#include <string.h>

START_TEST(features_are_found_by_their_names)
{
    for (int f = 0; f < FASTMM_CPU_FEATURE_COUNT; f++) {
        const struct fastmm_cpu_feature_info *info =
            fastmm_cpu_describe((enum fastmm_cpu_feature)f);
        ck_assert_int_eq(fastmm_cpu_feature_by_name(info->name), f);
        ck_assert_uint_le(info->requires_feature, (unsigned)f); /* the decoder's one pass */
        ck_assert_uint_lt(info->reg, 4);
        ck_assert_uint_lt(info->bit, 32);
        ck_assert_uint_gt(strlen(info->what), 0);
    }
}
END_TEST

START_TEST(what_is_not_in_the_table_is_refused)
{
    struct fastmm_cpu cpu;
    memset(&cpu, 0xff, sizeof(cpu));
    ck_assert_int_eq(fastmm_cpu_feature_by_name(NULL), -ENOENT);
    ck_assert_int_eq(fastmm_cpu_feature_by_name(""), -ENOENT);
    ck_assert_int_eq(fastmm_cpu_feature_by_name("AVX2"), -ENOENT);
    ck_assert_int_eq(fastmm_cpu_feature_by_name("avx"), FASTMM_CPU_AVX);
    for (int f = FASTMM_CPU_FEATURE_COUNT; f < 200; f++) {
        ck_assert(!fastmm_cpu_has(&cpu, (enum fastmm_cpu_feature)f));
        ck_assert_ptr_null(fastmm_cpu_describe((enum fastmm_cpu_feature)f));
    }
    ck_assert(!fastmm_cpu_has(&cpu, (enum fastmm_cpu_feature) - 1));
}
END_TEST

START_TEST(enums_have_names)
{
    for (uint32_t i = 0; i <= FASTMM_CPU_VENDOR_ZHAOXIN; i++)
        ck_assert_str_ne(fastmm_cpu_vendor_name(i), "?");
    for (uint32_t i = 0; i < FASTMM_CPU_CACHE_SOURCES; i++)
        ck_assert_str_ne(fastmm_cpu_cache_source_name(i), "?");
    for (uint32_t i = 0; i <= FASTMM_CPU_CACHE_ABSURD; i++)
        ck_assert_str_ne(fastmm_cpu_cache_verdict_name(i), "?");
    ck_assert_str_eq(fastmm_cpu_vendor_name(FASTMM_CPU_VENDOR_ZHAOXIN + 1), "?");
    ck_assert_str_eq(fastmm_cpu_cache_source_name(FASTMM_CPU_CACHE_SOURCES), "?");
    ck_assert_str_eq(fastmm_cpu_cache_verdict_name(UINT32_MAX), "?");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu.names");
    TCase *tc = tcase_create("names");
    tcase_add_test(tc, features_are_found_by_their_names);
    tcase_add_test(tc, what_is_not_in_the_table_is_refused);
    tcase_add_test(tc, enums_have_names);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
