/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "score.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 24 };

static const char *rivals[] = {"c/add/slow/size:1", "c/add/quick/size:1", "c/sum/slow/size:1"};

/* A pair in which each block took the rival `ratio` times as long as us. */
static struct pair_result measured(double ratio)
{
    struct pair_result pair = {
        .status = PAIR_MEASURED, .blocks = calloc(BLOCKS, sizeof(struct block)), .count = BLOCKS};
    ck_assert_ptr_nonnull(pair.blocks);
    for (unsigned i = 0; i < BLOCKS; i++)
        pair.blocks[i] = (struct block){2, 2 * ratio, 1, i % 2 == 0, i * 3 / BLOCKS};
    return pair;
}

static struct pair_result unmeasured(enum pair_status status, const char *reason)
{
    struct pair_result pair = {.status = status};
    strcpy(pair.reason, reason);
    return pair;
}

/* A goal of `count` cells with `rival_count` rivals each; the pairs are given cell by cell. */
struct fixture {
    struct goal goal;
    struct plan_cell plan[4];
    struct goal_score score;
};

static void make(struct fixture *f, unsigned count, unsigned rival_count,
                 const struct pair_result *pairs)
{
    static const char *const ours[] = {"c/add/fastmm/size:1", "c/add/fastmm/size:2",
                                       "c/add/fastmm/size:3", "c/add/fastmm/size:4"};
    *f = (struct fixture){.goal = {.id = (char *)"g"}};
    f->score = (struct goal_score){.goal = &f->goal, .total = count + 1, .count = count};
    f->score.cells = calloc(count + 1, sizeof(*f->score.cells));
    ck_assert_ptr_nonnull(f->score.cells);
    for (unsigned c = 0; c < count; c++) {
        struct cell_score *cell = &f->score.cells[c];
        f->plan[c] = (struct plan_cell){ours[c], rivals, rival_count};
        cell->cell = &f->plan[c];
        cell->pairs = calloc(rival_count, sizeof(*cell->pairs));
        ck_assert_ptr_nonnull(cell->pairs);
        memcpy(cell->pairs, pairs + c * rival_count, rival_count * sizeof(*pairs));
        score_cell(cell);
    }
    score_goal(&f->score);
}

START_TEST(a_goal_is_the_geometric_mean_of_its_cells)
{
    struct fixture f;
    struct pair_result pairs[] = {measured(2), measured(8)};
    make(&f, 2, 1, pairs);
    ck_assert_uint_eq(f.score.measured, 2);
    ck_assert_double_eq_tol(f.score.geomean, 4, 1e-9);
    ck_assert_double_eq_tol(f.score.interval.low, 4, 1e-9);
    ck_assert_double_eq_tol(f.score.interval.high, 4, 1e-9);
    ck_assert_double_eq(f.score.worst, 2);
    ck_assert_str_eq(f.score.worst_cell->cell->ours, "c/add/fastmm/size:1");
    ck_assert_str_eq(score_verdict(&f.score), "ahead");
    ck_assert_str_eq(score_target(&f.score), "-");
    ck_assert_double_eq(score_time(&f.score.cells[1].pairs[0], true), 2);
    ck_assert_double_eq(score_time(&f.score.cells[1].pairs[0], false), 16);
    score_free(&f.score);
}
END_TEST

START_TEST(each_cell_meets_its_best_rival)
{
    struct fixture f;
    struct pair_result pairs[] = {measured(3), measured(2), measured(0.5), measured(4)};
    make(&f, 2, 2, pairs);
    ck_assert_uint_eq(f.score.cells[0].best, 1);
    ck_assert_uint_eq(f.score.cells[1].best, 0);
    ck_assert_double_eq_tol(f.score.geomean, 1, 1e-9);
    ck_assert_str_eq(score_verdict(&f.score), "even");
    score_free(&f.score);
}
END_TEST

START_TEST(the_target_is_met_only_by_mean_and_worst)
{
    static const struct {
        double geomean, worst;
        const char *target;
    } cases[] = {{4, 2, "met"},      {0, 2, "met"},      {4, 0, "met"},     {0, 0, "-"},
                 {4.1, 2, "missed"}, {4, 2.1, "missed"}, {0, 2.1, "missed"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct pair_result pairs[] = {measured(2), measured(8.0001)};
        make(&f, 2, 1, pairs);
        f.goal.target_geomean = cases[i].geomean;
        f.goal.target_worst = cases[i].worst;
        score_goal(&f.score);
        ck_assert_str_eq(score_target(&f.score), cases[i].target);
        score_free(&f.score);
    }
}
END_TEST

START_TEST(a_missing_rival_leaves_the_others)
{
    struct fixture f;
    struct pair_result pairs[] = {unmeasured(PAIR_SKIPPED, "not installed"), measured(3)};
    make(&f, 1, 2, pairs);
    ck_assert_uint_eq(f.score.measured, 1);
    ck_assert_uint_eq(f.score.cells[0].best, 1);
    ck_assert_double_eq_tol(f.score.geomean, 3, 1e-9);
    score_free(&f.score);
}
END_TEST

START_TEST(nothing_measured_is_skipped_with_the_reason)
{
    struct fixture f;
    struct pair_result pairs[] = {unmeasured(PAIR_SKIPPED, "one CPU"),
                                  unmeasured(PAIR_SKIPPED, "two")};
    make(&f, 2, 1, pairs);
    f.goal.target_geomean = 1;
    ck_assert_uint_eq(f.score.measured, 0);
    ck_assert_str_eq(score_verdict(&f.score), "skipped");
    ck_assert_str_eq(score_target(&f.score), "-");
    ck_assert_str_eq(f.score.reason, "one CPU");
    ck_assert(!f.score.wrong);
    score_free(&f.score);

    make(&f, 0, 1, NULL);
    ck_assert_str_eq(score_verdict(&f.score), "skipped");
    ck_assert_ptr_nonnull(f.score.reason);
    score_free(&f.score);
}
END_TEST

START_TEST(a_different_result_voids_the_goal)
{
    struct fixture f;
    struct pair_result pairs[] = {measured(3), unmeasured(PAIR_DIFFERENT, "different result")};
    make(&f, 2, 1, pairs);
    ck_assert(f.score.wrong);
    ck_assert_uint_eq(f.score.measured, 0);
    ck_assert_str_eq(score_verdict(&f.score), "skipped");
    ck_assert_str_eq(f.score.reason, "different result");
    score_free(&f.score);

    struct pair_result broken[] = {measured(3), unmeasured(PAIR_BROKEN, "ended by signal 11")};
    make(&f, 1, 2, broken);
    ck_assert(f.score.wrong);
    ck_assert_str_eq(f.score.reason, "ended by signal 11");
    score_free(&f.score);
}
END_TEST

START_TEST(the_worst_cells_come_least_first)
{
    struct fixture f;
    struct cell_score *worst[3];
    struct pair_result pairs[] = {measured(5), measured(2), unmeasured(PAIR_SKIPPED, "no"),
                                  measured(3)};
    make(&f, 4, 1, pairs);
    ck_assert_uint_eq(score_worst(&f.score, worst, 2), 2);
    ck_assert_ptr_eq(worst[0], &f.score.cells[1]);
    ck_assert_ptr_eq(worst[1], &f.score.cells[3]);
    ck_assert_uint_eq(score_worst(&f.score, worst, 3), 3);
    ck_assert_ptr_eq(worst[2], &f.score.cells[0]);
    score_free(&f.score);
}
END_TEST

START_TEST(a_cell_that_was_skipped_the_second_time_does_not_count)
{
    struct fixture f;
    struct pair_result pairs[] = {measured(2), measured(8)};
    make(&f, 2, 1, pairs);
    free(f.score.cells[0].pairs[0].blocks);
    f.score.cells[0].pairs[0] = unmeasured(PAIR_SKIPPED, "no time");
    score_cell(&f.score.cells[0]);
    score_goal(&f.score);
    ck_assert_uint_eq(f.score.measured, 1);
    ck_assert_double_eq_tol(f.score.geomean, 8, 1e-9);
    score_free(&f.score);
}
END_TEST

START_TEST(the_baseline_names_each_implementation_once)
{
    struct fixture f;
    char text[64];
    struct pair_result pairs[] = {measured(1), measured(1), measured(1),
                                  measured(1), measured(1), measured(1)};
    make(&f, 2, 3, pairs);
    score_baseline(&f.score, text, sizeof(text));
    ck_assert_str_eq(text, "slow quick");
    score_baseline(&f.score, text, 7);
    ck_assert_str_eq(text, "slow");
    score_free(&f.score);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.score");
    TCase *tc = tcase_create("score");
    tcase_add_test(tc, a_goal_is_the_geometric_mean_of_its_cells);
    tcase_add_test(tc, each_cell_meets_its_best_rival);
    tcase_add_test(tc, the_target_is_met_only_by_mean_and_worst);
    tcase_add_test(tc, a_missing_rival_leaves_the_others);
    tcase_add_test(tc, nothing_measured_is_skipped_with_the_reason);
    tcase_add_test(tc, a_different_result_voids_the_goal);
    tcase_add_test(tc, the_worst_cells_come_least_first);
    tcase_add_test(tc, a_cell_that_was_skipped_the_second_time_does_not_count);
    tcase_add_test(tc, the_baseline_names_each_implementation_once);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
