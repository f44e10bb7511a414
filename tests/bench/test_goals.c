/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "goals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "id,what,binary,process,ours,rivals,keys,default,target_geomean,target_worst\n"
#define ROW    "a.b,what,copy,single,x/*,y/*,size,*,1.5,-\n"

static char path[] = "/tmp/fastmm-goals-XXXXXX";

static int read_text(const char *text, struct goals *goals, char *error, size_t size)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    return goals_read(path, goals, error, size);
}

START_TEST(rows_are_read)
{
    struct goals goals;
    char error[256];
    ck_assert_int_eq(read_text("# a comment, with \"quotes\n\n" HEADER "# another\n" ROW
                               "c,\"what, \"\"quoted\"\"\",walk,threaded,x,y z,-,-,-,0.97\n",
                               &goals, error, sizeof(error)),
                     0);
    ck_assert_uint_eq(goals.count, 2);
    const struct goal *first = &goals.goal[0], *second = &goals.goal[1];
    ck_assert_str_eq(first->id, "a.b");
    ck_assert_str_eq(first->binary, "copy");
    ck_assert(first->single);
    ck_assert_str_eq(first->cells, "*");
    ck_assert_double_eq(first->target_geomean, 1.5);
    ck_assert_double_eq(first->target_worst, 0);
    ck_assert_str_eq(second->what, "what, \"quoted\"");
    ck_assert(!second->single);
    ck_assert_str_eq(second->rivals, "y z");
    ck_assert_double_eq(second->target_worst, 0.97);
    goals_free(&goals);
}
END_TEST

START_TEST(targets_hold_for_the_part_that_they_were_set_for)
{
    struct goals goals;
    char error[256];
    ck_assert_int_eq(read_text("# reference part: family 1, model 2,\n" HEADER ROW, &goals, error,
                               sizeof(error)),
                     0);
    ck_assert_str_eq(goals.reference, "family 1, model 2,");
    ck_assert(goals_suit(&goals, "family 1, model 2, stepping 3"));
    ck_assert_double_eq(goals.goal[0].target_geomean, 1.5);
    ck_assert(!goals_suit(&goals, "family 1, model 23, stepping 3"));
    ck_assert_double_eq(goals.goal[0].target_geomean, 0);
    goals_free(&goals);

    ck_assert_int_eq(read_text(HEADER ROW, &goals, error, sizeof(error)), 0);
    ck_assert(goals_suit(&goals, "unknown"));
    ck_assert_double_eq(goals.goal[0].target_geomean, 1.5);
    goals_free(&goals);
}
END_TEST

START_TEST(mistakes_are_refused_with_their_line)
{
    static const struct {
        const char *text, *line, *says;
    } cases[] = {
        {"", ":0: ", "header"},
        {"# only this\n", ":1: ", "header"},
        {ROW, ":1: ", "header"},
        {HEADER ROW ROW, ":3: ", "before"},
        {HEADER "#\n" ROW "b,what,copy,single,x,y,size,*,1\n", ":4: ", "10 fields"},
        {HEADER "b,what,copy,single,x,y,size,*,1,1,1\n", ":2: ", "10 fields"},
        {HEADER "b,\"what,copy,single,x,y,size,*,1,1\n", ":2: ", "quote"},
        {HEADER ",what,copy,single,x,y,size,*,1,1\n", ":2: ", "id"},
        {HEADER "B,what,copy,single,x,y,size,*,1,1\n", ":2: ", "id"},
        {HEADER "b,what,../copy,single,x,y,size,*,1,1\n", ":2: ", "binary"},
        {HEADER "b,what,copy,alone,x,y,size,*,1,1\n", ":2: ", "process"},
        {HEADER "b,what,copy,single,x,,size,*,1,1\n", ":2: ", "rivals"},
        {HEADER "b,what,copy,single,x,y,,*,1,1\n", ":2: ", "keys"},
        {HEADER "b,what,copy,single,x,y,size,*,one,1\n", ":2: ", "target"},
        {HEADER "b,what,copy,single,x,y,size,*,1,0\n", ":2: ", "target"},
        {HEADER "b,what,copy,single,x,y,size,*,1,-1\n", ":2: ", "target"},
        {HEADER "b,what,copy,single,x,y,size,*,1,1x\n", ":2: ", "target"},
        {HEADER "b,what,copy,single,x,y,size,*,1e999,1\n", ":2: ", "target"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct goals goals = {.goal = (struct goal *)1, .count = 77};
        char error[256] = "";
        ck_assert_msg(read_text(cases[i].text, &goals, error, sizeof(error)) == -EINVAL, "%s",
                      cases[i].text);
        ck_assert_int_eq(strncmp(error, path, strlen(path)), 0);
        ck_assert_int_eq(strncmp(error + strlen(path), cases[i].line, strlen(cases[i].line)), 0);
        ck_assert_msg(strstr(error, cases[i].says), "%s should say %s", error, cases[i].says);
        ck_assert_uint_eq(goals.count, 77); /* nothing changed */
    }
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    struct goals goals;
    char error[256];
    ck_assert_int_eq(goals_read("/nonexistent/goals.csv", &goals, error, sizeof(error)), -ENOENT);
    ck_assert(strstr(error, "/nonexistent/goals.csv"));
    ck_assert_int_ne(goals_read("/", &goals, error, sizeof(error)), 0);
}
END_TEST

int main(void)
{
    int file = mkstemp(path);
    if (file < 0) {
        perror(path);
        return EXIT_FAILURE;
    }
    close(file);
    Suite *suite = suite_create("bench.goals");
    TCase *tc = tcase_create("goals");
    tcase_add_test(tc, rows_are_read);
    tcase_add_test(tc, targets_hold_for_the_part_that_they_were_set_for);
    tcase_add_test(tc, mistakes_are_refused_with_their_line);
    tcase_add_test(tc, a_missing_file_is_named);
    suite_add_tcase(suite, tc);
    int status = test_main(suite);
    unlink(path);
    return status;
}
