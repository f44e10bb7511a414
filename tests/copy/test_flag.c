/* SPDX-License-Identifier: MIT */
/*
 * M07: the direction flag. A caller that has it set breaks the ABI; the contract is that the bytes
 * are right all the same. No call sets it.
 */
#include "arena.h"
#include "test_main.h"
#include "ways.h"

#include <fastmm/copy.h>

#include <string.h>

#ifdef __x86_64__

#    define DIRECTION 0x400u

static unsigned long flags(void)
{
    unsigned long value;
    __asm__ volatile("pushfq\n\tpopq %0" : "=r"(value) : : "memory");
    return value;
}

START_TEST(flag_is_clear_after_each_call)
{
    const struct way *way = way_or_skip(_i);
    struct arena from = arena_make(100000), to = arena_make(100000);
    static const size_t sizes[] = {0, 1, 30, 100, 300, 5000, 70000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (way->copy)
            way->copy(to.data, from.data, sizes[i]);
        ck_assert_uint_eq(flags() & DIRECTION, 0);
        if (way->move)
            way->move(to.data + 100, to.data, sizes[i]);
        ck_assert_uint_eq(flags() & DIRECTION, 0);
        if (way->fill)
            way->fill(to.data, 0, sizes[i]);
        ck_assert_uint_eq(flags() & DIRECTION, 0);
    }
}
END_TEST

/* What runs with the flag set must be nothing but the call. */
static __attribute__((noinline)) void copy_with_flag(void *(*call)(void *, const void *, size_t),
                                                     void *dst, const void *src, size_t n)
{
    __asm__ volatile("std" : : : "memory", "cc");
    call(dst, src, n);
    __asm__ volatile("cld" : : : "memory", "cc");
}

static __attribute__((noinline)) void clear_with_flag(void *(*call)(void *, size_t), void *dst,
                                                      size_t n)
{
    __asm__ volatile("std" : : : "memory", "cc");
    call(dst, n);
    __asm__ volatile("cld" : : : "memory", "cc");
}

static void check_call(struct arena *to, const struct arena *from, size_t n)
{
    void *(*const copies[])(void *, const void *, size_t) = {fastmm_copy_call, fastmm_move_call,
                                                             fastmm_copy_stream};
    void *(*const clears[])(void *, size_t) = {fastmm_clear_call, fastmm_clear_stream};
    unsigned char *dst = to->data + 512, canary[512];
    memset(canary, 0x5a, sizeof(canary));
    for (int i = 0; i < 5; i++) {
        memset(to->data, 0x5a, to->size);
        if (i < 3)
            copy_with_flag(copies[i], dst, from->data + 512, n);
        else
            clear_with_flag(clears[i - 3], dst, n);
        if (i < 3)
            ck_assert_mem_eq(dst, from->data + 512, n);
        else
            ck_assert(dst[0] == 0 && memcmp(dst, dst + 1, n - 1) == 0);
        ck_assert_mem_eq(to->data, canary, sizeof(canary));
        ck_assert_mem_eq(dst + n, canary, sizeof(canary));
    }
}

START_TEST(bytes_are_right_with_the_flag_set)
{
    if (FASTMM_COPY_SANITIZED)
        test_skip("the sanitizer's own code runs with the flag set");
    struct arena from = arena_make(100000), to = arena_make(100000);
    arena_pattern(from.data, from.size, 2);
    fastmm_copy_call(to.data, from.data, 1000); /* the choice is made with the flag clear */
    check_call(&to, &from, 300);
    check_call(&to, &from, 70000);
    struct fastmm_copy_settings rep = {.implementation = "rep"};
    ck_assert_int_eq(fastmm_copy_configure(&rep, NULL), 0);
    check_call(&to, &from, 300);
    check_call(&to, &from, 70000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.flag");
    const TTest *tests[] = {flag_is_clear_after_each_call};
    add_known_case(suite, "M07", tests, 1);
    TCase *tc = tcase_create("M07");
    tcase_add_test(tc, bytes_are_right_with_the_flag_set);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}

#else

START_TEST(no_flag)
{
    test_skip("this architecture has no direction flag");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.flag");
    TCase *tc = tcase_create("M07");
    tcase_add_test(tc, no_flag);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}

#endif
