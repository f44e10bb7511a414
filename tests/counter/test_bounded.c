/* SPDX-License-Identifier: MIT */
/* The bound of bounded counters, kept by every schedule, and what rests on it. */
#include <errno.h>
#include <fastmm/bounded.h>
#include <unistd.h>

#include "counter/slots.h"
#include "support.h"

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

START_TEST(wrong_use_is_refused)
{
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(7);
    int64_t peak = 99;
    ck_assert_int_eq(fastmm_counter_bounded_init(&b, 0), -EINVAL);
    ck_assert_int_eq(fastmm_counter_bounded_init(&b, INT32_MIN), -EINVAL);
    ck_assert_int_eq(b.batch, 7);
    ck_assert_int_eq(fastmm_counter_bounded_peak(&b, &peak), -EINVAL);
    ck_assert_int_eq(peak, 99);
    ck_assert_int_eq(fastmm_counter_bounded_destroy(&b), 0);
    ck_assert_int_eq(fastmm_counter_bounded_destroy(&b), -EINVAL);
    ck_assert_int_eq(fastmm_counter_bounded_atomic(&b), -EINVAL);
}
END_TEST

START_TEST(one_thread_on_many_cpus_stays_within_the_bound)
{
    unsigned rows = (unsigned)_i;
    uint64_t state = test_seed() + rows;
    struct fastmm_counter_bounded b;
    simulate_cpus(rows);
    ck_assert_int_eq(fastmm_counter_bounded_init_peak(&b, 32), 0);
    int64_t value = 0, highest = 0, bound = 0;
    for (int k = 0; k < 20000; k++) {
        simulated_cpu = (uint32_t)(test_random(&state) % rows);
        int64_t v = (int64_t)(test_random(&state) % 81) - 40;
        if (test_random(&state) % 500 == 0)
            v *= 1000000007;
        fastmm_counter_bounded_add(&b, v);
        value += v;
        highest = value > highest ? value : highest;
        if (k == 1000)
            ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
        bound = fastmm_counter_bounded_error(&b);
        ck_assert_int_le(bound, 31 * (int64_t)rows);
        ck_assert_int_le(distance(fastmm_counter_bounded_read(&b), value), bound);
        int64_t rhs = value + (int64_t)(test_random(&state) % 7) - 3;
        ck_assert_int_eq(fastmm_counter_bounded_compare(&b, rhs), (value > rhs) - (value < rhs));
    }
    int64_t peak;
    ck_assert_int_eq(fastmm_counter_bounded_sum(&b), value);
    ck_assert_int_eq(fastmm_counter_bounded_peak(&b, &peak), 0);
    ck_assert_int_le(distance(peak, highest), bound);
    ck_assert_int_eq(fastmm_counter_bounded_atomic(&b), 0);
    ck_assert_int_eq(fastmm_counter_bounded_read(&b), value);
    ck_assert_int_eq(fastmm_counter_bounded_sum(&b), value);
    ck_assert_int_eq(fastmm_counter_bounded_error(&b), 0);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    ck_assert_int_eq(fastmm_counter_bounded_sum(&b), value);
    ck_assert_int_eq(fastmm_counter_bounded_destroy(&b), 0);
}
END_TEST

START_TEST(a_value_at_a_boundary_publishes_once)
{
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(16);
    simulate_cpus(2);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    /* The first add opens the row; an interrupted one counts elsewhere. */
    for (int k = 0; k < 30 && b.published == 0; k++)
        fastmm_counter_bounded_inc(&b);
    int64_t published = b.published, counted_here = *slots_word(b.group.slots, 0, 0);
    ck_assert_int_gt(published, 0);
    for (int k = 0; k < 1000; k++) {
        fastmm_counter_bounded_dec(&b);
        fastmm_counter_bounded_inc(&b);
    }
    ck_assert_int_eq(b.published, published);
    for (int k = 0; k < 10; k++)
        fastmm_counter_bounded_inc(&b);
    ck_assert_int_gt(*slots_word(b.group.slots, 0, 0), counted_here);
}
END_TEST

START_TEST(peak_is_exact_in_atomic_mode)
{
    struct fastmm_counter_bounded b;
    int64_t peak;
    ck_assert_int_eq(fastmm_counter_bounded_init_peak(&b, 8), 0);
    fastmm_counter_bounded_add(&b, -3);
    ck_assert_int_eq(fastmm_counter_bounded_peak(&b, &peak), 0);
    ck_assert_int_eq(peak, 0);
    fastmm_counter_bounded_add(&b, 20);
    fastmm_counter_bounded_sub(&b, 5);
    ck_assert_int_eq(fastmm_counter_bounded_peak(&b, &peak), 0);
    ck_assert_int_eq(peak, 17);
}
END_TEST

START_TEST(peak_is_within_the_bound_in_percpu_mode)
{
    struct fastmm_counter_bounded b;
    int64_t peak;
    simulate_cpus(2);
    ck_assert_int_eq(fastmm_counter_bounded_init_peak(&b, 8), 0);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    for (int k = 0; k < 2000; k++) {
        simulated_cpu = (uint32_t)k % 2;
        fastmm_counter_bounded_add(&b, k < 1000 ? 1 : -1);
    }
    ck_assert_int_eq(fastmm_counter_bounded_sum(&b), 0);
    ck_assert_int_eq(fastmm_counter_bounded_peak(&b, &peak), 0);
    ck_assert_int_le(distance(peak, 1000), fastmm_counter_bounded_error(&b));
}
END_TEST

static struct fastmm_counter_bounded shared = FASTMM_COUNTER_BOUNDED_INIT(64);
static int stop;
enum { THREADS = 4, ADDS = 200000 };

static void *add_one_by_one(void *argument)
{
    for (int k = 0; k < ADDS; k++)
        fastmm_counter_bounded_inc(&shared);
    return argument;
}

/* Adds have one sign: a read lies between sums taken before and after it, but for the bound. */
static void *check_reads(void *argument)
{
    int64_t last = 0;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        int64_t before = fastmm_counter_bounded_sum(&shared);
        int64_t read = fastmm_counter_bounded_read(&shared);
        int64_t after = fastmm_counter_bounded_sum(&shared);
        int64_t bound = fastmm_counter_bounded_error(&shared); /* rows only become more */
        ck_assert_int_ge(before, last);
        ck_assert_int_ge(read, before - bound);
        ck_assert_int_le(read, after + bound);
        last = after;
    }
    return argument;
}

START_TEST(reads_beside_adds_stay_within_the_bound)
{
    pthread_t reader;
    if (_i)
        ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_THREAD_SHARDS), 0);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&shared), 0);
    pthread_create(&reader, NULL, check_reads, NULL);
    run_threads(THREADS, add_one_by_one, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(reader, NULL);
    ck_assert_int_eq(fastmm_counter_bounded_sum(&shared), THREADS * ADDS);
    ck_assert_int_le(distance(fastmm_counter_bounded_read(&shared), THREADS * ADDS),
                     fastmm_counter_bounded_error(&shared));
    ck_assert_int_le(fastmm_counter_bounded_error(&shared), 63 * (int64_t)fastmm_counter_cpus());
}
END_TEST

/*
 * A thread that lost its CPU while it publishes, perhaps for ever in a child of fork: its row is
 * closed, so nobody publishes it twice, and what others add meanwhile is seen at once.
 */
START_TEST(a_closed_row_is_left_alone)
{
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(64);
    if (_i)
        ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_THREAD_SHARDS), 0);
    else
        simulate_cpus(2);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    unsigned row = _i ? fastmm_counter_shard() : 0;
    int64_t *total = slots_word(b.group.slots, row, 0), *published = total + 1;
    int64_t counted = 0;
    for (; *total < 3; counted++)
        fastmm_counter_bounded_inc(&b);
    ck_assert_int_eq(*published, 0);
    *published = *total ^ INT64_MIN; /* closed by somebody, who has yet to publish */
    int64_t kept_back = *total;
    for (int k = 0; k < 1000; k++, counted++) {
        fastmm_counter_bounded_inc(&b);
        ck_assert_int_eq(fastmm_counter_bounded_sum(&b), counted + 1);
        ck_assert_int_eq(fastmm_counter_bounded_read(&b), counted + 1 - kept_back);
    }
    ck_assert_int_eq(*total, kept_back);
    b.value += kept_back;
    b.published += kept_back;
    ck_assert_int_eq(fastmm_counter_bounded_sum(&b), counted);
    *published = kept_back;
    for (int k = 0; k < 1000; k++, counted++) {
        fastmm_counter_bounded_inc(&b);
        ck_assert_int_eq(fastmm_counter_bounded_sum(&b), counted + 1);
    }
    ck_assert_int_gt(*total, kept_back);
    ck_assert_int_le(distance(fastmm_counter_bounded_read(&b), counted),
                     fastmm_counter_bounded_error(&b));
}
END_TEST

/* The amount that would make good for the distance that closes a row. */
START_TEST(the_most_negative_amount_opens_no_closed_row)
{
    struct fastmm_counter_bounded b = FASTMM_COUNTER_BOUNDED_INIT(64);
    simulate_cpus(1);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&b), 0);
    int64_t *total = slots_word(b.group.slots, 0, 0);
    while (*total < 3)
        fastmm_counter_bounded_inc(&b);
    total[1] = *total ^ INT64_MIN;
    for (int64_t off = -1; off <= 1; off++) {
        fastmm_counter_bounded_add(&b, (int64_t)((uint64_t)INT64_MIN + (uint64_t)off));
        ck_assert_int_eq(*total, 3);
    }
}
END_TEST

static void *add_until_stopped(void *argument)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        fastmm_counter_bounded_inc(&shared);
    return argument;
}

/*
 * Many threads a CPU: somebody always loses it in the middle of an add. TSan looks for races, which
 * takes fewer, and makes each step a hundred times as long.
 */
#ifdef __SANITIZE_THREAD__
enum { CROWD = 4, CROWD_READS = 1000 };
#else
enum { CROWD = 24, CROWD_READS = 20000 };
#endif

START_TEST(the_bound_holds_in_a_crowd)
{
    pthread_t threads[CROWD];
    if (_i)
        ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_THREAD_SHARDS), 0);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&shared), 0);
    for (int t = 0; t < CROWD; t++)
        pthread_create(&threads[t], NULL, add_until_stopped, NULL);
    for (int k = 0; k < CROWD_READS * (int)scaled(100); k++) {
        int64_t before = fastmm_counter_bounded_sum(&shared);
        int64_t read = fastmm_counter_bounded_read(&shared);
        ck_assert_int_ge(read, before - fastmm_counter_bounded_error(&shared));
        if (k % 1000 == 0)
            usleep(1);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int t = 0; t < CROWD; t++)
        pthread_join(threads[t], NULL);
    ck_assert_int_le(
        distance(fastmm_counter_bounded_read(&shared), fastmm_counter_bounded_sum(&shared)),
        fastmm_counter_bounded_error(&shared));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter.bounded");
    TCase *tc = tcase_create("bounded");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, wrong_use_is_refused);
    tcase_add_loop_test(tc, one_thread_on_many_cpus_stays_within_the_bound, 1, 5);
    tcase_add_loop_test(tc, one_thread_on_many_cpus_stays_within_the_bound, 512, 513);
    tcase_add_loop_test(tc, one_thread_on_many_cpus_stays_within_the_bound, 8192, 8193);
    tcase_add_test(tc, a_value_at_a_boundary_publishes_once);
    tcase_add_test(tc, peak_is_exact_in_atomic_mode);
    tcase_add_test(tc, peak_is_within_the_bound_in_percpu_mode);
    tcase_add_loop_test(tc, reads_beside_adds_stay_within_the_bound, 0, 2);
    tcase_add_loop_test(tc, a_closed_row_is_left_alone, 0, 2);
    tcase_add_test(tc, the_most_negative_amount_opens_no_closed_row);
    tcase_add_loop_test(tc, the_bound_holds_in_a_crowd, 0, 2);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
