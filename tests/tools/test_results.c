/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "results.h"

#include <string.h>

static int parse(const char *text, struct results *out, struct tool_error *error)
{
    return results_parse("file", text, strlen(text), out, error);
}

START_TEST(a_scorecard_gives_a_series_for_each_case)
{
    struct results r;
    struct tool_error error;
    ck_assert_int_eq(
        parse("{\"format\":1,\"machine\":{\"cpu\":\"X\",\"cpus\":2},\"goals\":[{\"id\":\"g\","
              "\"cells\":["
              "{\"ours\":\"a\",\"pairs\":[{\"rival\":\"b\",\"blocks\":[[0,\"ABBA\",1,2,1],[0,"
              "\"BAAB\",3,4,1],"
              "[1,\"ABBA\",5,6,1]]},{\"rival\":\"c\",\"blocks\":[[0,\"ABBA\",7,8,1]]}]}]},"
              "{\"id\":\"h\",\"cells\":[{\"ours\":\"a\",\"pairs\":[{\"rival\":\"d\",\"blocks\":["
              "[1,\"ABBA\",9,9,1]]},{\"rival\":\"e\",\"blocks\":[]}]}]}]}",
              &r, &error),
        0);
    ck_assert_str_eq(r.kind, "scorecard");
    ck_assert_str_eq(results_fact(&r, "cpu"), "X");
    ck_assert_str_eq(results_fact(&r, "cpus"), "2");
    ck_assert_ptr_null(results_fact(&r, "kernel"));
    ck_assert_uint_eq(r.series_count, 4); /* none of e, which was never measured */
    const struct results_series *a = results_find(&r, "a"), *c = results_find(&r, "c");
    /* A round of a goal is a process, in which the case was measured against each rival. */
    const unsigned clusters[] = {1, 1, 1, 2, 3};
    const double values[] = {1, 3, 7, 5, 9};
    ck_assert_uint_eq(a->count, 5);
    ck_assert_mem_eq(a->cluster, clusters, sizeof(clusters));
    ck_assert_mem_eq(a->value, values, sizeof(values));
    ck_assert_double_eq(c->value[0], 8);
    results_free(&r);
}
END_TEST

START_TEST(claims_give_both_sides_of_each_comparison)
{
    struct results r;
    struct tool_error error;
    ck_assert_int_eq(
        parse("{\"machine\":{},\"comparisons\":[{\"name\":\"n\",\"base\":\"x\",\"other\":\"y\","
              "\"blocks\":[[0,1,2],[0,3,4],[1,5,6]]}]}",
              &r, &error),
        0);
    const struct results_series *y = results_find(&r, "n/y");
    ck_assert_uint_eq(y->count, 3);
    ck_assert_double_eq(y->value[2], 6);
    ck_assert_uint_eq(y->cluster[2], 2);
    ck_assert_ptr_nonnull(results_find(&r, "n/x"));
    results_free(&r);
}
END_TEST

START_TEST(google_benchmark_gives_its_repetitions)
{
    struct results r;
    struct tool_error error;
    ck_assert_int_eq(
        parse(
            "{\"context\":{\"host_name\":\"secret\",\"num_cpus\":2},\"benchmarks\":["
            "{\"run_name\":\"c\",\"run_type\":\"iteration\",\"real_time\":2,\"time_unit\":\"us\"},"
            "{\"run_name\":\"c\",\"run_type\":\"iteration\",\"real_time\":3,\"time_unit\":\"us\"},"
            "{\"run_name\":\"d\",\"run_type\":\"iteration\",\"error_occurred\":true},"
            "{\"run_name\":\"c\",\"run_type\":\"aggregate\",\"real_time\":9,\"time_unit\":\"us\"}]"
            "}",
            &r, &error),
        0);
    ck_assert_uint_eq(r.series_count, 1);
    ck_assert_uint_eq(r.series[0].count, 2);
    ck_assert_double_eq(r.series[0].value[1], 3000);
    ck_assert_uint_eq(r.series[0].clusters, 2);
    ck_assert_ptr_null(results_fact(&r, "host_name"));
    ck_assert_str_eq(results_fact(&r, "num_cpus"), "2");
    results_free(&r);
}
END_TEST

static const struct {
    const char *text, *error;
} junk[] = {
    {"[]", "file: no result of our benches"},
    {"{\"goals\":1}", "file: no result of our benches"},
    {"{\"goals\":[]}", "file: there are no times in it"},
    {"{\"goals\":[{\"id\":\"g\"}]}", "file: g: a goal without 'cells'"},
    {"{\"goals\":[7]}", "file: a goal without 'cells'"},
    {"{\"goals\":[{\"cells\":[{\"ours\":\"a\"}]}]}", "file: a: a cell without 'ours' or 'pairs'"},
    {"{\"goals\":[{\"cells\":[{\"ours\":\"a\",\"pairs\":[{}]}]}]}", "file: a: a pair without"},
    {"{\"goals\":[{\"cells\":[{\"ours\":\"a\",\"pairs\":[{\"rival\":\"b\",\"blocks\":[[0,\"\",0,1]]"
     "}]}]}]}",
     "file: a: a block without"},
    {"{\"goals\":[{\"cells\":[{\"ours\":\"a\",\"pairs\":[{\"rival\":\"b\",\"blocks\":[5]}]}]}]}",
     "file: a: a block without"},
    {"{\"comparisons\":[{\"name\":\"n\"}]}", "file: n: a comparison without"},
    {"{\"comparisons\":[{\"name\":\"n\",\"base\":\"x\",\"other\":\"y\",\"blocks\":[[0,1]]}]}",
     "file: a block without"},
    {"{\"benchmarks\":[{}]}", "file: a run without 'run_name'"},
    {"{\"benchmarks\":[{\"run_name\":\"c\",\"run_type\":\"iteration\",\"real_time\":2,"
     "\"time_unit\":\"fortnight\"}]}",
     "file: c: a run without 'real_time'"},
    {"{", "file:1:2: a key is missing"},
};

START_TEST(junk_is_refused_by_what_is_wrong)
{
    struct results r;
    struct tool_error error;
    ck_assert_int_eq(parse(junk[_i].text, &r, &error), -1);
    ck_assert_msg(strncmp(error.text, junk[_i].error, strlen(junk[_i].error)) == 0, "%s",
                  error.text);
    ck_assert_uint_eq(r.series_count, 0);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    struct results r;
    struct tool_error error;
    ck_assert_int_eq(results_read("/no/such/file", &r, &error), -1);
    ck_assert_str_eq(error.text, "/no/such/file: No such file or directory");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.results");
    TCase *tcase = tcase_create("results");
    tcase_add_test(tcase, a_scorecard_gives_a_series_for_each_case);
    tcase_add_test(tcase, claims_give_both_sides_of_each_comparison);
    tcase_add_test(tcase, google_benchmark_gives_its_repetitions);
    tcase_add_loop_test(tcase, junk_is_refused_by_what_is_wrong, 0,
                        (int)(sizeof(junk) / sizeof(junk[0])));
    tcase_add_test(tcase, a_missing_file_is_named);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
