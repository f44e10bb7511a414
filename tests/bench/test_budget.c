/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "budget.h"

START_TEST(blocks_fill_the_target)
{
    /* A block of 2 x (1 + 4) ms: 30 of them are 0.3 s. */
    struct budget_blocks plan = budget_blocks(0.001, 0.004, 0.305, 60);
    ck_assert_uint_eq(plan.blocks, 30);
    ck_assert(plan.fits);
    ck_assert_double_eq_tol(plan.least, 0.2, 1e-12);
}
END_TEST

START_TEST(there_are_never_too_few_blocks_nor_too_many)
{
    ck_assert_uint_eq(budget_blocks(0.1, 0.1, 1, 60).blocks, BUDGET_MIN_BLOCKS);
    ck_assert_uint_eq(budget_blocks(0.1, 0.1, 0, 60).blocks, BUDGET_MIN_BLOCKS);
    ck_assert_uint_eq(budget_blocks(1e-9, 1e-9, 1, 60).blocks, BUDGET_MAX_BLOCKS);
    ck_assert_uint_eq(budget_blocks(0, 0, 1, 60).blocks, BUDGET_MAX_BLOCKS);
}
END_TEST

START_TEST(what_does_not_end_within_the_limit_is_refused)
{
    ck_assert(budget_blocks(0.5, 0.5, 1, 40).fits);
    ck_assert(!budget_blocks(0.5, 0.5, 1, 39.9).fits);
    ck_assert(!budget_blocks(1e6, 1, 1, 60).fits);
}
END_TEST

START_TEST(calibration_grows_and_converges)
{
    /* Each try takes 3 ns an iteration; the batch is to last 250 us. */
    unsigned long long n = 1;
    unsigned tries = 0;
    while (3.0 * (double)n < 250e3) {
        unsigned long long next = budget_iterations(n, 3.0 * (double)n, 250e3);
        ck_assert_uint_gt(next, n);
        ck_assert_uint_le(next, 16 * n);
        n = next;
        ck_assert_uint_lt(++tries, 10);
    }
    ck_assert_double_lt(3.0 * (double)n, 1.2 * 250e3);
    ck_assert_uint_eq(budget_iterations(1, 0, 250e3), 16); /* below the clock's resolution */
    ck_assert_uint_eq(budget_iterations(5, 1e9, 250e3), 6);
}
END_TEST

START_TEST(shares_never_exceed_what_is_left)
{
    uint64_t random = test_seed();
    for (int round = 0; round < 1000; round++) {
        double left = 330, weight = 1 + (double)(test_random(&random) % 400);
        for (; weight > 0; weight--) {
            double share = budget_share(left, 1, weight);
            ck_assert_double_ge(share, 0);
            ck_assert_double_le(share, left > 0 ? left : 0);
            left -= share * (double)(test_random(&random) % 101) / 100;
        }
        ck_assert_double_ge(left, -1e-9); /* but for rounding */
    }
    ck_assert_double_eq(budget_share(330, 1, 330), 1);
    ck_assert_double_eq(budget_share(-1, 1, 10), 0);
    ck_assert_double_eq(budget_share(10, 1, 0.5), 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.budget");
    TCase *tc = tcase_create("budget");
    tcase_add_test(tc, blocks_fill_the_target);
    tcase_add_test(tc, there_are_never_too_few_blocks_nor_too_many);
    tcase_add_test(tc, what_does_not_end_within_the_limit_is_refused);
    tcase_add_test(tc, calibration_grows_and_converges);
    tcase_add_test(tc, shares_never_exceed_what_is_left);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
