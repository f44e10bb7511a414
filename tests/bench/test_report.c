/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "report.h"
#include "table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOSTILE "a \"quoted\", \\ and\ttab \xff"

/* Two goals, one of them skipped, with names that need escaping. */
static const char *rivals[] = {"c/add/slow/size:1"};
static struct plan_cell plan_cell = {"c/add/fastmm/size:1", rivals, 1};
static struct block blocks[] = {{1, 2, 1, true, 0}, {1, 2, 0.95, false, 1}};
static struct pair_result pair = {PAIR_MEASURED, "", false, blocks, 2, 0.1};
static struct pair_result no_pair = {PAIR_SKIPPED, HOSTILE, false, NULL, 0, 0};
static struct cell_score cell = {
    .cell = &plan_cell, .pairs = &pair, .again = true, .first_ratio = 1.9};
static struct cell_score no_cell = {.cell = &plan_cell, .pairs = &no_pair};
static struct goal goals[] = {
    {.id = (char *)"good", .what = (char *)HOSTILE, .target_geomean = 1.5, .target_worst = 3},
    {.id = (char *)"bad", .what = (char *)"plain"}};
static struct goal_score scores[] = {
    {.goal = &goals[0], .total = 4, .count = 1, .cells = &cell},
    {.goal = &goals[1], .total = 1, .count = 1, .cells = &no_cell}};
static struct machine machine = {.facts = 1, .warnings = 1};
static char *figures[] = {(char *)"c/memory/fastmm\tbytes\t16", (char *)HOSTILE,
                          (char *)"c/spread/fastmm\tp50_ns\t20",
                          (char *)"c/spread/fastmm\tworst_ns\t1.5e6"};
static struct report report = {scores, 2, &machine, "default", 1.5, figures, 4};

static void fill(void)
{
    machine.fact[0].key = "cpu";
    machine.fact[0].value = (char *)HOSTILE;
    machine.warning[0] = (char *)HOSTILE;
    score_cell(&cell);
    score_cell(&no_cell);
    score_goal(&scores[0]);
    score_goal(&scores[1]);
}

static char *render(void (*write)(FILE *, const struct report *))
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    ck_assert_ptr_nonnull(file);
    write(file, &report);
    fclose(file);
    return out;
}

START_TEST(csv_has_the_promised_lines)
{
    fill();
    char *csv = render(report_csv);
    ck_assert_str_eq(
        csv, "id,what,baseline,cells,geomean,low,high,worst,worst_cell,verdict,target_geomean,"
             "target_worst,target\n"
             "good,\"a \"\"quoted\"\", \\ and\ttab \xff\",slow,1 of 4,2.000,2.000,2.000,2.000,"
             "c/add/fastmm/size:1,ahead,1.500,3.000,missed\n"
             "bad,plain,slow,0 of 1,-,-,-,-,-,\"skipped: a \"\"quoted\"\", \\ and\ttab \xff\",-,-,"
             "-\n");
    free(csv);
}
END_TEST

START_TEST(figures_have_a_line_for_each_case)
{
    fill();
    char *table = render(table_print);
    const char *found = strstr(table, "\nAlso found:\n");
    ck_assert_ptr_nonnull(found);
    ck_assert_str_eq(found, "\nAlso found:\n  c/memory/fastmm: 16 bytes\n"
                            "  c/spread/fastmm: 20 p50_ns, 1500000 worst_ns\n");
    free(table);
}
END_TEST

/* A pair without digests is compared all the same; the report says so. */
START_TEST(a_pair_without_results_is_told)
{
    fill();
    char *json = render(report_json);
    ck_assert_ptr_nonnull(strstr(json, "\"results_compared\": true"));
    free(json);
    pair.unchecked = true;
    json = render(report_json);
    char *table = render(table_print);
    pair.unchecked = false;
    ck_assert_ptr_null(strstr(json, "\"results_compared\": true"));
    ck_assert_ptr_nonnull(strstr(table, "good: 1 pairs were timed without a result to compare."));
    free(json);
    free(table);
}
END_TEST

/* A strict reader of JSON that keeps nothing: returns what follows the value, or NULL. */
static const char *json_value(const char *s);

static const char *json_space(const char *s)
{
    return s ? s + strspn(s, " \t\r\n") : NULL;
}

static const char *json_string(const char *s)
{
    for (s++; *s != '"'; s++) {
        if ((unsigned char)*s < ' ')
            return NULL;
        if (*s != '\\')
            continue;
        s++;
        if (*s == 'u') {
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++s))
                    return NULL;
        } else if (!*s || !strchr("\"\\/bfnrt", *s)) {
            return NULL;
        }
    }
    return s + 1;
}

static const char *json_members(const char *s, char close, bool named)
{
    s = json_space(s + 1);
    if (*s == close)
        return s + 1;
    for (;; s++) {
        s = json_space(s);
        if (named) {
            if (*s != '"' || !(s = json_space(json_string(s))) || *s != ':')
                return NULL;
            s++;
        }
        s = json_space(json_value(s));
        if (!s || (*s != ',' && *s != close))
            return NULL;
        if (*s == close)
            return s + 1;
    }
}

static const char *json_value(const char *s)
{
    static const char *const words[] = {"true", "false", "null"};
    s = json_space(s);
    if (*s == '{')
        return json_members(s, '}', true);
    if (*s == '[')
        return json_members(s, ']', false);
    if (*s == '"')
        return json_string(s);
    for (int i = 0; i < 3; i++)
        if (strncmp(s, words[i], strlen(words[i])) == 0)
            return s + strlen(words[i]);
    char *end;
    if (*s != '-' && !isdigit((unsigned char)*s))
        return NULL;
    strtod(s, &end);
    return end > s ? end : NULL;
}

START_TEST(json_is_well_formed_and_holds_everything)
{
    fill();
    char *json = render(report_json);
    const char *end = json_space(json_value(json));
    ck_assert_msg(end && !*end, "not JSON: %s", json);
    ck_assert_ptr_nonnull(
        strstr(json, "\"c/spread/fastmm\", \"name\": \"worst_ns\", \"value\": 1500000}"));
    static const char *const expected[] = {
        "\"cpu\": \"a \\\"quoted\\\", \\\\ and\\u0009tab \\ufffd\"",
        "\"verdict\": \"ahead\"",
        "\"target\": \"missed\"",
        "\"ratio_before_measured_again\": 1.9",
        "[0, \"ABBA\", 1, 2, 1.000], [1, \"BAAB\", 1, 2, 0.950]",
        "\"ours_ns\": 1, \"rival_ns\": 2",
        "\"verdict\": \"skipped\"",
        "\"geomean\": null",
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        ck_assert_msg(strstr(json, expected[i]), "%s is not in %s", expected[i], json);
    free(json);
}
END_TEST

START_TEST(the_table_names_every_goal)
{
    fill();
    char *table = render(table_print);
    ck_assert_msg(strstr(table, "ahead"), "%s", table);
    ck_assert(strstr(table, "1 of 4"));
    ck_assert(strstr(table, "bad"));
    ck_assert(strstr(table, "2 goals: 1 ahead, 0 even, 0 behind, 0 undecided, 1 skipped; "
                            "targets: 0 met, 1 missed."));
    free(table);
}
END_TEST

static char directory[] = "/tmp/fastmm-report-XXXXXX";

START_TEST(files_are_written_whole)
{
    char nested[128], path[160], error[256];
    struct stat info;
    fill();
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(nested, sizeof(nested), "%s/a/b", directory);
    ck_assert_int_eq(report_prepare(nested, error, sizeof(error)), 0);
    snprintf(path, sizeof(path), "%s/scorecard.csv", nested);
    ck_assert_int_ne(stat(path, &info), 0); /* nothing until there is something to say */
    ck_assert_int_eq(report_write(nested, &report, error, sizeof(error)), 0);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_gt(info.st_size, 0);
    ck_assert_int_eq(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/results.json", nested);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(nested), 0); /* no partial file is left */
    snprintf(nested, sizeof(nested), "%s/a", directory);
    rmdir(nested);
    rmdir(directory);
}
END_TEST

START_TEST(a_directory_that_cannot_be_is_refused_early)
{
    char error[256];
    ck_assert_int_lt(report_prepare("/proc/report", error, sizeof(error)), 0);
    ck_assert(strstr(error, "/proc/report"));
    ck_assert_int_lt(report_prepare("/dev/null/report", error, sizeof(error)), 0);
    ck_assert(strstr(error, "/dev/null/report"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.report");
    TCase *tc = tcase_create("report");
    tcase_add_test(tc, a_pair_without_results_is_told);
    tcase_add_test(tc, csv_has_the_promised_lines);
    tcase_add_test(tc, json_is_well_formed_and_holds_everything);
    tcase_add_test(tc, the_table_names_every_goal);
    tcase_add_test(tc, figures_have_a_line_for_each_case);
    tcase_add_test(tc, files_are_written_whole);
    tcase_add_test(tc, a_directory_that_cannot_be_is_refused_early);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
