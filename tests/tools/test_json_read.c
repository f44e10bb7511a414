/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "json_read.h"

#include <string.h>

static int parse(const char *text, struct json_document *document, struct tool_error *error)
{
    return json_parse("file", text, strlen(text), document, error);
}

START_TEST(each_kind_is_read)
{
    struct json_document d;
    struct tool_error error;
    ck_assert_int_eq(
        parse(" {\"a\": [1, -2.5e-1, true, false, null, \"x\"], \"b\": {}}\n", &d, &error), 0);
    const struct json_value *a = json_get_kind(d.root, "a", JSON_ARRAY);
    ck_assert_ptr_nonnull(a);
    ck_assert_uint_eq(a->count, 6);
    const struct json_value *v = a->first;
    ck_assert_double_eq(v->number, 1);
    ck_assert_double_eq((v = v->next)->number, -0.25);
    ck_assert((v = v->next)->kind == JSON_BOOL && v->truth);
    ck_assert((v = v->next)->kind == JSON_BOOL && !v->truth);
    ck_assert_int_eq((v = v->next)->kind, JSON_NULL);
    ck_assert_str_eq((v = v->next)->string, "x");
    ck_assert_ptr_null(v->next);
    ck_assert_uint_eq(json_get_kind(d.root, "b", JSON_OBJECT)->count, 0);
    ck_assert_ptr_null(json_get(d.root, "c"));
    ck_assert_ptr_null(json_get_string(d.root, "a"));
    ck_assert_ptr_null(json_get(a, "a"));
    json_free(&d);
}
END_TEST

START_TEST(escapes_become_characters)
{
    struct json_document d;
    struct tool_error error;
    ck_assert_int_eq(
        parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00 \xc3\xa9\"", &d,
              &error),
        0);
    ck_assert_str_eq(d.root->string,
                     "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xc3\xa9");
    json_free(&d);
}
END_TEST

static const struct {
    const char *text, *error;
} junk[] = {
    {"", "file:1:1: no value"},
    {"  \n ", "file:2:2: no value"},
    {"nul", "file:1:1: no value"},
    {"[1,]", "file:1:4: no value"},
    {"[1 2]", "file:1:4: ',' or ']' is missing"},
    {"{\"a\" 1}", "file:1:6: a colon is missing"},
    {"{\"a\":1", "file:1:7: ',' or '}' is missing"},
    {"{1:1}", "file:1:2: a key is missing"},
    {"{\"a\":1,\n\"a\":2}", "file:2:4: a key that was there before"},
    {"01", "file:1:2: something stands behind the value"},
    {"-", "file:1:2: no number"},
    {"1.", "file:1:3: no number"},
    {"1e+", "file:1:4: no number"},
    {"1e999", "file:1:6: a number that is too large"},
    {"\"a", "file:1:1: a string that doesn't end"},
    {"\"a\\", "file:1:1: a string that doesn't end"},
    {"\"a\nb\"", "file:1:3: a character that no string may have"},
    {"\"\\x\"", "file:1:4: a character that no string may have"},
    {"\"\\u12\"", "file:1:6: a character that no string may have"},
    {"\"\\u0000\"", "file:1:8: a character that no string may have"},
    {"\"\\ud83d\"", "file:1:8: a character that no string may have"},
    {"\"\\ude00\"", "file:1:8: a character that no string may have"},
    {"\"\xc0\xaf\"", "file:1:2: a character that no string may have"},
    {"\"\xff\"", "file:1:2: a character that no string may have"},
    {"[] []", "file:1:4: something stands behind the value"},
};

START_TEST(junk_is_refused_by_its_place)
{
    struct json_document d;
    struct tool_error error;
    ck_assert_int_eq(parse(junk[_i].text, &d, &error), -1);
    ck_assert_str_eq(error.text, junk[_i].error);
    ck_assert_ptr_null(d.chunks);
}
END_TEST

START_TEST(depth_has_a_limit)
{
    char text[2 * JSON_DEPTH_MAX + 3];
    struct json_document d;
    struct tool_error error;
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        ck_assert_int_eq(parse(text, &d, &error), depth > JSON_DEPTH_MAX ? -1 : 0);
        json_free(&d);
    }
}
END_TEST

/* A file that was cut off anywhere is refused, and so is one with a zero in it. */
START_TEST(what_is_cut_off_is_refused)
{
    const char text[] = "{\"a\": [1, \"b\\u00e9\", {\"c\": true}]}";
    struct json_document d;
    struct tool_error error;
    for (size_t length = 0; length < sizeof(text) - 1; length++)
        ck_assert_int_eq(json_parse("file", text, length, &d, &error), -1);
    ck_assert_int_eq(json_parse("file", text, sizeof(text) - 1, &d, &error), 0);
    json_free(&d);
    ck_assert_int_eq(json_parse("file", text, sizeof(text), &d, &error), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.json_read");
    TCase *tcase = tcase_create("json_read");
    tcase_add_test(tcase, each_kind_is_read);
    tcase_add_test(tcase, escapes_become_characters);
    tcase_add_loop_test(tcase, junk_is_refused_by_its_place, 0,
                        (int)(sizeof(junk) / sizeof(junk[0])));
    tcase_add_test(tcase, depth_has_a_limit);
    tcase_add_test(tcase, what_is_cut_off_is_refused);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
