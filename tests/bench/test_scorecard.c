/* SPDX-License-Identifier: MIT */
/*
 * The whole way from goals to files, and Google Benchmark's rates, over the cases of synthetic.c,
 * whose times are said by the cases: no outcome here depends on how fast the machine is.
 */
#include "test_main.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER    BENCH_DIRECTORY "/fastmm-bench --goals " SYNTHETIC_GOALS " "
#define SYNTHETIC BENCH_DIRECTORY "/fastmm-bench-synthetic "

static char output[1 << 20];

/* Runs a shell command, keeps what it printed in `output` and returns its exit status. */
static int run(const char *command)
{
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t length = fread(output, 1, sizeof(output) - 1, pipe);
    output[length] = '\0';
    int status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status), "%s: %s", command, output);
    return WEXITSTATUS(status);
}

static void expect(const char *text)
{
    ck_assert_msg(strstr(output, text), "'%s' is not in: %s", text, output);
}

START_TEST(outcomes_of_a_run)
{
    char directory[] = "/tmp/fastmm-score-XXXXXX", command[512];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(command, sizeof(command), DRIVER "--report %s 'said.*' crash 'count.*' 2>/dev/null",
             directory);
    ck_assert_int_eq(run(command), 1); /* for the wrong result and the crash */
    snprintf(command, sizeof(command), "cat %s/scorecard.csv && rm -r %s", directory, directory);
    ck_assert_int_eq(run(command), 0);

    expect("\nsaid.double,\"said to take twice, or \"\"double\"\", our time\",double,2 of 3,2.000,"
           "2.000,2.000,2.000,synthetic/said/fastmm/size:1,ahead,1.900,1.900,met\n");
    expect(",3 of 3,2.000,2.000,2.000,2.000,synthetic/said/fastmm/size:1,ahead,2.500,-,missed\n");
    expect("\nsaid.missing,a rival that can't run,missing,0 of 1,-,-,-,-,-,\"skipped: "
           "synthetic/said/missing/size:1: no feature, \"\"by design\"\"\",1.000,1.000,-\n");
    expect("\nsaid.wrong,a rival with another result,wrong,0 of 1,-,-,-,-,-,\"skipped: different "
           "result (ours, rival: 0000000000000000, 0000000000000001)\",1.000,1.000,-\n");
    expect("\nsaid.later,not in the default run,-,0 of 3,-,-,-,-,-,skipped: no cell in the default "
           "run,-,-,-\n");
    expect("ended by signal 9, measuring synthetic/crash/fastmm and synthetic/crash/rival");
    /* Their digest is the number of threads in the process. */
    expect("\ncount.single,a process that never made a thread,says,1 of 1,1.000");
    expect("\ncount.threaded,a process that made one,says,1 of 1,1.000");
}
END_TEST

/* One of the two rivals can't run: the table says how many counted, and which did not. */
START_TEST(a_rival_that_cannot_run_is_named)
{
    char directory[] = "/tmp/fastmm-score-XXXXXX", command[1024];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(command, sizeof(command),
             "cd %s && { echo '# reference part: another, '; grep -v ^# " SYNTHETIC_GOALS
             " | head -n 1; echo 'some,two rivals,synthetic,single,synthetic/said/fastmm/size:1,"
             "synthetic/said/double/* synthetic/said/missing/*,size,*,1.5,-'; } >goals.csv "
             "&& " BENCH_DIRECTORY
             "/fastmm-bench --goals goals.csv --report . 2>&1 && cat scorecard.csv",
             directory);
    ck_assert_int_eq(run(command), 0);
    expect("best of 1, 1 left out");
    expect("some: not compared with missing, which can't run here");
    /* Those that counted, and no target: it was set for another part. */
    expect("\nsome,two rivals,double,1 of 1,2.000,2.000,2.000,2.000,synthetic/said/fastmm/size:1,"
           "ahead,-,-,-\n");
    expect("Targets are left out: they were set for another part (another, ).");
    snprintf(command, sizeof(command), "rm -r %s", directory);
    ck_assert_int_eq(run(command), 0);
}
END_TEST

START_TEST(only_what_is_wrong_fails_a_run)
{
    ck_assert_int_eq(run(DRIVER "said.missing said.later 2>&1"), 0);
    ck_assert_int_eq(run(DRIVER "said.wrong 2>&1"), 1);
    ck_assert_int_eq(run(DRIVER "crash 2>&1"), 1);
}
END_TEST

START_TEST(different_results_are_not_timed)
{
    ck_assert_int_eq(run("printf 'synthetic/said/fastmm/size:1\\tsynthetic/said/wrong/size:1\\t1\\t"
                         "9\\t0\\n' | " SYNTHETIC "--compare=single"),
                     0);
    ck_assert_str_eq(output, "differ\t0000000000000000, 0000000000000001\n");
}
END_TEST

START_TEST(what_has_no_result_to_compare_is_told)
{
    ck_assert_int_eq(
        run("printf 'synthetic/crash/fastmm\\tsynthetic/crash/fastmm\\t0.01\\t9\\t0\\n' "
            "| " SYNTHETIC "--compare=single"),
        0);
    ck_assert_int_eq(strncmp(output, "unchecked\nblock\t", strlen("unchecked\nblock\t")), 0);
}
END_TEST

START_TEST(a_full_run_takes_every_cell)
{
    ck_assert_int_eq(run(DRIVER "full said.double said.later 2>&1"), 0);
    expect("3 of 3");
    expect("2 goals: 2 ahead");
    ck_assert(!strstr(output, "Report:")); /* goals were named, and no directory */
}
END_TEST

START_TEST(mistakes_are_refused_before_measuring)
{
    static const struct {
        const char *command, *says;
    } cases[] = {
        {DRIVER "nosuch 2>&1", "no goal 'nosuch'"},
        {DRIVER "said.best 'no*' 2>&1", "no goal 'no*'"},
        {DRIVER "--report /proc/report said.double 2>&1", "/proc/report"},
        {DRIVER "--wrong 2>&1", "usage"},
        {BENCH_DIRECTORY "/fastmm-bench --goals /nonexistent.csv 2>&1", "/nonexistent.csv"},
        {BENCH_DIRECTORY "/fastmm-bench --goals /dev/null check 2>&1", "/dev/null:0: "},
        {SYNTHETIC "--benchmark_filter=nosuch 2>&1", "nosuch"},
        {SYNTHETIC "--benchmark_filter='(' 2>&1", "regular expression"},
        {SYNTHETIC "--nosuch 2>&1", "--nosuch"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_msg(run(cases[i].command) == 2, "%s: %s", cases[i].command, output);
        ck_assert_msg(strstr(output, cases[i].says), "%s: %s", cases[i].command, output);
    }
}
END_TEST

START_TEST(help_is_asked_for_in_either_way)
{
    ck_assert_int_eq(run(DRIVER "help 2>/dev/null"), 0);
    expect("usage: fastmm-bench ");
    ck_assert_int_eq(run(DRIVER "--help 2>/dev/null"), 0);
    expect("usage: fastmm-bench ");
}
END_TEST

START_TEST(goals_are_listed_and_checked)
{
    ck_assert_int_eq(run(DRIVER "list"), 0);
    expect("2 of   3 cells  said to take twice");
    ck_assert_int_eq(run(DRIVER "check"), 0);
    expect("11 goals");
}
END_TEST

START_TEST(smoke_tells_skipped_from_failed)
{
    ck_assert_int_eq(run(SYNTHETIC "--smoke"), 1);
    expect("skipped: synthetic/said/missing/size:1: no feature, \"by design\"\n");
    expect("FAILED: synthetic/said/failing/size:1");
    expect(", 1 skipped, 1 failed\n");
}
END_TEST

/* The value of a key in the entry of a case in Google Benchmark's JSON. */
static double reported(const char *name, const char *key)
{
    char text[128];
    snprintf(text, sizeof(text), "\"name\": \"%s\"", name);
    const char *entry = strstr(output, text);
    ck_assert_msg(entry, "no %s in %s", name, output);
    snprintf(text, sizeof(text), "\"%s\": ", key);
    const char *value = strstr(entry, text);
    ck_assert_msg(value, "no %s in %s", key, entry);
    return strtod(value + strlen(text), NULL);
}

/* synthetic.c: items, and bytes, of an iteration. */
static const double work = 64;

static void check_rate(const char *name, const char *clock, double threads)
{
    double by_hand = threads * work / (reported(name, clock) * 1e-9);
    ck_assert_double_eq_tol(reported(name, "items_per_second"), by_hand, 0.05 * by_hand);
    ck_assert_double_eq_tol(reported(name, "bytes_per_second"), by_hand, 0.05 * by_hand);
}

START_TEST(rates_are_total_work_over_the_time_that_is_shown)
{
    ck_assert_int_eq(run(SYNTHETIC "--benchmark_format=json --benchmark_min_time=0.1 "
                                   "--benchmark_filter='(said|busy)/fastmm/size:1' 2>/dev/null"),
                     0);
    /* 1000 ns an iteration, by the case's own word. */
    const char *said = "synthetic/said/fastmm/size:1/manual_time";
    ck_assert_double_eq_tol(reported(said, "items_per_second"), work / 1000e-9,
                            0.05 * work / 1000e-9);
    check_rate(said, "real_time", 1);
    check_rate("synthetic/busy/fastmm/size:1", "cpu_time", 1);
}
END_TEST

START_TEST(rates_of_threads_are_of_all_of_them_over_real_time)
{
    static const char not_together[] = "the threads did not run at the same time";
    const char *doze = "synthetic/doze/fastmm/threads:2/manual_time";
    /* A busy machine keeps one of the two waiting now and then. */
    for (int tries = 0; tries < 30 && (!tries || strstr(output, not_together)); tries++)
        ck_assert_int_eq(run(SYNTHETIC "--benchmark_format=json --benchmark_min_time=0.05 "
                                       "--benchmark_filter=doze/fastmm 2>/dev/null"),
                         0);
    if (strstr(output, not_together))
        test_skip("this machine never ran two threads at the same time");
    check_rate(doze, "real_time", 2);
    /* An iteration sleeps for 1 ms in each thread: processor time would make the rate absurd. */
    ck_assert_double_le(reported(doze, "items_per_second"), 1.05 * 2 * work / 1e-3);
    expect("real time per thread, rates aggregate");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.scorecard");
    TCase *tc = tcase_create("scorecard");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, outcomes_of_a_run);
    tcase_add_test(tc, a_rival_that_cannot_run_is_named);
    tcase_add_test(tc, only_what_is_wrong_fails_a_run);
    tcase_add_test(tc, different_results_are_not_timed);
    tcase_add_test(tc, what_has_no_result_to_compare_is_told);
    tcase_add_test(tc, a_full_run_takes_every_cell);
    tcase_add_test(tc, mistakes_are_refused_before_measuring);
    tcase_add_test(tc, help_is_asked_for_in_either_way);
    tcase_add_test(tc, goals_are_listed_and_checked);
    tcase_add_test(tc, smoke_tells_skipped_from_failed);
    suite_add_tcase(suite, tc);
    TCase *known = tcase_create("T05");
    tcase_set_timeout(known, 120);
    tcase_add_test(known, rates_are_total_work_over_the_time_that_is_shown);
    tcase_add_test(known, rates_of_threads_are_of_all_of_them_over_real_time);
    suite_add_tcase(suite, known);
    return test_main(suite);
}
