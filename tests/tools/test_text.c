/* SPDX-License-Identifier: MIT */
#include "test_main.h"
#include "text.h"

#include <string.h>

START_TEST(lines_come_trimmed_and_numbered)
{
    static const char bytes[] = "  one \r\n\n\ttwo three\nlast";
    static const char *const expected[] = {"one", "", "two three", "last"};
    struct text_lines lines = {"f", bytes, bytes + strlen(bytes), 0};
    char line[16];
    bool cut;
    for (unsigned i = 0; i < 4; i++) {
        ck_assert(text_next(&lines, line, sizeof(line), &cut));
        ck_assert_str_eq(line, expected[i]);
        ck_assert_uint_eq(lines.number, i + 1);
        ck_assert(!cut);
    }
    ck_assert(!text_next(&lines, line, sizeof(line), &cut));
}
END_TEST

START_TEST(long_lines_are_cut_and_told)
{
    static const char bytes[] = "12345678\n1234567\n";
    struct text_lines lines = {"f", bytes, bytes + strlen(bytes), 0};
    char line[8];
    bool cut;
    ck_assert(text_next(&lines, line, sizeof(line), &cut));
    ck_assert_str_eq(line, "1234567");
    ck_assert(cut);
    ck_assert(text_next(&lines, line, sizeof(line), &cut));
    ck_assert(!cut);
    ck_assert(!text_next(&lines, line, sizeof(line), &cut));
}
END_TEST

START_TEST(sizes_are_worded)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},
                 {64, "64 B"},
                 {1023, "1023 B"},
                 {1024, "1 KiB"},
                 {2112, "2112 B"},
                 {48 << 10, "48 KiB"},
                 {1280 << 10, "1.25 MiB"},
                 {(uint64_t)3 << 30, "3 GiB"},
                 {UINT64_MAX, "never"}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tool_size size;
        ck_assert_str_eq(tool_size(&size, cases[i].bytes), cases[i].text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.text");
    TCase *tc = tcase_create("text");
    tcase_add_test(tc, lines_come_trimmed_and_numbered);
    tcase_add_test(tc, long_lines_are_cut_and_told);
    tcase_add_test(tc, sizes_are_worded);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
