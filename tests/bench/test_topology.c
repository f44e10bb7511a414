/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include "topology.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = CHAR_BIT * sizeof(unsigned long) };

static void set_cpu(unsigned long *mask, unsigned cpu)
{
    mask[cpu / WORD] |= 1ul << cpu % WORD;
}

/* A kernel of 2048 CPUs that allows three of them. */
static int big_kernel(size_t bytes, unsigned long *mask)
{
    if (bytes * CHAR_BIT < 2048) {
        errno = EINVAL;
        return -1;
    }
    set_cpu(mask, 0);
    set_cpu(mask, 1024);
    set_cpu(mask, 2047);
    return 0;
}

static int forbidding_kernel(size_t bytes, unsigned long *mask)
{
    (void)bytes;
    (void)mask;
    errno = EPERM;
    return -1;
}

static int endless_kernel(size_t bytes, unsigned long *mask)
{
    (void)bytes;
    (void)mask;
    errno = EINVAL;
    return -1;
}

START_TEST(the_mask_grows_until_the_kernel_takes_it)
{
    int *cpus;
    unsigned count;
    ck_assert_int_eq(topology_allowed(big_kernel, &cpus, &count), 0);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(cpus[0], 0);
    ck_assert_int_eq(cpus[1], 1024);
    ck_assert_int_eq(cpus[2], 2047);
    free(cpus);
}
END_TEST

START_TEST(a_kernel_that_refuses_is_reported)
{
    int *cpus;
    unsigned count;
    ck_assert_int_eq(topology_allowed(forbidding_kernel, &cpus, &count), -EPERM);
    ck_assert_int_eq(topology_allowed(endless_kernel, &cpus, &count), -EINVAL);
}
END_TEST

static void load(struct topology *topology)
{
    ck_assert_int_eq(topology_load(topology), 0);
    if (strcmp(topology->source, "hwloc") != 0) {
        topology_free(topology);
        test_skip("the harness was built without hwloc");
    }
}

static void check_synthetic(const char *description, unsigned count, unsigned cores)
{
    struct topology topology;
    setenv("HWLOC_SYNTHETIC", description, 1);
    load(&topology);
    ck_assert_uint_eq(topology.count, count);
    ck_assert_uint_eq(topology.cores, cores);
    ck_assert(!topology.of_this_system);
    bool *seen = calloc(count, sizeof(*seen));
    for (unsigned i = 0; i < count; i++) {
        ck_assert_int_ge(topology.cpus[i], 0);
        ck_assert_int_lt(topology.cpus[i], (int)count);
        ck_assert(!seen[topology.cpus[i]]);
        seen[topology.cpus[i]] = true;
    }
    free(seen);
    topology_free(&topology);
}

START_TEST(synthetic_machines_are_counted_whole)
{
    check_synthetic("pack:4 core:96 pu:2", 768, 384);
    check_synthetic("pack:16 core:60 pu:2", 1920, 960);
}
END_TEST

START_TEST(each_core_gets_one_thread_before_any_gets_two)
{
    struct topology topology;
    setenv("HWLOC_SYNTHETIC", "core:3 pu:2", 1); /* CPUs 0 1, 2 3, 4 5 */
    load(&topology);
    static const int expected[] = {2, 4, 0, 1, 3, 5};
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(topology.cpus[i], expected[i]);
    topology_free(&topology);
}
END_TEST

START_TEST(this_machine_is_read_and_can_be_bound_to)
{
    struct topology topology;
    unsetenv("HWLOC_SYNTHETIC");
    ck_assert_int_eq(topology_load(&topology), 0);
    ck_assert(topology.of_this_system);
    ck_assert_uint_ge(topology.count, 1);
    for (unsigned i = 0; i < topology.count; i++)
        ck_assert_int_eq(topology_bind(topology.cpus[i]), 0);
    topology_free(&topology);
}
END_TEST

START_TEST(loading_binds_nothing)
{
    unsigned long before[64] = {0}, after[64] = {0};
    struct topology topology;
    if (topology_get_affinity(sizeof(before), before) < 0)
        test_skip("the affinity mask has more than 4096 bits");
    ck_assert_int_eq(topology_load(&topology), 0);
    topology_free(&topology);
    ck_assert_int_ge(topology_get_affinity(sizeof(after), after), 0);
    ck_assert_int_eq(memcmp(before, after, sizeof(before)), 0);
}
END_TEST

START_TEST(a_broken_hwloc_leaves_sysfs)
{
    struct topology topology;
    setenv("HWLOC_XMLFILE", "/nonexistent.xml", 1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    ck_assert_int_eq(topology_load(&topology), 0);
    ck_assert_uint_ge(topology.count, 1);
    topology_free(&topology);
}
END_TEST

/* hwloc's own x86 discovery asks each CPU in turn; it once hung on one that was excluded. */
START_TEST(discovery_ends_with_cpus_excluded)
{
    struct topology topology;
    int *cpus;
    unsigned count;
    ck_assert_int_eq(topology_allowed(topology_get_affinity, &cpus, &count), 0);
    ck_assert_int_eq(topology_bind(cpus[count - 1]), 0); /* all others are excluded */
    if (_i)
        setenv("HWLOC_COMPONENTS", "x86", 1);
    ck_assert_int_eq(topology_load(&topology), 0);
    ck_assert_uint_eq(topology.count, 1);
    ck_assert_int_eq(topology.cpus[0], cpus[count - 1]);
    topology_free(&topology);
    free(cpus);
}
END_TEST

START_TEST(a_cpu_that_is_not_there_cannot_be_bound_to)
{
    ck_assert_int_eq(topology_bind(1 << 19), -EINVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.topology");
    TCase *known = tcase_create("T03");
    tcase_add_test(known, the_mask_grows_until_the_kernel_takes_it);
    tcase_add_test(known, synthetic_machines_are_counted_whole);
    suite_add_tcase(suite, known);
    TCase *start = tcase_create("T01");
    tcase_set_timeout(start, 5);
    tcase_add_loop_test(start, discovery_ends_with_cpus_excluded, 0, 2);
    tcase_add_test(start, loading_binds_nothing);
    tcase_add_test(start, a_broken_hwloc_leaves_sysfs);
    suite_add_tcase(suite, start);
    TCase *tc = tcase_create("topology");
    tcase_add_test(tc, a_kernel_that_refuses_is_reported);
    tcase_add_test(tc, each_core_gets_one_thread_before_any_gets_two);
    tcase_add_test(tc, this_machine_is_read_and_can_be_bound_to);
    tcase_add_test(tc, a_cpu_that_is_not_there_cannot_be_bound_to);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
