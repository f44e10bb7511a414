/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What `write` makes of the text; the caller frees it. */
static char *written(void (*write)(FILE *, const char *), const char *text)
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    ck_assert_ptr_nonnull(file);
    write(file, text);
    fclose(file);
    return out;
}

static void check(void (*write)(FILE *, const char *), const char *text, const char *expected)
{
    char *out = written(write, text);
    ck_assert_str_eq(out, expected);
    free(out);
}

START_TEST(csv_is_quoted_where_it_must_be)
{
    check(text_csv, "", "");
    check(text_csv, "plain text", "plain text");
    check(text_csv, "a,b", "\"a,b\"");
    check(text_csv, "say \"no\"", "\"say \"\"no\"\"\"");
    check(text_csv, "two\nlines", "\"two\nlines\"");
}
END_TEST

START_TEST(csv_lines_are_taken_apart)
{
    char line[] = "a,,\"b,\"\"c\"\"\",d\r\n", *field[4];
    ck_assert_int_eq(text_csv_split(line, field, 4), 4);
    ck_assert_str_eq(field[0], "a");
    ck_assert_str_eq(field[1], "");
    ck_assert_str_eq(field[2], "b,\"c\"");
    ck_assert_str_eq(field[3], "d");

    char empty[] = "", comma[] = ",", many[] = "a,b,c", quoted[] = "\"\"";
    ck_assert_int_eq(text_csv_split(empty, field, 4), 1);
    ck_assert_int_eq(text_csv_split(comma, field, 4), 2);
    ck_assert_int_eq(text_csv_split(many, field, 2), 3);
    ck_assert_int_eq(text_csv_split(quoted, field, 4), 1);
    ck_assert_str_eq(field[0], "");
}
END_TEST

START_TEST(csv_with_bad_quotes_is_refused)
{
    char open[] = "a,\"b", after[] = "\"a\"b,c", inside[] = "a\"b,c", lone[] = "\"";
    char *field[4];
    ck_assert_int_eq(text_csv_split(open, field, 4), -1);
    ck_assert_int_eq(text_csv_split(after, field, 4), -1);
    ck_assert_int_eq(text_csv_split(inside, field, 4), -1);
    ck_assert_int_eq(text_csv_split(lone, field, 4), -1);
}
END_TEST

START_TEST(csv_survives_a_round_trip)
{
    uint64_t random = test_seed();
    for (int round = 0; round < 20000; round++) {
        char text[2][13], line[128], *field[2];
        for (int f = 0; f < 2; f++) {
            size_t length = test_random(&random) % sizeof(text[f]);
            for (size_t i = 0; i < length; i++)
                text[f][i] = "ab,\" ;"[test_random(&random) % 6];
            text[f][length] = '\0';
        }
        char *first = written(text_csv, text[0]), *second = written(text_csv, text[1]);
        snprintf(line, sizeof(line), "%s,%s\n", first, second);
        ck_assert_int_eq(text_csv_split(line, field, 2), 2);
        ck_assert_str_eq(field[0], text[0]);
        ck_assert_str_eq(field[1], text[1]);
        free(first);
        free(second);
    }
}
END_TEST

START_TEST(json_strings_are_escaped)
{
    check(text_json, "", "\"\"");
    check(text_json, "a\"b\\c/", "\"a\\\"b\\\\c/\"");
    check(text_json, "\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\"");
    check(text_json, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
          "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}
END_TEST

START_TEST(json_replaces_what_is_not_utf8)
{
    check(text_json, "\xff", "\"\\ufffd\"");
    check(text_json, "\xc0\x80", "\"\\ufffd\\ufffd\"");            /* overlong */
    check(text_json, "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
    check(text_json, "\xe2\x82", "\"\\ufffd\\ufffd\"");            /* cut off */
    check(text_json, "\xc3\"", "\"\\ufffd\\\"\"");
    check(text_json, "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}
END_TEST

static void write_number(FILE *out, const char *text)
{
    text_json_number(out, strtod(text, NULL));
}

START_TEST(json_numbers_are_numbers)
{
    check(write_number, "0.27", "0.27");
    check(write_number, "1e300", "1e+300");
    check(write_number, "nan", "null");
    check(write_number, "-inf", "null");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.text");
    TCase *tc = tcase_create("text");
    tcase_add_test(tc, csv_is_quoted_where_it_must_be);
    tcase_add_test(tc, csv_lines_are_taken_apart);
    tcase_add_test(tc, csv_with_bad_quotes_is_refused);
    tcase_add_test(tc, csv_survives_a_round_trip);
    tcase_add_test(tc, json_strings_are_escaped);
    tcase_add_test(tc, json_replaces_what_is_not_utf8);
    tcase_add_test(tc, json_numbers_are_numbers);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
