/* SPDX-License-Identifier: MIT */
/* What a checking build refuses, and what a release build makes of the same. */
#ifndef FASTMM_CHECKED
#    define FASTMM_CHECKED
#endif
#include <errno.h>
#include <fastmm/bounded.h>
#include <fastmm/quota.h>
#include <signal.h>

#include "support.h"

static struct {
    enum fastmm_counter_fault fault;
    const struct fastmm_counter_group *group;
    unsigned i, reports;
} seen;

static void note(enum fastmm_counter_fault fault, const struct fastmm_counter_group *g, unsigned i)
{
    seen.fault = fault;
    seen.group = g;
    seen.i = i;
    seen.reports++;
}

static void reported(enum fastmm_counter_fault fault, const struct fastmm_counter_group *g)
{
    ck_assert_uint_eq(seen.reports, 1);
    ck_assert_int_eq(seen.fault, fault);
    ck_assert_ptr_eq(seen.group, g);
    seen.reports = 0;
}

/* In atomic (0) and per-CPU mode (1). */
START_TEST(use_after_destroy_is_reported)
{
    struct fastmm_counter c = FASTMM_COUNTER_INIT, other = FASTMM_COUNTER_INIT;
    become_threaded();
    fastmm_counter_set_handler(note);
    if (_i)
        ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
    fastmm_counter_add(&c, 5);
    ck_assert_int_eq(fastmm_counter_sum(&c), 5);
    ck_assert_int_eq(fastmm_counter_destroy(&c), 0);
    ck_assert_int_eq(fastmm_counter_percpu(&other), 0); /* may get the same slot */
    ck_assert_uint_eq(seen.reports, 0);
    int64_t base = c.base[0];

    fastmm_counter_add(&c, 7);
    reported(FASTMM_COUNTER_FAULT_DEAD, &c.group);
    fastmm_counter_add_foreign(&c, 7);
    reported(FASTMM_COUNTER_FAULT_DEAD, &c.group);
    ck_assert_int_eq(c.base[0], base);
    ck_assert_int_eq(fastmm_counter_sum(&c), 0);
    reported(FASTMM_COUNTER_FAULT_DEAD, &c.group);
    ck_assert_int_eq(fastmm_counter_destroy(&c), -EINVAL);
    reported(FASTMM_COUNTER_FAULT_DEAD, &c.group);
    ck_assert_int_eq(fastmm_counter_sum(&other), 0);
    ck_assert_int_eq(fastmm_counter_destroy(&other), 0);
}
END_TEST

START_TEST(the_other_kinds_report_too)
{
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(8);
    struct fastmm_quota q = FASTMM_QUOTA_INIT(100, 4);
    become_threaded();
    fastmm_counter_set_handler(note);
    fastmm_counter_bounded_inc(&b);
    ck_assert(fastmm_quota_add(&q, 3));
    fastmm_quota_return(&q, 3);
    ck_assert_int_eq(fastmm_counter_bounded_destroy(&b), 0);
    ck_assert_int_eq(fastmm_quota_destroy(&q), 0);
    ck_assert_uint_eq(seen.reports, 0);
    fastmm_counter_bounded_inc(&b);
    reported(FASTMM_COUNTER_FAULT_DEAD, &b.group);
    ck_assert(!fastmm_quota_add(&q, 3));
    reported(FASTMM_COUNTER_FAULT_DEAD, &q.group);
    fastmm_quota_return(&q, 3);
    reported(FASTMM_COUNTER_FAULT_DEAD, &q.group);
    ck_assert_int_eq(q.room, 100);
}
END_TEST

START_TEST(a_counter_outside_the_group_is_reported)
{
    struct fastmm_counter_group3 g = FASTMM_COUNTER_GROUP_INIT(3);
    volatile unsigned outside = 3; /* the compiler would warn of a constant */
    become_threaded();
    fastmm_counter_set_handler(note);
    for (int percpu = 0; percpu < 2; percpu++) {
        if (percpu)
            ck_assert_int_eq(fastmm_counter_group_percpu(&g.group), 0);
        fastmm_counter_group_inc(&g.group, 2);
        ck_assert_uint_eq(seen.reports, 0);
        fastmm_counter_group_inc(&g.group, outside);
        reported(FASTMM_COUNTER_FAULT_INDEX, &g.group);
        ck_assert_uint_eq(seen.i, 3);
    }
    fastmm_counter_group_destroy(&g.group);
}
END_TEST

START_TEST(without_a_handler_it_traps)
{
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    fastmm_counter_set_handler(NULL);
    fastmm_counter_destroy(&c);
    fastmm_counter_inc(&c);
}
END_TEST

/* The twins are those of the library: what a release build does is documented, and harms nobody. */
START_TEST(a_release_build_refuses_or_loses)
{
    struct fastmm_counter c = FASTMM_COUNTER_INIT, other = FASTMM_COUNTER_INIT;
    become_threaded();
    fastmm_counter_set_handler(note);
    ck_assert_int_eq(fastmm_counter_percpu_call(&c), 0);
    fastmm_counter_add_call(&c, 5);
    ck_assert_int_eq(fastmm_counter_destroy_call(&c), 0);
    ck_assert_int_eq(fastmm_counter_percpu_call(&other), 0);
    ck_assert_int_eq(fastmm_counter_destroy_call(&c), -EINVAL);
    ck_assert_int_eq(fastmm_counter_percpu_call(&c), -EINVAL);
    ck_assert_int_eq(fastmm_counter_atomic_call(&c), -EINVAL);
    ck_assert_uint_eq(fastmm_counter_group_size(&c.group), 0);
    fastmm_counter_add_call(&c, 7);
    ck_assert_int_eq(fastmm_counter_sum_call(&other), 0);
    ck_assert_int_eq(fastmm_counter_destroy_call(&other), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter.check");
    TCase *n4 = tcase_create("N4");
    tcase_add_loop_test(n4, use_after_destroy_is_reported, 0, 2);
    tcase_add_test(n4, a_release_build_refuses_or_loses);
    suite_add_tcase(suite, n4);
    TCase *tc = tcase_create("check");
    tcase_add_test(tc, the_other_kinds_report_too);
    tcase_add_test(tc, a_counter_outside_the_group_is_reported);
#ifdef __x86_64__
    tcase_add_test_raise_signal(tc, without_a_handler_it_traps, SIGILL);
#else
    tcase_add_test_raise_signal(tc, without_a_handler_it_traps, SIGTRAP);
#endif
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
