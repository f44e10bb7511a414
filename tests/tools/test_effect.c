/* SPDX-License-Identifier: MIT */
/*
 * The statistics are tried on made-up machines: placements that differ by a few per cent, blocks
 * that scatter, a stolen CPU now and then. Against those it is known what is true.
 */
#include "test_main.h"

#include "effect.h"

#include <math.h>
#include <stdlib.h>

enum { PLACEMENTS = 16, BLOCKS = 3, VALUES = PLACEMENTS * BLOCKS, ROWS = 10 };

/* Roughly normal, variance 1. */
static double noise(uint64_t *random)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (double)(test_random(random) >> 11) * 0x1p-53;
    return sum - 6;
}

/* Now and then a block takes three times as long. */
static double spoilt(uint64_t *random)
{
    return test_random(random) % 40 == 0 ? 3 : 1;
}

struct pairs {
    double base[VALUES], other[VALUES];
    unsigned cluster[VALUES];
};

/* The other takes 1 - gain of the base's time. */
static void make_pairs(struct pairs *p, double gain, double placement, double scatter,
                       uint64_t *random)
{
    for (unsigned i = 0; i < PLACEMENTS; i++) {
        double here[2] = {1 + placement * noise(random), 1 + placement * noise(random)};
        for (unsigned b = i * BLOCKS; b < (i + 1) * BLOCKS; b++) {
            p->base[b] = 10 * here[0] * (1 + scatter * noise(random)) * spoilt(random);
            p->other[b] =
                10 * (1 - gain) * here[1] * (1 + scatter * noise(random)) * spoilt(random);
            p->cluster[b] = i;
        }
    }
}

static void judge_pairs(const struct pairs *p, unsigned family, uint64_t seed, struct effect *out)
{
    const struct effect_series base = {VALUES, p->base, p->cluster};
    effect_paired(&base, p->other, family, seed, out);
}

static void judge_alone(const struct pairs *p, struct effect *out)
{
    struct effect *all[] = {out};
    judge_pairs(p, 1, 1, out);
    effect_judge(all, 1);
}

START_TEST(a_slowdown_of_one_per_cent_is_detected)
{
    uint64_t random = test_seed_of_rates();
    unsigned seen = 0;
    for (int t = 0; t < 100; t++) {
        struct pairs p;
        struct effect e;
        make_pairs(&p, -0.01, 0.003, 0.003, &random);
        judge_alone(&p, &e);
        ck_assert_int_ne(e.verdict, EFFECT_BETTER);
        seen += e.verdict == EFFECT_WORSE;
        ck_assert_double_eq_tol(e.gain, -1, 1);
    }
    ck_assert_uint_ge(seen, 98);
}
END_TEST

/* The least probability that there can be must pass Holm's correction in a table of any size. */
START_TEST(a_large_table_hides_no_large_effect)
{
    enum { MANY = 600 };
    uint64_t random = test_seed_of_rates();
    struct effect *all[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        struct pairs p;
        all[i] = malloc(sizeof(*all[i]));
        ck_assert_ptr_nonnull(all[i]);
        make_pairs(&p, i == MANY / 2 ? 0.1 : 0, 0.003, 0.003, &random);
        judge_pairs(&p, MANY, 1, all[i]);
    }
    effect_judge(all, MANY);
    ck_assert(all[MANY / 2]->star);
    ck_assert_int_eq(all[MANY / 2]->verdict, EFFECT_BETTER);
    for (unsigned i = 0; i < MANY; i++)
        free(all[i]);
}
END_TEST

/* Over a table of comparisons of things with themselves, one table in 20 may show a star. */
START_TEST(nothing_is_made_out_of_nothing_more_often_than_it_says)
{
    uint64_t random = test_seed_of_rates();
    enum { TABLES = 300 };
    unsigned wrong = 0;
    for (int t = 0; t < TABLES; t++) {
        struct effect rows[ROWS], *all[ROWS];
        bool star = false;
        for (int r = 0; r < ROWS; r++) {
            struct pairs p;
            make_pairs(&p, 0, 0.01, 0.01, &random);
            judge_pairs(&p, ROWS, test_random(&random), &rows[r]);
            all[r] = &rows[r];
        }
        effect_judge(all, ROWS);
        for (int r = 0; r < ROWS; r++)
            star |= rows[r].star;
        wrong += star;
    }
    /* 15 are expected, with a deviation of 3.8. */
    ck_assert_uint_le(wrong, 30);
}
END_TEST

START_TEST(the_interval_covers_the_truth_as_often_as_it_says)
{
    uint64_t random = test_seed_of_rates();
    enum { TRIALS = 400 };
    unsigned covered = 0;
    for (int t = 0; t < TRIALS; t++) {
        struct pairs p;
        struct effect e;
        make_pairs(&p, 0.05, 0.01, 0.01, &random);
        judge_pairs(&p, 1, test_random(&random), &e);
        ck_assert_double_le(e.low, e.high);
        covered += e.low <= 5 && e.high >= 5;
    }
    ck_assert_uint_ge(covered, TRIALS * 91 / 100);
    ck_assert_uint_le(covered, TRIALS * 99 / 100);
}
END_TEST

/* What is said to be detectable is detected in four runs of five; half of it hardly ever is. */
START_TEST(what_is_called_detectable_is_detected)
{
    uint64_t random = test_seed_of_rates();
    struct pairs p;
    struct effect e;
    double detectable = 0;
    for (int t = 0; t < 50; t++) {
        make_pairs(&p, 0, 0.01, 0.01, &random);
        judge_alone(&p, &e);
        detectable += e.detectable / 50;
    }
    unsigned seen = 0, half = 0;
    for (int t = 0; t < 200; t++) {
        make_pairs(&p, -detectable / 100, 0.01, 0.01, &random);
        judge_alone(&p, &e);
        seen += e.star;
        make_pairs(&p, -detectable / 200, 0.01, 0.01, &random);
        judge_alone(&p, &e);
        half += e.star;
    }
    ck_assert_uint_ge(seen, 140);
    ck_assert_uint_le(half, 100);
}
END_TEST

static void fill(struct effect *e, double p, double gain, double low, double high)
{
    *e = (struct effect){.p = p, .gain = gain, .low = low, .high = high};
}

START_TEST(holms_correction_by_hand)
{
    struct effect e[4], *all[] = {&e[0], &e[1], &e[2], &e[3]};
    fill(&e[0], 0.03, 2, 1, 3);
    fill(&e[1], 0.01, -2, -3, -1);
    fill(&e[2], 0.04, 2, 1, 3);
    fill(&e[3], 0.005, 2, 1, 3);
    effect_judge(all, 4);
    ck_assert_double_eq_tol(e[3].holm, 0.02, 1e-12);
    ck_assert_double_eq_tol(e[1].holm, 0.03, 1e-12);
    ck_assert_double_eq_tol(e[0].holm, 0.06, 1e-12);
    ck_assert_double_eq_tol(e[2].holm, 0.06, 1e-12); /* never less than the one before */
    ck_assert_int_eq(e[3].verdict, EFFECT_BETTER);
    ck_assert_int_eq(e[1].verdict, EFFECT_WORSE);
    ck_assert_int_eq(e[0].verdict, EFFECT_UNDECIDED);
    ck_assert(!e[0].star && !e[2].star && e[1].star && e[3].star);
}
END_TEST

START_TEST(small_noise_is_no_difference_and_what_nothing_makes_does_not_count)
{
    struct effect e[3], *all[] = {&e[0], &e[1], &e[2]};
    fill(&e[0], 0.5, 0.1, -0.5, 0.7);
    fill(&e[1], 0.001, 2, 1, 3);
    e[1].floor = 2.5;
    fill(&e[2], 0.001, 0.4, 0.3, 0.5);
    e[2].floor = 0.4;
    effect_judge(all, 3);
    ck_assert_int_eq(e[0].verdict, EFFECT_NONE);
    ck_assert_int_eq(e[1].verdict, EFFECT_UNDECIDED);
    ck_assert_int_eq(e[2].verdict, EFFECT_NONE);
    ck_assert_str_eq(effect_verdict_name(e[0].verdict), "none");
}
END_TEST

START_TEST(the_same_seed_gives_the_same_figures)
{
    uint64_t random = test_seed_of_rates();
    struct pairs p;
    struct effect a = {0}, b = {0};
    make_pairs(&p, 0.01, 0.01, 0.01, &random);
    judge_alone(&p, &a);
    judge_alone(&p, &b);
    ck_assert_double_eq(a.low, b.low);
    ck_assert_double_eq(a.p, b.p);
    ck_assert_double_eq(a.detectable, b.detectable);
}
END_TEST

START_TEST(too_few_clusters_decide_nothing)
{
    const double base[] = {10, 10.1, 10, 9.9, 10, 10.1}, other[] = {5, 5.1, 5, 4.9, 5, 5};
    const unsigned cluster[] = {0, 0, 1, 1, 2, 2};
    struct effect e, *all[] = {&e};
    const struct effect_series series = {6, base, cluster};
    effect_paired(&series, other, 1, 1, &e);
    effect_judge(all, 1);
    ck_assert_uint_eq(e.clusters, 3);
    ck_assert_double_eq_tol(e.gain, 50, 1);
    ck_assert(isnan(e.low) && isnan(e.detectable));
    ck_assert_int_eq(e.verdict, EFFECT_UNDECIDED);
}
END_TEST

START_TEST(values_without_any_noise_are_as_they_look)
{
    const double base[] = {10, 10, 10, 10}, other[] = {9, 9, 9, 9};
    struct effect e[2], *all[] = {&e[0], &e[1]};
    const struct effect_series a = {4, base, NULL}, b = {4, other, NULL};
    effect_unpaired(&a, &b, 2, 1, &e[0]);
    effect_unpaired(&a, &a, 2, 1, &e[1]);
    effect_judge(all, 2);
    ck_assert_double_eq_tol(e[0].gain, 10, 1e-9);
    ck_assert_int_eq(e[0].verdict, EFFECT_BETTER);
    ck_assert_double_eq(e[1].gain, 0);
    ck_assert_int_eq(e[1].verdict, EFFECT_NONE);
}
END_TEST

/* Two runs that have nothing in common: as paired, only that both sides scatter by themselves. */
START_TEST(unpaired_runs_keep_their_word_too)
{
    uint64_t random = test_seed_of_rates();
    enum { TRIALS = 300 };
    unsigned wrong = 0, seen = 0;
    for (int t = 0; t < TRIALS; t++) {
        struct pairs p;
        struct effect e, *all[] = {&e};
        for (int slower = 0; slower < 2; slower++) {
            make_pairs(&p, -0.03 * slower, 0.01, 0.01, &random);
            const struct effect_series a = {VALUES, p.base, p.cluster};
            const struct effect_series b = {VALUES, p.other, p.cluster};
            effect_unpaired(&a, &b, 1, test_random(&random), &e);
            effect_judge(all, 1);
            if (slower)
                seen += e.verdict == EFFECT_WORSE;
            else
                wrong += e.star;
        }
    }
    ck_assert_uint_le(wrong, 30);
    ck_assert_uint_ge(seen, 290);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.effect");
    TCase *tcase = tcase_create("effect");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_slowdown_of_one_per_cent_is_detected);
    tcase_add_test(tcase, a_large_table_hides_no_large_effect);
    tcase_add_test(tcase, nothing_is_made_out_of_nothing_more_often_than_it_says);
    tcase_add_test(tcase, the_interval_covers_the_truth_as_often_as_it_says);
    tcase_add_test(tcase, what_is_called_detectable_is_detected);
    tcase_add_test(tcase, holms_correction_by_hand);
    tcase_add_test(tcase, small_noise_is_no_difference_and_what_nothing_makes_does_not_count);
    tcase_add_test(tcase, the_same_seed_gives_the_same_figures);
    tcase_add_test(tcase, too_few_clusters_decide_nothing);
    tcase_add_test(tcase, values_without_any_noise_are_as_they_look);
    tcase_add_test(tcase, unpaired_runs_keep_their_word_too);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
