/* SPDX-License-Identifier: MIT */
/* Which rows an add uses: how that is found out, chosen and told. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "counter/topology.h"
#include "support.h"

START_TEST(lists_of_cpus)
{
    static const struct {
        const char *list;
        long last;
    } cases[] = {
        {"0\n", 0},
        {"0-1\n", 1},
        {"0-3,8-11\n", 11},
        {"7,2\n", 7},
        {"0-8191\n", 8191},
        {"", -1},
        {"\n", -1},
        {"junk", -1},
        {"0-3 ", -1},
        {"-", -1},
        {"0-99999999999999999999\n", -1},
        {"0-767", 767},
        {"0-1919", 1919},
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        ck_assert_int_eq(fastmm_counter_last_in_list(cases[k].list, strlen(cases[k].list)),
                         cases[k].last);
}
END_TEST

START_TEST(the_machine_has_as_many_ids_as_it_says)
{
    ck_assert_uint_ge(fastmm_counter_possible_cpus(), (unsigned)sysconf(_SC_NPROCESSORS_CONF));
}
END_TEST

START_TEST(a_mechanism_is_fixed_once)
{
    struct fastmm_counter_mechanism m;
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    fastmm_counter_get_mechanism(&m);
    ck_assert_int_eq(m.kind, FASTMM_COUNTER_UNDECIDED);
    ck_assert_uint_eq(m.slots, 0);
    ck_assert_uint_eq(m.used, 0);
    ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_THREAD_SHARDS), 0);
    ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_THREAD_SHARDS), 0);
    int error = fastmm_counter_use_mechanism(FASTMM_COUNTER_RSEQ_CPU_ID);
    ck_assert(error == -EBUSY || error == -ENOTSUP);
    ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
    fastmm_counter_get_mechanism(&m);
    ck_assert_int_eq(m.kind, FASTMM_COUNTER_THREAD_SHARDS);
    ck_assert_uint_ge(m.slots, 16);
    ck_assert_str_ne(m.reason, "");
}
END_TEST

START_TEST(without_what_it_needs_each_is_refused)
{
    struct fastmm_counter_seam no_rseq = {.no_rseq = 1};
    struct fastmm_counter_seam no_cid = {.no_mm_cid = 1};
    struct fastmm_counter_mechanism m;
    ck_assert_int_eq(fastmm_counter_seam_set(&no_rseq), 0);
    ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_RSEQ_CPU_ID), -ENOTSUP);
    ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_RSEQ_MM_CID), -ENOTSUP);
    fastmm_counter_get_mechanism(&m);
    ck_assert_int_eq(m.kind, FASTMM_COUNTER_UNDECIDED);
    ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_UNDECIDED), 0);
    fastmm_counter_get_mechanism(&m);
    ck_assert_int_eq(m.kind, FASTMM_COUNTER_THREAD_SHARDS);
    ck_assert_int_eq(fastmm_counter_seam_set(&no_cid), 0);
    ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_RSEQ_MM_CID), -ENOTSUP);
}
END_TEST

static struct fastmm_counter counter = FASTMM_COUNTER_INIT;

static void *count(void *argument)
{
    for (int k = 0; k < 100000; k++)
        fastmm_counter_inc(&counter);
    return argument;
}

START_TEST(each_kind_counts_the_same)
{
    int error = fastmm_counter_use_mechanism((enum fastmm_counter_mechanism_kind)_i);
    if (error == -ENOTSUP)
        test_skip("mechanism %d is not to be had here", _i);
    ck_assert_int_eq(error, 0);
    ck_assert_int_eq(fastmm_counter_percpu(&counter), 0);
    run_threads(4, count, NULL);
    ck_assert_int_eq(fastmm_counter_sum(&counter), 400000);
    struct fastmm_counter_mechanism m;
    fastmm_counter_get_mechanism(&m);
    ck_assert_int_eq(m.kind, _i);
    ck_assert_uint_ge(m.slots, m.used);
    ck_assert_uint_ge(m.used, 1);
}
END_TEST

static unsigned mask_bits, highest;

static long picky_kernel(size_t bytes, unsigned long *mask)
{
    if (bytes * 8 < mask_bits)
        return -EINVAL;
    mask[highest / 64] |= 1ul << highest % 64;
    return (long)bytes;
}

static long refusing_kernel(size_t bytes, unsigned long *mask)
{
    (void)bytes;
    (void)mask;
    return -EPERM;
}

START_TEST(affinity_masks_grow_until_accepted)
{
    static const struct {
        unsigned bits, highest;
    } machines[] = {{64, 1}, {1024, 767}, {2048, 1919}, {8192, 8191}};
    for (size_t k = 0; k < sizeof(machines) / sizeof(machines[0]); k++) {
        mask_bits = machines[k].bits;
        highest = machines[k].highest;
        ck_assert_uint_eq(fastmm_counter_last_in_affinity(picky_kernel), highest + 1);
    }
    mask_bits = 1 << 20;
    ck_assert_uint_eq(fastmm_counter_last_in_affinity(picky_kernel), 0);
    ck_assert_uint_eq(fastmm_counter_last_in_affinity(refusing_kernel), 0);
}
END_TEST

/* Machines of 768 and 1920 CPUs, with a counter that is used on every one of them. */
START_TEST(no_limit_of_512_or_1024_slots)
{
    unsigned cpus = _i ? 1920 : 768;
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    struct fastmm_counter_mechanism m;
    simulate_cpus(cpus);
    ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
    for (int round = 0; round < 2; round++)
        for (simulated_cpu = 0; simulated_cpu < cpus; simulated_cpu++)
            fastmm_counter_inc(&c);
    fastmm_counter_get_mechanism(&m);
    ck_assert_uint_eq(m.slots, cpus);
    ck_assert_uint_eq(m.used, cpus);
    /* The first add on each CPU opened its row; of the others only interrupted ones went there. */
    ck_assert_int_ge(c.base[0], cpus);
    ck_assert_int_lt(c.base[0], cpus + cpus / 2);
    ck_assert_int_eq(fastmm_counter_sum(&c), 2 * cpus);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter.mechanism");
    TCase *tc = tcase_create("mechanism");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, lists_of_cpus);
    tcase_add_test(tc, the_machine_has_as_many_ids_as_it_says);
    tcase_add_test(tc, a_mechanism_is_fixed_once);
    tcase_add_test(tc, without_what_it_needs_each_is_refused);
    tcase_add_loop_test(tc, each_kind_counts_the_same, FASTMM_COUNTER_RSEQ_MM_CID,
                        FASTMM_COUNTER_THREAD_SHARDS + 1);
    suite_add_tcase(suite, tc);
    TCase *large = tcase_create("large");
    tcase_add_test(large, affinity_masks_grow_until_accepted);
    tcase_add_loop_test(large, no_limit_of_512_or_1024_slots, 0, 2);
    suite_add_tcase(suite, large);
    return test_main(suite);
}
