/* SPDX-License-Identifier: MIT */
/* Failures that counters elsewhere had, by their ids in tests/known.csv. */
#define _GNU_SOURCE
#include <errno.h>
#include <fastmm/bounded.h>
#include <fastmm/quota.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter/slab.h"
#include "counter/slots.h"
#include "support.h"

/* Puts v into the slot of this CPU: an interrupted add is taken back and tried again. */
static void fill_slot(struct fastmm_counter_group *g, uint32_t cpu, int64_t v, int bounded)
{
    simulated_cpu = cpu;
    for (;;) {
        struct fastmm_counter_bounded *b = (struct fastmm_counter_bounded *)(void *)g;
        int64_t *outside = bounded ? &b->value : fastmm_counter_group_base(g);
        int64_t before = *outside;
        if (bounded)
            fastmm_counter_bounded_add(b, v);
        else
            fastmm_counter_group_add(g, 0, v);
        if (*outside == before)
            return;
        *outside = before; /* the first add opens the row */
    }
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

static void run_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static int last_allowed_cpu(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = CPU_SETSIZE - 1; cpu > 0; cpu--)
        if (CPU_ISSET((size_t)cpu, &set))
            return cpu;
    return 0;
}

/* C01: the margin counts every slot that can hold a part, not the CPUs that are online now. */
START_TEST(compare_counts_cpus_that_left)
{
    int64_t slots = _i;
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(32);
    simulate_cpus((unsigned)slots);
    fastmm_counter_bounded_add(&b, slots == 4 ? -122 : -61);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    for (int64_t cpu = 0; cpu < slots; cpu++)
        fill_slot(&b.group, (uint32_t)cpu, 31, 1);
    ck_assert_int_eq(fastmm_counter_bounded_read(&b), slots == 4 ? -122 : -61);
    run_on(last_allowed_cpu());
    ck_assert_int_eq(fastmm_counter_bounded_compare(&b, 0), 1);
    ck_assert_int_eq(fastmm_counter_bounded_sum(&b), slots == 4 ? 2 : 1);
}
END_TEST

/* C03: parts have no meaning alone; a sum leaves none out, and shows no wrapped number. */
START_TEST(sums_keep_the_parts_of_cpus_that_left)
{
    static const int64_t parts[] = {90, 1030, -900, -136};
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    simulate_cpus(4);
    ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
    for (uint32_t cpu = 0; cpu < 4; cpu++)
        fill_slot(&c.group, cpu, parts[cpu], 0);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(fastmm_counter_sum(&c), 84);
        ck_assert_int_eq(fastmm_counter_sum_positive(&c), 84);
        run_on(last_allowed_cpu());
    }
    fastmm_counter_sub(&c, 953 + 84);
    ck_assert_int_eq(fastmm_counter_sum_positive(&c), 0);
}
END_TEST

/* C05: the limit can be reached exactly, from below and at once, and so can a floor. */
START_TEST(limits_are_not_one_short)
{
    struct fastmm_quota q = FASTMM_QUOTA_INIT(460800, 32);
    struct fastmm_quota_range r;
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(32);
    simulate_cpus(4);
    ck_assert_int_eq(fastmm_quota_range_init(&r, 0, 0, 460800, 32), 0);
    for (int percpu = 0; percpu < 2; percpu++) {
        if (percpu) {
            ck_assert_int_eq(fastmm_quota_percpu(&q), 0);
            ck_assert_int_eq(fastmm_quota_range_percpu(&r), 0);
            ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
        }
        ck_assert(fastmm_quota_add(&q, 460799));
        ck_assert(fastmm_quota_add(&q, 1));
        ck_assert(!fastmm_quota_add(&q, 1));
        ck_assert_int_eq(fastmm_quota_used(&q), 460800);
        fastmm_quota_return(&q, 460800);
        ck_assert(fastmm_quota_add(&q, 460800));
        fastmm_quota_return(&q, 460800);
        ck_assert(!fastmm_quota_add(&q, 460801));
        ck_assert_int_eq(fastmm_quota_used(&q), 0);

        ck_assert(!fastmm_quota_range_add(&r, -1));
        ck_assert_int_eq(fastmm_quota_range_used(&r), 0);

        fastmm_counter_bounded_add(&b, 460799);
        ck_assert_int_eq(fastmm_counter_bounded_compare(&b, 460800), -1);
        fastmm_counter_bounded_add(&b, 1);
        ck_assert_int_eq(fastmm_counter_bounded_compare(&b, 460800), 0);
        fastmm_counter_bounded_sub(&b, 460800);
    }
}
END_TEST

static void *no_memory(size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    return NULL;
}

static void not_called(void *p, size_t bytes, void *context)
{
    (void)p;
    (void)bytes;
    (void)context;
    ck_abort();
}

/* C07: a failed switch leaves the group as it was; another one does nothing. */
START_TEST(a_switch_that_fails_changes_nothing)
{
    static const int64_t values[] = {10, -3, 0, 1ll << 40};
    static const struct fastmm_counter_memory none = {no_memory, not_called, NULL};
    struct fastmm_counter_group4 g = FASTMM_COUNTER_GROUP_INIT(4);
    int64_t sums[4];
    become_threaded();
    for (unsigned i = 0; i < 4; i++)
        fastmm_counter_group_add(&g.group, i, values[i]);
    ck_assert_int_eq(fastmm_counter_set_memory(&none), 0);
    ck_assert_int_eq(fastmm_counter_group_percpu(&g.group), -ENOMEM);
    fastmm_counter_group_sums(&g.group, sums);
    ck_assert_mem_eq(sums, values, sizeof(sums));
    ck_assert_uint_eq(g.group.slots, 4);
    fastmm_counter_group_inc(&g.group, 2);
    fastmm_counter_group_dec(&g.group, 2);
    ck_assert_int_eq(fastmm_counter_set_memory(NULL), 0);
    ck_assert_int_eq(fastmm_counter_group_percpu(&g.group), 0);
    uintptr_t slots = g.group.slots;
    ck_assert_uint_gt(slots, 8);
    size_t held = fastmm_counter_held();
    ck_assert_int_eq(fastmm_counter_group_percpu(&g.group), 0);
    ck_assert_uint_eq(g.group.slots, slots);
    ck_assert_uint_eq(fastmm_counter_held(), held);
    fastmm_counter_group_sums(&g.group, sums);
    ck_assert_mem_eq(sums, values, sizeof(sums));
}
END_TEST

static struct fastmm_counter shared;
static long adds_each;
static int midway;

static void *add_ones(void *argument)
{
    for (long k = 0; k < adds_each; k++) {
        fastmm_counter_inc(&shared);
        if (k == adds_each / 2 && !__atomic_exchange_n(&midway, 1, __ATOMIC_RELAXED))
            ck_assert_int_eq(fastmm_counter_percpu(&shared), 0);
    }
    return argument;
}

START_TEST(a_switch_under_fire_loses_nothing)
{
    adds_each = 10000 * scaled(100);
    for (long k = 0; k < 30 * scaled(33); k++) {
        ck_assert_int_eq(fastmm_counter_init(&shared), 0);
        midway = 0;
        run_threads(8, add_ones, NULL);
        ck_assert_int_eq(fastmm_counter_sum(&shared), 8 * adds_each);
        ck_assert_int_eq(fastmm_counter_destroy(&shared), 0);
    }
}
END_TEST

/* C09: the error of a read is no larger than the bound that the counter tells. */
START_TEST(the_stated_bound_holds_at_its_worst)
{
    unsigned cpus = (unsigned)_i;
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(64);
    simulate_cpus(cpus);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    for (uint32_t cpu = 0; cpu < cpus; cpu++)
        fill_slot(&b.group, cpu, 63, 1);
    int64_t sum = fastmm_counter_bounded_sum(&b);
    int64_t read = fastmm_counter_bounded_read(&b);
    ck_assert_int_eq(sum, 63 * (int64_t)cpus);
    ck_assert_int_eq(fastmm_counter_bounded_error(&b), 63 * (int64_t)cpus);
    ck_assert_int_le(magnitude(sum - read), fastmm_counter_bounded_error(&b));
    for (int64_t rhs = sum - 1; rhs <= sum + 1; rhs++)
        ck_assert_int_eq(fastmm_counter_bounded_compare(&b, rhs), (sum > rhs) - (sum < rhs));
}
END_TEST

/* C11: ids have nothing to do with how many CPUs are seen. */
START_TEST(ids_beyond_the_table_count_in_the_base_word)
{
    struct fastmm_counter_group2 g = FASTMM_COUNTER_GROUP_INIT(2);
    simulate_cpus((unsigned)_i);
    ck_assert_int_eq(fastmm_counter_group_percpu(&g.group), 0);
    static const uint32_t ids[] = {0, 1, 5, 4095, 8191, 8192, 1u << 31, UINT32_MAX};
    int64_t sum = 0;
    for (unsigned k = 0; k < 8 * 100; k++) {
        simulated_cpu = ids[k % 8];
        fastmm_counter_group_add(&g.group, 1, k);
        sum += k;
    }
    ck_assert_int_eq(fastmm_counter_group_sum(&g.group, 1), sum);
    ck_assert_int_eq(fastmm_counter_group_sum(&g.group, 0), 0);
}
END_TEST

START_TEST(the_last_cpu_is_like_any_other)
{
    become_threaded();
    run_on(last_allowed_cpu());
    ck_assert_int_eq(fastmm_counter_init(&shared), 0);
    ck_assert_int_eq(fastmm_counter_percpu(&shared), 0);
    for (int k = 0; k < 1000; k++)
        fastmm_counter_add(&shared, 3);
    ck_assert_int_eq(fastmm_counter_sum(&shared), 3000);
}
END_TEST

static pthread_barrier_t added;

static void *add_and_leave(void *argument)
{
    uint64_t state = test_seed() ^ (uint64_t)pthread_self();
    for (int k = 0; k < 100; k++)
        fastmm_counter_inc(&shared);
    pthread_barrier_wait(&added);
    usleep((useconds_t)(test_random(&state) % 20000));
    return argument;
}

/* C17: what a thread has added stays counted while it exits and after. */
START_TEST(sums_hold_while_threads_exit)
{
    pthread_t threads[10];
    ck_assert_int_eq(fastmm_counter_init(&shared), 0);
    if (_i)
        ck_assert_int_eq(fastmm_counter_percpu(&shared), 0);
    pthread_barrier_init(&added, NULL, 11);
    for (int t = 0; t < 10; t++)
        pthread_create(&threads[t], NULL, add_and_leave, NULL);
    pthread_barrier_wait(&added);
    for (int k = 0; k < 10000; k++)
        ck_assert_int_eq(fastmm_counter_sum(&shared), 1000);
    for (int t = 0; t < 10; t++)
        pthread_join(threads[t], NULL);
    for (int k = 0; k < 1000; k++)
        ck_assert_int_eq(fastmm_counter_sum(&shared), 1000);
}
END_TEST

static struct fastmm_quota forked_quota = FASTMM_QUOTA_INIT(1 << 20, 4);
static int stop;

/* A hang is forever. A sanitizer is just slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CHILD_SECONDS = 20 };
#else
enum { CHILD_SECONDS = 2 };
#endif

static void *keep_internals_busy(void *argument)
{
    struct fastmm_counter_group8 g;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        fastmm_counter_group_init(&g.group, 8);
        fastmm_counter_group_percpu(&g.group);
        fastmm_counter_group_inc(&g.group, 3);
        fastmm_counter_group_sum(&g.group, 3);
        fastmm_counter_group_destroy(&g.group);
        fastmm_counter_trim();
        if (fastmm_quota_add(&forked_quota, 50)) /* larger than any credit: takes the lock */
            fastmm_quota_return(&forked_quota, 50);
    }
    return argument;
}

static int use_all_in_the_child(int64_t sum)
{
    alarm(CHILD_SECONDS);
    fastmm_counter_add(&shared, 7);
    int ok = fastmm_counter_sum(&shared) == sum + 7;
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    ok = ok && fastmm_counter_percpu(&c) == 0;
    fastmm_counter_add(&c, 5);
    ok = ok && fastmm_counter_sum(&c) == 5 && fastmm_counter_destroy(&c) == 0;
    ok = ok && fastmm_counter_destroy(&shared) == 0;
    /* Credit that was in somebody's hand at the fork would be in use for ever. */
    int64_t used = fastmm_quota_used(&forked_quota);
    ok = ok && (used == 0 || used == 50);
    ok = ok && fastmm_quota_add(&forked_quota, 1000);
    fastmm_counter_trim();
    return ok ? 0 : 1;
}

/* C19: a child forked at any moment can use everything, and shares nothing with its parent. */
START_TEST(children_never_hang)
{
    pthread_t busy;
    ck_assert_int_eq(fastmm_counter_init(&shared), 0);
    ck_assert_int_eq(fastmm_counter_percpu(&shared), 0);
    fastmm_quota_percpu(&forked_quota);
    pthread_atfork(fastmm_quota_fork_prepare, fastmm_quota_fork_parent, fastmm_quota_fork_child);
    pthread_create(&busy, NULL, keep_internals_busy, NULL);
    for (int k = 0; k < 100 * (int)scaled(10); k++) {
        fastmm_counter_inc(&shared);
        pid_t child = fork();
        if (child == 0)
            _exit(use_all_in_the_child(k + 1));
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(fastmm_counter_sum(&shared), k + 1);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(busy, NULL);
    fastmm_counter_destroy(&shared);
    fastmm_counter_trim();
    fastmm_quota_destroy(&forked_quota);
    fastmm_counter_trim();
    ck_assert_uint_eq(fastmm_counter_held(), 0);
}
END_TEST

/* C25: CPUs share no line, a group's counters share one, packed and padded are as documented. */
START_TEST(lines_are_shared_as_documented)
{
    struct fastmm_counter_group4 g = FASTMM_COUNTER_GROUP_INIT(4);
    struct {
        FASTMM_COUNTER_ALIGNED struct fastmm_counter one;
        FASTMM_COUNTER_ALIGNED struct fastmm_counter two;
    } padded;
    struct fastmm_counter packed[2];
    become_threaded();
    ck_assert_int_eq(fastmm_counter_group_percpu(&g.group), 0);
    for (unsigned row = 0; row < 2; row++)
        ck_assert_uint_eq((uintptr_t)slots_word(g.group.slots, row, 0) / 64,
                          (uintptr_t)slots_word(g.group.slots, row, 3) / 64);
    ck_assert_uint_ge((uintptr_t)slots_word(g.group.slots, 1, 0) / 64,
                      (uintptr_t)slots_word(g.group.slots, 0, 7) / 64 + 1);
    ck_assert_uint_eq((uintptr_t)&packed[1] - (uintptr_t)&packed[0], 16);
    ck_assert_uint_ge((uintptr_t)&padded.two - (uintptr_t)&padded.one, 64);
}
END_TEST

/* N1: the most negative amount wraps like any other, in every mode. */
START_TEST(the_most_negative_amount)
{
    become_threaded();
    for (int mode = 0; mode < 3; mode++) {
        struct fastmm_counter c = FASTMM_COUNTER_INIT;
        struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(8);
        if (mode) {
            ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
            ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
        }
        if (mode == 2)
            fastmm_counter_inc(&c), fastmm_counter_dec(&c);
        fastmm_counter_add(&c, INT64_MIN);
        ck_assert_int_eq(fastmm_counter_sum(&c), INT64_MIN);
        ck_assert_int_eq(fastmm_counter_sum_positive(&c), 0);
        fastmm_counter_sub(&c, INT64_MIN);
        ck_assert_int_eq(fastmm_counter_sum(&c), 0);
        fastmm_counter_sub(&c, INT64_MIN);
        ck_assert_int_eq(fastmm_counter_sum(&c), INT64_MIN);
        ck_assert_int_eq(fastmm_counter_take(&c), INT64_MIN);

        fastmm_counter_bounded_add(&b, INT64_MIN);
        ck_assert_int_eq(fastmm_counter_bounded_sum(&b), INT64_MIN);
        ck_assert_int_eq(fastmm_counter_bounded_compare(&b, INT64_MIN), 0);
        ck_assert_int_eq(fastmm_counter_bounded_compare(&b, 0), -1);
        ck_assert_int_eq(fastmm_counter_bounded_compare(&b, INT64_MAX), -1);
        fastmm_counter_bounded_sub(&b, INT64_MIN);
        ck_assert_int_eq(fastmm_counter_bounded_sum(&b), 0);
        fastmm_counter_destroy(&c);
        fastmm_counter_bounded_destroy(&b);
    }
}
END_TEST

/* N2: extremes of batch, amount and value: no overflow, and the exact answer. */
START_TEST(extremes_of_batch_and_value)
{
    static const int32_t batches[] = {1, 2, INT32_MAX};
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(1);
    ck_assert_int_eq(fastmm_counter_bounded_init(&b, 0), -EINVAL);
    ck_assert_int_eq(fastmm_counter_bounded_init(&b, -5), -EINVAL);
    simulate_cpus(8192);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(fastmm_counter_bounded_init(&b, batches[k]), 0);
        ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
        simulated_cpu = 8191;
        fastmm_counter_bounded_inc(&b);
        fastmm_counter_bounded_add(&b, INT64_MAX - 6);
        fastmm_counter_bounded_add(&b, 1000);
        fastmm_counter_bounded_sub(&b, 1000);
        const int64_t value = INT64_MAX - 5;
        ck_assert_int_eq(fastmm_counter_bounded_sum(&b), value);
        static const int64_t rhs[] = {INT64_MIN, -1, 0, INT64_MAX - 6, INT64_MAX - 5, INT64_MAX};
        for (unsigned n = 0; n < sizeof(rhs) / sizeof(rhs[0]); n++)
            ck_assert_int_eq(fastmm_counter_bounded_compare(&b, rhs[n]),
                             (value > rhs[n]) - (value < rhs[n]));
        ck_assert_int_ge(fastmm_counter_bounded_error(&b), 0);
        ck_assert_int_eq(fastmm_counter_bounded_destroy(&b), 0);
    }
}
END_TEST

/* N2: the read wraps and the value does not. */
START_TEST(reads_that_wrap_compare_exactly)
{
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(500);
    simulate_cpus(2);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    fastmm_counter_bounded_add(&b, INT64_MAX - 1000);
    fill_slot(&b.group, 0, -450, 1);
    fastmm_counter_bounded_add(&b, 1445); /* larger than the batch: shown at once */
    ck_assert_int_lt(fastmm_counter_bounded_read(&b), 0);
    ck_assert_int_eq(fastmm_counter_bounded_sum(&b), INT64_MAX - 5);
    ck_assert_int_eq(fastmm_counter_bounded_compare(&b, 0), 1);
    ck_assert_int_eq(fastmm_counter_bounded_compare(&b, INT64_MAX - 5), 0);
    ck_assert_int_eq(fastmm_counter_bounded_compare(&b, INT64_MAX), -1);
}
END_TEST

/* N3: at the edge of the margin the answer is that of exact numbers. */
START_TEST(compare_at_the_edge_of_the_margin)
{
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(32);
    simulate_cpus(4);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    for (uint32_t cpu = 0; cpu < 4; cpu++)
        fill_slot(&b.group, cpu, _i, 1);
    int64_t value = 4 * _i;
    int64_t read = fastmm_counter_bounded_read(&b);
    static const int64_t edges[] = {32 * 4, 31 * 4};
    for (int e = 0; e < 2; e++) {
        for (int64_t off = -1; off <= 1; off++) {
            int64_t above = read + edges[e] + off, below = read - edges[e] + off;
            ck_assert_int_eq(fastmm_counter_bounded_compare(&b, above),
                             (value > above) - (value < above));
            ck_assert_int_eq(fastmm_counter_bounded_compare(&b, below),
                             (value > below) - (value < below));
        }
    }
}
END_TEST

/* N6: slots hold 64 bits. */
START_TEST(slots_do_not_wrap_at_32_bits)
{
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(INT32_MAX);
    simulate_cpus(4);
    ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    for (int k = 0; k < 40; k++) {
        simulated_cpu = (uint32_t)k % 2;
        fastmm_counter_add(&c, 1ll << 31);
        fastmm_counter_bounded_add(&b, INT32_MAX - 1);
        int64_t bounded = (k + 1) * (int64_t)(INT32_MAX - 1);
        ck_assert_int_eq(fastmm_counter_sum(&c), (k + 1) * (1ll << 31));
        ck_assert_int_eq(fastmm_counter_bounded_sum(&b), bounded);
        ck_assert_int_le(magnitude(fastmm_counter_bounded_read(&b) - bounded),
                         fastmm_counter_bounded_error(&b));
    }
}
END_TEST

static Suite *suite;

static TCase *known(const char *id)
{
    TCase *tc = tcase_create(id);
    tcase_set_timeout(tc, 0);
    suite_add_tcase(suite, tc);
    return tc;
}

int main(void)
{
    suite = suite_create("counter.known");
    TCase *c01 = known("C01");
    tcase_add_loop_test(c01, compare_counts_cpus_that_left, 2, 3);
    tcase_add_loop_test(c01, compare_counts_cpus_that_left, 4, 5);
    tcase_add_test(known("C03"), sums_keep_the_parts_of_cpus_that_left);
    tcase_add_test(known("C05"), limits_are_not_one_short);
    TCase *c07 = known("C07");
    tcase_add_test(c07, a_switch_that_fails_changes_nothing);
    tcase_add_test(c07, a_switch_under_fire_loses_nothing);
    TCase *c09 = known("C09");
    tcase_add_loop_test(c09, the_stated_bound_holds_at_its_worst, 1, 3);
    tcase_add_loop_test(c09, the_stated_bound_holds_at_its_worst, 512, 513);
    TCase *c11 = known("C11");
    tcase_add_loop_test(c11, ids_beyond_the_table_count_in_the_base_word, 1, 4);
    tcase_add_test(c11, the_last_cpu_is_like_any_other);
    tcase_add_loop_test(known("C17"), sums_hold_while_threads_exit, 0, 2);
    tcase_add_test(known("C19"), children_never_hang);
    tcase_add_test(known("C25"), lines_are_shared_as_documented);
    tcase_add_test(known("N1"), the_most_negative_amount);
    TCase *n2 = known("N2");
    tcase_add_test(n2, extremes_of_batch_and_value);
    tcase_add_test(n2, reads_that_wrap_compare_exactly);
    TCase *n3 = known("N3");
    tcase_add_loop_test(n3, compare_at_the_edge_of_the_margin, -31, 32);
    tcase_add_test(known("N6"), slots_do_not_wrap_at_32_bits);
    return test_main(suite);
}
