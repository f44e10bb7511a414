/* SPDX-License-Identifier: MIT */
#include "json.h"
#include "test_main.h"

#include <math.h>
#include <stdlib.h>

START_TEST(everything_at_once)
{
    char *text = NULL;
    size_t size;
    struct json j = {.out = open_memstream(&text, &size)};
    json_object(&j, NULL);
    json_string(&j, "text", "a\"b\\c\n\x01\xff");
    json_string(&j, "nothing", NULL);
    json_array(&j, "list");
    json_uint(&j, NULL, UINT64_MAX);
    json_number(&j, NULL, 0.25);
    json_number(&j, NULL, NAN);
    json_object(&j, NULL);
    json_object_end(&j);
    json_array_end(&j);
    json_array(&j, "empty");
    json_array_end(&j);
    json_bool(&j, "yes", true);
    json_object_end(&j);
    fclose(j.out);
    ck_assert_str_eq(text, "{\n"
                           "  \"text\": \"a\\\"b\\\\c\\u000a\\u0001\\u00ff\",\n"
                           "  \"nothing\": null,\n"
                           "  \"list\": [\n"
                           "    18446744073709551615,\n"
                           "    0.25,\n"
                           "    null,\n"
                           "    {}\n"
                           "  ],\n"
                           "  \"empty\": [],\n"
                           "  \"yes\": true\n"
                           "}\n");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.json");
    TCase *tc = tcase_create("json");
    tcase_add_test(tc, everything_at_once);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
