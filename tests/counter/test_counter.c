/* SPDX-License-Identifier: MIT */
/* Values, switches and lives of counters and groups, by one thread and under fire. */
#include <errno.h>

#include "support.h"

START_TEST(a_counter_counts_in_every_mode)
{
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    int64_t expected = 0;
    for (int stage = 0; stage < 4; stage++) {
        fastmm_counter_add(&c, 40);
        fastmm_counter_sub(&c, -2);
        fastmm_counter_inc(&c);
        fastmm_counter_dec(&c);
        fastmm_counter_dec(&c);
        fastmm_counter_add_foreign(&c, 100);
        expected += 141;
        ck_assert_int_eq(fastmm_counter_sum(&c), expected);
        if (stage == 0)
            become_threaded();
        if (stage == 1)
            ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
        if (stage == 2)
            ck_assert_int_eq(fastmm_counter_atomic(&c), 0);
    }
    ck_assert_int_eq(fastmm_counter_destroy(&c), 0);
}
END_TEST

START_TEST(a_group_keeps_its_counters_apart)
{
    unsigned n = (unsigned)_i;
    struct fastmm_counter_group8 storage;
    struct fastmm_counter_group *g = &storage.group;
    int64_t sums[9];
    become_threaded();
    ck_assert_int_eq(fastmm_counter_group_init(g, n), 0);
    ck_assert_uint_eq(fastmm_counter_group_size(g), n);
    for (int mode = 0; mode < 2; mode++) {
        for (int round = 0; round < 3; round++)
            for (unsigned i = 0; i < n; i++)
                fastmm_counter_group_add(g, i, 1 + (int64_t)i * 1000);
        sums[n] = 77;
        fastmm_counter_group_sums(g, sums);
        ck_assert_int_eq(sums[n], 77);
        for (unsigned i = 0; i < n; i++) {
            ck_assert_int_eq(sums[i], (mode + 1) * 3 * (1 + (int64_t)i * 1000));
            ck_assert_int_eq(fastmm_counter_group_sum(g, i), sums[i]);
        }
        ck_assert_int_eq(fastmm_counter_group_percpu(g), 0);
        ck_assert_uint_eq(fastmm_counter_group_size(g), n);
    }
    ck_assert_int_eq(fastmm_counter_group_destroy(g), 0);
}
END_TEST

START_TEST(wrong_use_is_refused)
{
    struct fastmm_counter_group8 s = FASTMM_COUNTER_GROUP_INIT(8);
    ck_assert_int_eq(fastmm_counter_group_init(&s.group, 0), -EINVAL);
    /* Hidden from the compiler, which warns of what the refused call would overwrite. */
    volatile unsigned too_many = 9;
    ck_assert_int_eq(fastmm_counter_group_init(&s.group, too_many), -EINVAL);
    ck_assert_int_eq(fastmm_counter_group_destroy(&s.group), 0);
    ck_assert_int_eq(fastmm_counter_group_destroy(&s.group), -EINVAL);
    ck_assert_int_eq(fastmm_counter_group_percpu(&s.group), -EINVAL);
    ck_assert_int_eq(fastmm_counter_group_atomic(&s.group), -EINVAL);
    ck_assert_int_eq(fastmm_counter_use_mechanism((enum fastmm_counter_mechanism_kind)9), -EINVAL);
}
END_TEST

START_TEST(set_take_and_clamp)
{
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    become_threaded();
    for (int mode = 0; mode < 2; mode++) {
        /* The first add in per-CPU mode opens the row and counts outside, as interrupted ones do.
         */
        for (int64_t outside = -1; mode && c.base[0] != outside;) {
            outside = c.base[0];
            fastmm_counter_add(&c, 5);
        }
        fastmm_counter_add(&c, 5);
        fastmm_counter_set(&c, -7);
        ck_assert_int_eq(fastmm_counter_sum(&c), -7);
        ck_assert_int_eq(fastmm_counter_sum_positive(&c), 0);
        fastmm_counter_add(&c, 10);
        ck_assert_int_eq(fastmm_counter_sum_positive(&c), 3);
        ck_assert_int_eq(fastmm_counter_take(&c), 3);
        ck_assert_int_eq(fastmm_counter_take(&c), 0);
        ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
    }
    fastmm_counter_destroy(&c);
}
END_TEST

static struct fastmm_counter_group4 shared;

static void *hammer(void *rounds)
{
    for (long k = 0; k < *(long *)rounds; k++)
        for (unsigned i = 0; i < 4; i++)
            fastmm_counter_group_add(&shared.group, i, (int64_t)i + 1);
    return NULL;
}

static void *switch_midway(void *rounds)
{
    hammer(rounds);
    ck_assert_int_eq(fastmm_counter_group_percpu(&shared.group), 0);
    return hammer(rounds);
}

START_TEST(nothing_is_lost_when_switching_under_fire)
{
    for (long k = 0; k < 200 * scaled(100); k++) {
        long rounds = 1000;
        fastmm_counter_group_init(&shared.group, 4);
        run_threads(4, switch_midway, &rounds);
        for (unsigned i = 0; i < 4; i++)
            ck_assert_int_eq(fastmm_counter_group_sum(&shared.group, i), 8 * rounds * (i + 1));
        ck_assert_int_eq(fastmm_counter_group_destroy(&shared.group), 0);
    }
}
END_TEST

static int64_t taken, begun;
static int adders_left;

static void *add_or_take(void *argument)
{
    static int next;
    if (__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 2) {
        for (long k = 0; k < *(long *)argument; k++) {
            __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
            fastmm_counter_group_inc(&shared.group, 1);
        }
        __atomic_sub_fetch(&adders_left, 1, __ATOMIC_SEQ_CST);
        return NULL;
    }
    while (__atomic_load_n(&adders_left, __ATOMIC_SEQ_CST) > 0) {
        int64_t part = fastmm_counter_group_take(&shared.group, 1);
        int64_t so_far = __atomic_add_fetch(&taken, part, __ATOMIC_SEQ_CST);
        ck_assert_int_ge(part, 0);
        ck_assert_int_le(so_far, __atomic_load_n(&begun, __ATOMIC_SEQ_CST));
    }
    return NULL;
}

START_TEST(takers_share_what_was_added)
{
    for (long k = 0; k < 20 * scaled(100); k++) {
        long rounds = 20000;
        taken = begun = 0;
        adders_left = 2;
        fastmm_counter_group_init(&shared.group, 4);
        if (k % 2)
            ck_assert_int_eq(fastmm_counter_group_percpu(&shared.group), 0);
        run_threads(4, add_or_take, &rounds);
        ck_assert_int_eq(taken + fastmm_counter_group_sum(&shared.group, 1), 2 * rounds);
        ck_assert_int_eq(fastmm_counter_group_destroy(&shared.group), 0);
    }
}
END_TEST

START_TEST(arrays_at_once)
{
    static struct fastmm_counter_group3 groups[300];
    struct fastmm_counter_group *pointers[300];
    become_threaded();
    ck_assert_int_eq(fastmm_counter_groups_init(&groups[0].group, 3, 300), 0);
    for (int k = 0; k < 300; k++)
        pointers[k] = &groups[k].group;
    ck_assert_int_eq(fastmm_counter_groups_percpu(pointers, 300), 0);
    for (int k = 0; k < 300; k++)
        for (unsigned i = 0; i < 3; i++)
            fastmm_counter_group_add(pointers[k], i, 10 * k + (int)i);
    for (int k = 0; k < 300; k++)
        for (unsigned i = 0; i < 3; i++)
            ck_assert_int_eq(fastmm_counter_group_sum(pointers[k], i), 10 * k + (int)i);
    ck_assert_int_eq(fastmm_counter_groups_destroy(&groups[0].group, 3, 300), 0);
    ck_assert_int_eq(fastmm_counter_groups_destroy(&groups[0].group, 3, 300), -EINVAL);
    ck_assert_uint_ne(fastmm_counter_held(), 0);
    ck_assert_uint_ne(fastmm_counter_trim(), 0);
    ck_assert_uint_eq(fastmm_counter_held(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter.counter");
    TCase *tc = tcase_create("counter");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, a_counter_counts_in_every_mode);
    tcase_add_loop_test(tc, a_group_keeps_its_counters_apart, 1, 9);
    tcase_add_test(tc, wrong_use_is_refused);
    tcase_add_test(tc, set_take_and_clamp);
    tcase_add_test(tc, nothing_is_lost_when_switching_under_fire);
    tcase_add_test(tc, takers_share_what_was_added);
    tcase_add_test(tc, arrays_at_once);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
