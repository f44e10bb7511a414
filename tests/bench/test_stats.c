/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "stats.h"

#include <math.h>

START_TEST(median_is_the_middle)
{
    double odd[] = {9, 1, 5}, even[] = {4, 1, 9, 2}, one[] = {7};
    ck_assert_double_eq(stats_median(odd, 3), 5);
    ck_assert_double_eq(stats_median(even, 4), 3);
    ck_assert_double_eq(stats_median(one, 1), 7);
    ck_assert_double_eq(stats_median(NULL, 0), 0);
}
END_TEST

START_TEST(one_spoilt_block_does_not_move_the_median)
{
    double calm[] = {2, 2, 2, 2, 2}, spoilt[] = {2, 2, 1e9, 2, 2};
    ck_assert_double_eq(stats_median(calm, 5), stats_median(spoilt, 5));
}
END_TEST

START_TEST(geomean_of_inverse_ratios_is_one)
{
    double both[] = {4, 0.25}, three[] = {1, 10, 100};
    ck_assert_double_eq_tol(stats_geomean(both, 2), 1, 1e-12);
    ck_assert_double_eq_tol(stats_geomean(three, 3), 10, 1e-9);
    ck_assert_double_eq(stats_geomean(NULL, 0), 0);
}
END_TEST

START_TEST(the_best_rival_counts)
{
    double slow[] = {3, 3, 3}, fast[] = {2, 1.9, 2.1};
    struct stats_blocks rivals[] = {{3, slow, NULL}, {0, NULL, NULL}, {3, fast, NULL}};
    unsigned best = 99;
    ck_assert_double_eq(stats_cell_ratio(&(struct stats_cell){3, rivals}, &best), 2);
    ck_assert_uint_eq(best, 2);
    ck_assert_double_eq(fast[1], 1.9); /* the blocks keep their order */
}
END_TEST

enum { BLOCKS = 40, TRIALS = 300 };

/* Block ratios around `centre`, `spread` wide, with a spoilt one now and then. */
static void make_blocks(double *blocks, double centre, double spread, uint64_t *random)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (double)(test_random(random) >> 11) * 0x1p-53 - 0.5;
        blocks[i] = centre * (1 + spread * sum);
        if (test_random(random) % 20 == 0)
            blocks[i] *= 5;
    }
}

START_TEST(the_interval_covers_the_truth_as_often_as_it_says)
{
    uint64_t random = test_seed();
    unsigned covered = 0;
    for (int t = 0; t < TRIALS; t++) {
        double blocks[2][BLOCKS];
        struct stats_blocks rival[2];
        struct stats_cell cells[2];
        for (unsigned c = 0; c < 2; c++) {
            make_blocks(blocks[c], 1.5, 0.1, &random);
            rival[c] = (struct stats_blocks){BLOCKS, blocks[c], NULL};
            cells[c] = (struct stats_cell){1, &rival[c]};
        }
        struct stats_interval interval = stats_bootstrap(cells, 2, test_random(&random));
        ck_assert_double_le(interval.low, interval.high);
        /* One block in 20 is spoilt upwards, which shifts the true median a little. */
        covered += interval.low <= 1.505 && interval.high >= 1.5;
    }
    ck_assert_uint_ge(covered, TRIALS * 90 / 100);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_interval)
{
    uint64_t random = test_seed();
    double blocks[BLOCKS];
    make_blocks(blocks, 2, 0.3, &random);
    struct stats_blocks rival = {BLOCKS, blocks, NULL};
    struct stats_cell cell = {1, &rival};
    struct stats_interval a = stats_bootstrap(&cell, 1, 7), b = stats_bootstrap(&cell, 1, 7);
    ck_assert_double_eq(a.low, b.low);
    ck_assert_double_eq(a.high, b.high);
}
END_TEST

START_TEST(the_interval_narrows_with_the_noise)
{
    uint64_t random = test_seed();
    double calm[BLOCKS], noisy[BLOCKS];
    make_blocks(calm, 1, 0.01, &random);
    make_blocks(noisy, 1, 0.5, &random);
    struct stats_blocks rivals[] = {{BLOCKS, calm, NULL}, {BLOCKS, noisy, NULL}};
    struct stats_interval a = stats_bootstrap(&(struct stats_cell){1, &rivals[0]}, 1, 1);
    struct stats_interval b = stats_bootstrap(&(struct stats_cell){1, &rivals[1]}, 1, 1);
    ck_assert_double_lt(a.high - a.low, b.high - b.low);
}
END_TEST

START_TEST(one_odd_round_widens_the_interval_and_leaves_the_median)
{
    /* One process of five had a placement in which the rival takes twice as long. */
    double ratios[BLOCKS];
    unsigned rounds[BLOCKS], best;
    for (unsigned i = 0; i < BLOCKS; i++) {
        rounds[i] = i * 5 / BLOCKS;
        ratios[i] = rounds[i] == 3 ? 2 : 1 + 0.001 * (i % 3);
    }
    struct stats_blocks apart = {BLOCKS, ratios, rounds}, alike = {BLOCKS, ratios, NULL};
    struct stats_cell by_round = {1, &apart}, by_block = {1, &alike};
    ck_assert_double_lt(stats_cell_ratio(&by_round, &best), 1.01);
    ck_assert_double_eq(stats_cell_ratio(&by_round, &best), stats_cell_ratio(&by_block, &best));
    ck_assert_double_eq(stats_bootstrap(&by_round, 1, 1).high, 2);
    ck_assert_double_lt(stats_bootstrap(&by_block, 1, 1).high, 1.01);
}
END_TEST

START_TEST(verdicts_follow_the_interval)
{
    static const struct {
        double geomean, low, high;
        enum stats_verdict verdict;
    } cases[] = {
        {2.0, 1.9, 2.1, STATS_AHEAD},
        {1.03, 1.001, 1.06, STATS_AHEAD},
        {0.5, 0.4, 0.6, STATS_BEHIND},
        {0.97, 0.95, 0.999, STATS_BEHIND},
        {1.0, 0.99, 1.01, STATS_EVEN},
        {1.01, 1.005, 1.015, STATS_EVEN}, /* certain, and too little to matter */
        {0.99, 0.985, 0.995, STATS_EVEN},
        {1.0, 0.8, 1.3, STATS_UNDECIDED},
        {1.4, 0.9, 2.0, STATS_UNDECIDED},
        {1.015, 1.001, 1.06, STATS_UNDECIDED},
        {0.6, 0.3, 1.01, STATS_UNDECIDED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stats_interval interval = {cases[i].low, cases[i].high};
        ck_assert_str_eq(stats_verdict_name(stats_judge(cases[i].geomean, interval)),
                         stats_verdict_name(cases[i].verdict));
    }
}
END_TEST

START_TEST(exchanging_the_sides_exchanges_the_verdict)
{
    uint64_t random = test_seed();
    for (int i = 0; i < 10000; i++) {
        double a = 0.8 + 0.4 * (double)(test_random(&random) >> 11) * 0x1p-53;
        double b = a * (1 + 0.2 * (double)(test_random(&random) >> 11) * 0x1p-53);
        double middle = sqrt(a * b);
        enum stats_verdict ours = stats_judge(middle, (struct stats_interval){a, b});
        enum stats_verdict theirs = stats_judge(1 / middle, (struct stats_interval){1 / b, 1 / a});
        enum stats_verdict expected = ours == STATS_AHEAD    ? STATS_BEHIND
                                      : ours == STATS_BEHIND ? STATS_AHEAD
                                                             : ours;
        ck_assert_int_eq(theirs, expected);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.stats");
    TCase *tc = tcase_create("stats");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, median_is_the_middle);
    tcase_add_test(tc, one_spoilt_block_does_not_move_the_median);
    tcase_add_test(tc, geomean_of_inverse_ratios_is_one);
    tcase_add_test(tc, the_best_rival_counts);
    tcase_add_test(tc, the_interval_covers_the_truth_as_often_as_it_says);
    tcase_add_test(tc, the_same_seed_gives_the_same_interval);
    tcase_add_test(tc, the_interval_narrows_with_the_noise);
    tcase_add_test(tc, one_odd_round_widens_the_interval_and_leaves_the_median);
    tcase_add_test(tc, verdicts_follow_the_interval);
    tcase_add_test(tc, exchanging_the_sides_exchanges_the_verdict);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
