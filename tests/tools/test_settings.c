/* SPDX-License-Identifier: MIT */
#include "settings.h"
#include "test_main.h"

#include <stdlib.h>
#include <string.h>

static struct tool_error error;

static int parse(const char *text, struct fastmm_copy_settings *out)
{
    return settings_parse("f", text, strlen(text), out, &error);
}

START_TEST(every_key_is_understood)
{
    struct fastmm_copy_settings s;
    ck_assert_int_eq(parse("# comment\n\n"
                           "implementation = avx2\n"
                           "disable=avx512f, fsrm\n"
                           "  copy_rep_min =2112\r\n"
                           "fill_rep_min = 2 MiB\n"
                           "copy_stream_min = never\n"
                           "fill_stream_min = 24MiB",
                           &s),
                     0);
    ck_assert_str_eq(s.implementation, "avx2");
    ck_assert_uint_eq(s.disable, (uint64_t)1 << FASTMM_CPU_AVX512F | 1u << FASTMM_CPU_FSRM);
    ck_assert_uint_eq(s.copy_rep_min, 2112);
    ck_assert_uint_eq(s.fill_rep_min, 2 << 20);
    ck_assert_uint_eq(s.copy_stream_min, FASTMM_COPY_NEVER);
    ck_assert_uint_eq(s.fill_stream_min, 24 << 20);
}
END_TEST

START_TEST(nothing_said_is_the_default)
{
    static const struct fastmm_copy_settings defaults;
    struct fastmm_copy_settings s;
    memset(&s, 0xff, sizeof(s));
    ck_assert_int_eq(parse("", &s), 0);
    ck_assert_mem_eq(&s, &defaults, sizeof(s));
}
END_TEST

static const struct {
    const char *text, *error;
} bad[] = {
    {"copy_rep_min", "f:1: 'key = value'"},
    {"\n= 4", "f:2: no setting"},
    {"copy_rep_mim = 4", "f:1: no setting"},
    {"copy_rep_min =", "f:1: copy_rep_min: a size is expected"},
    {"copy_rep_min = -1", "f:1: copy_rep_min: a size is expected"},
    {"copy_rep_min = 0", "f:1: copy_rep_min: 0 is no threshold"},
    {"copy_rep_min = 4 kb", "f:1: copy_rep_min: a unit"},
    {"copy_rep_min = 1.5 MiB", "f:1: copy_rep_min: a unit"},
    {"copy_rep_min = 0x100", "f:1: copy_rep_min: a unit"},
    {"copy_rep_min = 99999999999999999999", "f:1: copy_rep_min: the size is larger"},
    {"copy_rep_min = 9999999999 GiB", "f:1: copy_rep_min: the size is larger"},
    {"copy_rep_min = 18446744073709551615", "f:1: copy_rep_min: the size is larger"},
    {"copy_rep_min = 512\ncopy_rep_min = 512", "f:2: copy_rep_min is set a second time"},
    {"disable =", "f:1: disable: features are expected"},
    {"disable = avx512f mmx", "f:1: disable: no such feature"},
    {"implementation = fastest", "f:1: implementation: no such implementation"},
    {"implementation =", "f:1: implementation: no such implementation"},
};

START_TEST(junk_is_refused_by_line_and_changes_nothing)
{
    struct fastmm_copy_settings s, before;
    memset(&s, 0x5a, sizeof(s));
    before = s;
    ck_assert_int_eq(parse(bad[_i].text, &s), -1);
    ck_assert_msg(strncmp(error.text, bad[_i].error, strlen(bad[_i].error)) == 0, "'%s' gave '%s'",
                  bad[_i].text, error.text);
    ck_assert_mem_eq(&s, &before, sizeof(s));
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    struct fastmm_copy_settings s;
    char line[600];
    ck_assert_int_eq(settings_parse("f", "# a\0b", 5, &s, &error), -1);
    memset(line, 'x', sizeof(line));
    ck_assert_int_eq(settings_parse("f", line, sizeof(line), &s, &error), -1);
    ck_assert_str_eq(error.text, "f:1: the line is too long for a setting");
    ck_assert_int_eq(settings_read("/no/such/file", &s, &error), -1);
}
END_TEST

static uint64_t random_threshold(uint64_t *state)
{
    switch (test_random(state) % 3) {
    case 0:
        return 0;
    case 1:
        return FASTMM_COPY_NEVER;
    default:
        return test_random(state) >> (1 + test_random(state) % 63);
    }
}

START_TEST(what_is_written_is_read_back)
{
    uint64_t state = test_seed();
    for (unsigned round = 0; round < 2000; round++) {
        struct fastmm_copy_settings s = {
            .implementation =
                fastmm_copy_impl_name((uint32_t)test_random(&state) % (FASTMM_COPY_IMPL_COUNT + 1)),
            .disable = test_random(&state) & (((uint64_t)1 << FASTMM_CPU_FEATURE_COUNT) - 1),
            .copy_rep_min = random_threshold(&state),
            .fill_rep_min = random_threshold(&state),
            .copy_stream_min = random_threshold(&state),
            .fill_stream_min = random_threshold(&state),
        };
        struct fastmm_copy_settings back;
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        settings_write(&s, f);
        fclose(f);
        ck_assert_msg(settings_parse("f", text, size, &back, &error) == 0, "%s", error.text);
        ck_assert_mem_eq(&s, &back, sizeof(s));
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.settings");
    TCase *tc = tcase_create("settings");
    tcase_add_test(tc, every_key_is_understood);
    tcase_add_test(tc, nothing_said_is_the_default);
    tcase_add_loop_test(tc, junk_is_refused_by_line_and_changes_nothing, 0,
                        (int)(sizeof(bad) / sizeof(bad[0])));
    tcase_add_test(tc, bytes_that_are_no_text_are_refused);
    tcase_add_test(tc, what_is_written_is_read_back);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
