/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "sample.h"

#include <math.h>
#include <stdbool.h>

START_TEST(known_values)
{
    const double values[] = {4, 2, 4, 4, 5, 5, 7, 9};
    struct sample s;
    sample_describe(values, 8, &s);
    ck_assert_uint_eq(s.count, 8);
    ck_assert_double_eq(s.figure[SAMPLE_MIN], 2);
    ck_assert_double_eq(s.figure[SAMPLE_AMEAN], 5);
    ck_assert_double_eq_tol(s.figure[SAMPLE_STDDEV], sqrt(32.0 / 7), 1e-12);
    ck_assert_double_eq_tol(s.figure[SAMPLE_COEFFVAR], 100 * sqrt(32.0 / 7) / 5, 1e-12);
    ck_assert_double_eq(s.figure[SAMPLE_MAX], 9);
    ck_assert_double_eq(s.figure[SAMPLE_BAMEAN_50], 3.5);
    ck_assert(isnan(s.figure[SAMPLE_BAMEAN_95]));
    ck_assert(isnan(s.figure[SAMPLE_BAMEAN_99]));
    ck_assert_double_eq(values[0], 4); /* the order of the caller stays */
}
END_TEST

/* The best part leaves at least one value out, or there is none. */
START_TEST(a_mean_of_the_best_part_needs_values_to_leave_out)
{
    double values[100];
    struct sample s;
    for (int i = 0; i < 100; i++)
        values[i] = 99 - i;
    const struct {
        unsigned count;
        bool half, most, nearly_all;
    } cases[] = {{1, false, false, false}, {2, true, false, false}, {19, true, false, false},
                 {20, true, true, false},  {99, true, true, false}, {100, true, true, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sample_describe(values, cases[i].count, &s);
        ck_assert_int_eq(!isnan(s.figure[SAMPLE_BAMEAN_50]), cases[i].half);
        ck_assert_int_eq(!isnan(s.figure[SAMPLE_BAMEAN_95]), cases[i].most);
        ck_assert_int_eq(!isnan(s.figure[SAMPLE_BAMEAN_99]), cases[i].nearly_all);
    }
    ck_assert_double_eq(s.figure[SAMPLE_BAMEAN_50], 24.5);
    ck_assert_double_eq(s.figure[SAMPLE_BAMEAN_95], 47);
    ck_assert_double_eq(s.figure[SAMPLE_BAMEAN_99], 49);
}
END_TEST

START_TEST(one_value_has_no_deviation_and_none_has_nothing)
{
    const double value = 3;
    struct sample s;
    sample_describe(&value, 1, &s);
    ck_assert_double_eq(s.figure[SAMPLE_AMEAN], 3);
    ck_assert(isnan(s.figure[SAMPLE_STDDEV]));
    sample_describe(NULL, 0, &s);
    ck_assert_uint_eq(s.count, 0);
    ck_assert(isnan(s.figure[SAMPLE_MIN]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.sample");
    TCase *tcase = tcase_create("sample");
    tcase_add_test(tcase, known_values);
    tcase_add_test(tcase, a_mean_of_the_best_part_needs_values_to_leave_out);
    tcase_add_test(tcase, one_value_has_no_deviation_and_none_has_nothing);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
