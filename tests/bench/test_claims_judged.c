/* SPDX-License-Identifier: MIT */
/*
 * How the claims are measured and judged, over variants that say how long they took: machines whose
 * placements differ, whose blocks scatter, and on which one variant is 1 % slower, or none is.
 */
#include "test_main.h"

#include "claims/claims.h"

#include <math.h>
#include <string.h>

enum { LOG = 1 << 16 };

/* A variant's time is 100 ns, longer by this factor. */
struct said {
    double factor;
    double placed[PLACEMENTS]; /* what each placement makes of it */
};

static uint64_t random_state;
static struct {
    const struct said *variant;
    unsigned placement;
} calls[LOG];
static unsigned call_count;

static double noise(void)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (double)(test_random(&random_state) >> 11) * 0x1p-53;
    return sum - 6;
}

static struct said said_of(double factor, double placement)
{
    struct said said = {.factor = factor};
    for (int p = 0; p < PLACEMENTS; p++)
        said.placed[p] = 1 + placement * noise();
    return said;
}

static double timed(void *context, const void *variant, unsigned placement, uint64_t iterations)
{
    const struct said *said = variant;
    const double *scatter = context;
    if (call_count < LOG) {
        calls[call_count].variant = said;
        calls[call_count++].placement = placement;
    }
    double spoilt = test_random(&random_state) % 50 == 0 ? 4 : 1;
    return 100 * said->factor * said->placed[placement] * (1 + *scatter * noise()) * spoilt *
           (double)iterations;
}

static void add(struct claims *claims, const char *family, const char *name, bool aa,
                const struct said *base, const struct said *other, double *scatter)
{
    struct claim_row *row = claims_add(claims, 1, family, "%s", name);
    row->aa = aa;
    row->timed = timed;
    row->context = scatter;
    row->side[0] = (struct claim_side){"base", base, 0};
    row->side[1] = (struct claim_side){"other", other, 0};
}

START_TEST(a_planted_slowdown_of_one_per_cent_is_found_and_nothing_else)
{
    enum { RUNS = 20 };
    unsigned found = 0, invented = 0;
    random_state = test_seed_of_rates();
    for (int run = 0; run < RUNS; run++) {
        struct claims claims = {0};
        double scatter = 0.005;
        const struct said base = said_of(1, 0.003), same = said_of(1, 0.003);
        const struct said slower = said_of(1.01, 0.003), faster = said_of(0.97, 0.003);
        add(&claims, "f", "aa", true, &base, &same, &scatter);
        add(&claims, "f", "slower", false, &base, &slower, &scatter);
        add(&claims, "f", "faster", false, &base, &faster, &scatter);
        claims_measure(&claims, 0, 1);
        claims_judge(&claims);
        found += claims_find(&claims, 1, "slower")->effect.verdict == EFFECT_WORSE;
        invented += claims_find(&claims, 1, "aa")->effect.star;
        ck_assert_int_eq(claims_find(&claims, 1, "faster")->effect.verdict, EFFECT_BETTER);
        ck_assert_int_ne(claims_find(&claims, 1, "slower")->effect.verdict, EFFECT_BETTER);
        claims_free(&claims);
    }
    ck_assert_uint_ge(found, RUNS - 2);
    ck_assert_uint_le(invented, 2);
}
END_TEST

/* What nothing makes in a family is what a gain there must exceed. */
START_TEST(a_family_that_makes_much_out_of_nothing_decides_less)
{
    struct claims claims = {0};
    double scatter = 0.0005;
    random_state = test_seed_of_rates();
    const struct said base = said_of(1, 0.0005), unlike = said_of(0.96, 0.0005);
    const struct said faster = said_of(0.97, 0.0005);
    add(&claims, "odd", "odd/aa", true, &base, &unlike, &scatter);
    add(&claims, "odd", "odd/faster", false, &base, &faster, &scatter);
    add(&claims, "even", "even/aa", true, &base, &base, &scatter);
    add(&claims, "even", "even/faster", false, &base, &faster, &scatter);
    claims_measure(&claims, 0, 1);
    claims_judge(&claims);
    ck_assert_int_eq(claims_find(&claims, 1, "odd/faster")->effect.verdict, EFFECT_UNDECIDED);
    ck_assert_int_eq(claims_find(&claims, 1, "even/faster")->effect.verdict, EFFECT_BETTER);
    ck_assert_double_eq_tol(claims_find(&claims, 1, "even/aa")->effect.gain, 0, 0.5);
    ck_assert_ptr_null(claims_find(&claims, 2, "even/aa"));
    claims_free(&claims);
}
END_TEST

START_TEST(blocks_alternate_at_every_placement)
{
    struct claims claims = {0};
    double scatter = 0;
    random_state = 1;
    const struct said base = said_of(1, 0), other = said_of(1, 0);
    add(&claims, "f", "row", false, &base, &other, &scatter);
    claims.rows[0].batch_ns = 1; /* nothing to calibrate */
    call_count = 0;
    claims_measure(&claims, 0, 1);
    const struct claim_row *row = &claims.rows[0];
    ck_assert_uint_ge(row->count, 3 * PLACEMENTS);
    ck_assert_uint_eq(row->count % PLACEMENTS, 0);
    for (unsigned i = 1; i < row->count; i++)
        ck_assert_uint_ge(row->placement[i], row->placement[i - 1]);
    ck_assert_uint_eq(row->placement[row->count - 1], PLACEMENTS - 1);

    unsigned first[2] = {0, 0};
    for (unsigned i = 1; i + 4 <= call_count; i += 4) { /* the first call calibrates */
        const struct said *a = calls[i].variant, *b = calls[i + 1].variant;
        ck_assert_ptr_ne(a, b);
        ck_assert_ptr_eq(calls[i + 2].variant, b);
        ck_assert_ptr_eq(calls[i + 3].variant, a);
        for (unsigned k = 1; k < 4; k++)
            ck_assert_uint_eq(calls[i + k].placement, calls[i].placement);
        first[a == &other]++;
    }
    ck_assert_uint_eq(first[0], first[1]);
    claims_free(&claims);
}
END_TEST

/* Should time be short, it is missing for what no sentence is about. */
START_TEST(headlines_are_measured_first)
{
    struct claims claims = {0};
    double scatter = 0;
    random_state = 1;
    const struct said usual = said_of(1, 0), headline = said_of(1, 0);
    add(&claims, "f", "usual", false, &usual, &usual, &scatter);
    add(&claims, "f", "headline", false, &headline, &headline, &scatter);
    claims.rows[1].headline = true;
    call_count = 0;
    claims_measure(&claims, 0, 1);
    ck_assert_ptr_eq(calls[0].variant, &headline);
    ck_assert_uint_ge(claims.rows[0].count, 3 * PLACEMENTS);
    ck_assert_uint_ge(claims.rows[1].count, 3 * PLACEMENTS);
    claims_free(&claims);
}
END_TEST

START_TEST(a_run_without_time_left_says_so)
{
    struct claims claims = {0};
    double scatter = 0;
    random_state = 1;
    const struct said base = said_of(1, 0);
    add(&claims, "f", "row", false, &base, &base, &scatter);
    claims_measure(&claims, 0, 0);
    claims_judge(&claims);
    ck_assert_uint_eq(claims.rows[0].count, 0);
    ck_assert_str_eq(claims.rows[0].note, "no time was left for it");
    ck_assert_int_eq(claims.rows[0].effect.verdict, EFFECT_UNDECIDED);
    ck_assert(isnan(claims.rows[0].effect.low));
    claims_free(&claims);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.claims_judged");
    TCase *tcase = tcase_create("claims");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_planted_slowdown_of_one_per_cent_is_found_and_nothing_else);
    tcase_add_test(tcase, a_family_that_makes_much_out_of_nothing_decides_less);
    tcase_add_test(tcase, blocks_alternate_at_every_placement);
    tcase_add_test(tcase, headlines_are_measured_first);
    tcase_add_test(tcase, a_run_without_time_left_says_so);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
