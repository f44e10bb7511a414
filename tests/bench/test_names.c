/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "names.h"

#include <string.h>

START_TEST(good_names_pass)
{
    static const char *const good[] = {
        "copy/fixed/libc",
        "copy/fixed/rep_movsb/size:4096",
        "copy/fixed/libc/size:4096/alias:-8/threads:2",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert_msg(!name_check(good[i], "copy"), "%s", good[i]);
}
END_TEST

START_TEST(bad_names_are_refused)
{
    static const char *const bad[] = {
        "",
        "copy",
        "copy/fixed",
        "walk/fixed/libc",
        "copyfixed/a/b",
        "copy//libc",
        "copy/fixed/",
        "copy/fixed/libc/",
        "copy/fixed/libc/size",
        "copy/fixed/libc/size:",
        "copy/fixed/libc/:4096",
        "copy/size:1/libc",
        "copy/fixed/li bc",
        "copy/fixed/libc\t",
        "copy/fixed/lib*",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(name_check(bad[i], "copy"), "'%s'", bad[i]);
}
END_TEST

START_TEST(patterns_match_whole_names)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "a/b:c", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"size:4", "size:4096", false},
        {"*size:4", "x/size:4", true},
        {"*size:4", "x/size:4096", false},
        {"*ab*ab", "xabab", true},
        {"*ab*ab", "xab", false},
        {"a*b*c", "a--b--b--c", true},
        {"a*b*c", "a--b--b--cd", false},
        {"**", "x", true},
        {"a*", "ba", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(name_glob(cases[i].pattern, cases[i].name) == cases[i].matches, "%s on %s",
                      cases[i].pattern, cases[i].name);
}
END_TEST

/* The definition, without the cleverness: '*' tries every length. */
static bool slow_glob(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return slow_glob(pattern + 1, name) || (*name && slow_glob(pattern, name + 1));
    if (!*pattern || !*name)
        return !*pattern && !*name;
    return (*pattern == '?' || *pattern == *name) && slow_glob(pattern + 1, name + 1);
}

START_TEST(patterns_agree_with_their_definition)
{
    uint64_t random = test_seed();
    for (int round = 0; round < 200000; round++) {
        char pattern[9], name[11];
        uint64_t bits = test_random(&random);
        size_t pattern_length = bits % 9, name_length = bits / 16 % 11;
        for (size_t i = 0; i < pattern_length; i++)
            pattern[i] = "ab*?"[test_random(&random) % 4];
        for (size_t i = 0; i < name_length; i++)
            name[i] = "ab"[test_random(&random) % 2];
        pattern[pattern_length] = name[name_length] = '\0';
        ck_assert_msg(name_glob(pattern, name) == slow_glob(pattern, name), "'%s' on '%s'", pattern,
                      name);
    }
}
END_TEST

START_TEST(several_patterns_add_and_take_away)
{
    ck_assert(name_match("a* b*", "b1"));
    ck_assert(name_match("  a*   b* ", "a1"));
    ck_assert(!name_match("a* b*", "c1"));
    ck_assert(name_match("a* !a1", "a2"));
    ck_assert(!name_match("a* !a1", "a1"));
    ck_assert(!name_match("!a1 a*", "a1"));
    ck_assert(!name_match("!a1", "b"));
    ck_assert(!name_match("-", "a"));
    ck_assert(!name_match("", ""));
}
END_TEST

START_TEST(keys_pair_cases)
{
    const char *a = "copy/fixed/fastmm/size:64/alias:8";
    ck_assert(name_keys_equal(a, "copy/fixed/libc/alias:8/size:64", "size alias"));
    ck_assert(!name_keys_equal(a, "copy/fixed/libc/alias:8/size:640", "size alias"));
    ck_assert(!name_keys_equal(a, "copy/fixed/libc/alias:8/size:6", "size"));
    ck_assert(name_keys_equal(a, "copy/fixed/libc/alias:8/size:640", "alias"));
    ck_assert(!name_keys_equal(a, "copy/fixed/libc/size:64", "size alias"));
    ck_assert(name_keys_equal(a, "copy/fixed/libc/size:64", "size threads"));
    ck_assert(name_keys_equal(a, "walk/fork/naive", "-"));
    /* A key is not the end of a longer one, nor its beginning. */
    ck_assert(!name_keys_equal("c/a/b/xsize:1", "c/a/b/size:1", "size"));
    ck_assert(name_keys_equal("c/a/b/sizes:1", "c/a/b/sizes:2", "size"));
}
END_TEST

START_TEST(values_and_keys_are_found)
{
    size_t length;
    const char *value = name_value("c/a/b/size:64/mode:percpu", "mode", 4, &length);
    ck_assert_uint_eq(length, strlen("percpu"));
    ck_assert_int_eq(memcmp(value, "percpu", length), 0);
    ck_assert_ptr_null(name_value("c/a/b", "mode", 4, &length));
    ck_assert_str_eq(name_keys("c/a/b/size:64/mode:x"), "size:64/mode:x");
    ck_assert_str_eq(name_keys("c/a/b"), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.names");
    TCase *tc = tcase_create("names");
    tcase_add_test(tc, good_names_pass);
    tcase_add_test(tc, bad_names_are_refused);
    tcase_add_test(tc, patterns_match_whole_names);
    tcase_add_test(tc, patterns_agree_with_their_definition);
    tcase_add_test(tc, several_patterns_add_and_take_away);
    tcase_add_test(tc, keys_pair_cases);
    tcase_add_test(tc, values_and_keys_are_found);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
