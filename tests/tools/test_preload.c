/* SPDX-License-Identifier: MIT */
/* Runs with the preload library in LD_PRELOAD: every call below is one of its functions. */
#define _GNU_SOURCE
#include "test_main.h"

#include "preload_early.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 40000, MARGIN = 64 };

typedef void *copy_call(void *dst, const void *src, size_t n);
typedef void *copy_checked(void *dst, const void *src, size_t n, size_t room);
typedef void *fill_call(void *dst, int value, size_t n);
typedef void *fill_checked(void *dst, int value, size_t n, size_t room);
typedef void zero_call(void *dst, size_t n);

/* Where the program finds a function; that must be in the preloaded library. */
static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    Dl_info info;
    ck_assert_ptr_nonnull(found);
    ck_assert_int_ne(dladdr(found, &info), 0);
    if (!strstr(info.dli_fname, "libfastmm-preload"))
        ck_abort_msg("%s is that of %s", name, info.dli_fname);
    return found;
}

static const char *const copies[] = {"memcpy", "memmove", "mempcpy", "__mempcpy"};
static const char *const checked_copies[] = {"__memcpy_chk", "__memmove_chk", "__mempcpy_chk"};

static unsigned char memory[2][ROOM + 2 * MARGIN], expected[2][ROOM + 2 * MARGIN];

static void scramble(uint64_t *random)
{
    for (size_t i = 0; i < sizeof(memory); i++)
        (&memory[0][0])[i] = (unsigned char)(test_random(random) >> 32);
    memcpy(expected, memory, sizeof(memory));
}

/* Small ones often, and now and then one that leaves every inline path. */
static size_t draw_size(uint64_t *random)
{
    return test_random(random) % (test_random(random) % 8 ? 600 : ROOM - 1000);
}

static void try_copy(uint64_t *random, const char *name, bool checked)
{
    size_t n = draw_size(random), to = MARGIN + test_random(random) % 900;
    size_t from = MARGIN + test_random(random) % 900;
    bool overlapping = test_random(random) % 2;
    unsigned char *dst = memory[0] + to, *src = (overlapping ? memory[0] : memory[1]) + from;
    unsigned char *wanted = expected[0] + to;
    scramble(random);
    for (size_t i = 0; i < n; i++)
        wanted[i] = src[i];
    copy_call *copy = (copy_call *)find(name);
    copy_checked *check = (copy_checked *)find(name);
    void *result = checked ? check(dst, src, n, n) : copy(dst, src, n);
    ck_assert_ptr_eq(result, strstr(name, "memp") ? dst + n : dst);
    ck_assert_int_eq(memcmp(memory, expected, sizeof(memory)), 0);
}

START_TEST(copies_are_right)
{
    uint64_t random = test_seed();
    for (int i = 0; i < 200; i++)
        for (size_t k = 0; k < sizeof(copies) / sizeof(copies[0]); k++)
            try_copy(&random, copies[k], false);
    for (int i = 0; i < 200; i++)
        for (size_t k = 0; k < sizeof(checked_copies) / sizeof(checked_copies[0]); k++)
            try_copy(&random, checked_copies[k], true);
}
END_TEST

START_TEST(fills_are_right)
{
    uint64_t random = test_seed();
    fill_call *fill = (fill_call *)find("memset");
    fill_checked *check = (fill_checked *)find("__memset_chk");
    zero_call *zero = (zero_call *)find("bzero");
    for (int i = 0; i < 600; i++) {
        size_t n = draw_size(&random), to = MARGIN + test_random(&random) % 900;
        int value = i % 3 ? (int)test_random(&random) : 0;
        unsigned char *dst = memory[0] + to;
        scramble(&random);
        for (size_t k = 0; k < n; k++)
            expected[0][to + k] = (unsigned char)value;
        if (i % 3 == 0)
            zero(dst, n);
        else
            ck_assert_ptr_eq(i % 3 == 1 ? fill(dst, value, n) : check(dst, value, n, n), dst);
        ck_assert_int_eq(memcmp(memory, expected, sizeof(memory)), 0);
    }
}
END_TEST

START_TEST(an_overflow_ends_the_program)
{
    char room[8];
    if (_i < 3)
        ((copy_checked *)find(checked_copies[_i]))(room, memory, 9, sizeof(room));
    else
        ((fill_checked *)find("__memset_chk"))(room, 0, 9, sizeof(room));
}
END_TEST

/* What is called before anything of the preloaded library is initialised does its work. */
START_TEST(resolvers_may_copy)
{
    const struct preload_early *seen = preload_early_seen();
    ck_assert_int_eq(preload_early_answer(), 42);
    for (unsigned i = 0; i < PRELOAD_EARLY; i++) {
        ck_assert_uint_eq(seen->filled[i], 0x5a);
        ck_assert_uint_eq(seen->copied[i], (unsigned char)(3 * i + 1));
        if (i + 1 < PRELOAD_EARLY)
            ck_assert_uint_eq(seen->from[i], (unsigned char)(3 * i + 1));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.preload");
    TCase *tcase = tcase_create("preload");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, copies_are_right);
    tcase_add_test(tcase, fills_are_right);
    tcase_add_loop_test_raise_signal(tcase, an_overflow_ends_the_program, SIGABRT, 0, 4);
    tcase_add_test(tcase, resolvers_may_copy);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
