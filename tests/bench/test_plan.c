/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "plan.h"

#include <errno.h>
#include <string.h>

static char *const names[] = {
    "c/add/fastmm/size:1", "c/add/fastmm/size:2", "c/add/fastmm/size:1/threads:2",
    "c/add/slow/size:1",   "c/add/slow/size:2",   "c/add/slow/size:1/threads:2",
    "c/add/quick/size:1",  "c/add/quick/size:3",  "c/sum/fastmm",
    "c/sum/slow",
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static struct goal goal(const char *ours, const char *rivals, const char *keys, const char *cells)
{
    return (struct goal){.id = "g",
                         .ours = (char *)ours,
                         .rivals = (char *)rivals,
                         .keys = (char *)keys,
                         .cells = (char *)cells};
}

static int plan(struct goal g, bool full, struct plan *out, char *error, size_t size)
{
    return plan_goal(&g, names, NAMES, full, out, error, size);
}

START_TEST(cells_find_their_rivals)
{
    struct plan p;
    char error[512];
    struct goal g = goal("c/add/fastmm/*", "c/add/slow/* c/add/quick/*", "size threads", "*");
    ck_assert_int_eq(plan(g, false, &p, error, sizeof(error)), 0);
    ck_assert_uint_eq(p.count, 3);
    ck_assert_uint_eq(p.total, 3);
    ck_assert_str_eq(p.cells[0].ours, "c/add/fastmm/size:1");
    ck_assert_uint_eq(p.cells[0].rival_count, 2);
    ck_assert_str_eq(p.cells[0].rivals[0], "c/add/slow/size:1");
    ck_assert_str_eq(p.cells[0].rivals[1], "c/add/quick/size:1");
    ck_assert_uint_eq(p.cells[1].rival_count, 1);
    ck_assert_str_eq(p.cells[2].rivals[0], "c/add/slow/size:1/threads:2");
    ck_assert_uint_eq(plan_pairs(&p), 4);
    plan_free(&p);
}
END_TEST

START_TEST(the_default_run_takes_its_cells)
{
    struct plan p;
    char error[512];
    struct goal g = goal("c/add/fastmm/*", "c/add/slow/*", "size threads", "*size:2");
    ck_assert_int_eq(plan(g, false, &p, error, sizeof(error)), 0);
    ck_assert_uint_eq(p.count, 1);
    ck_assert_uint_eq(p.total, 3);
    ck_assert_str_eq(p.cells[0].ours, "c/add/fastmm/size:2");
    plan_free(&p);

    ck_assert_int_eq(plan(g, true, &p, error, sizeof(error)), 0);
    ck_assert_uint_eq(p.count, 3);
    plan_free(&p);

    g.cells = (char *)"-";
    ck_assert_int_eq(plan(g, false, &p, error, sizeof(error)), 0);
    ck_assert_uint_eq(p.count, 0);
    ck_assert_uint_eq(plan_pairs(&p), 0);
    plan_free(&p);
}
END_TEST

START_TEST(a_case_may_meet_itself)
{
    struct plan p;
    char error[512];
    struct goal g = goal("c/sum/fastmm", "c/sum/fastmm", "-", "*");
    ck_assert_int_eq(plan(g, false, &p, error, sizeof(error)), 0);
    ck_assert_str_eq(p.cells[0].rivals[0], p.cells[0].ours);
    plan_free(&p);
}
END_TEST

START_TEST(what_pairs_with_nothing_is_refused)
{
    static const struct {
        const char *ours, *rivals, *keys, *cells, *says;
    } cases[] = {
        {"c/none/*", "c/add/slow/*", "size", "*", "c/none/*"},
        {"c/add/fastmm/*", "c/none/*", "size", "*", "c/none/*"},
        {"c/add/fastmm/*", "c/add/slow/size:2", "size", "*", "c/add/fastmm/size:1"},
        {"c/add/fastmm/* c/none", "c/add/slow/*", "size", "*", "c/none"},
        {"c/add/fastmm/*", "c/add/slow/* c/none", "size", "*", "c/none"},
        {"c/add/fastmm/size:2", "c/add/slow/* c/add/quick/*", "size", "*", "c/add/quick/*"},
        {"c/add/fastmm/*", "c/add/slow/*", "size", "*size:9", "*size:9"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan p;
        char error[512] = "";
        struct goal g = goal(cases[i].ours, cases[i].rivals, cases[i].keys, cases[i].cells);
        ck_assert_int_eq(plan(g, true, &p, error, sizeof(error)), -EINVAL);
        ck_assert_msg(strstr(error, "goal g: "), "%s", error);
        ck_assert_msg(strstr(error, cases[i].says), "%s should say %s", error, cases[i].says);
    }
}
END_TEST

START_TEST(threads_have_no_place_in_a_single_threaded_process)
{
    struct plan p;
    char error[512];
    struct goal ours = goal("c/add/fastmm/*", "c/add/slow/size:1", "-", "*");
    struct goal rival = goal("c/add/fastmm/size:1", "c/add/slow/*", "size", "*");
    ours.single = rival.single = true;
    ck_assert_int_eq(plan(ours, true, &p, error, sizeof(error)), -EINVAL);
    ck_assert(strstr(error, "threads:2"));
    ck_assert_int_eq(plan(rival, true, &p, error, sizeof(error)), -EINVAL);
    ck_assert(strstr(error, "slow/size:1/threads:2"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.plan");
    TCase *tc = tcase_create("plan");
    tcase_add_test(tc, cells_find_their_rivals);
    tcase_add_test(tc, the_default_run_takes_its_cells);
    tcase_add_test(tc, a_case_may_meet_itself);
    tcase_add_test(tc, what_pairs_with_nothing_is_refused);
    tcase_add_test(tc, threads_have_no_place_in_a_single_threaded_process);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
