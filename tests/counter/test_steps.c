/* SPDX-License-Identifier: MIT */
/*
 * Every instruction of an operation, interrupted. The trap flag stops a thread behind each one, so
 * no boundary is left to luck, and the handler does the worst that a rival could do there. It also
 * is what a debugger does that steps through: each sequence aborts, and all must end all the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fastmm/bounded.h>
#include <fastmm/quota.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

#include "support.h"

/* TSan's runtime would be stepped through as well, hundreds of instructions for each of ours. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#    define CAN_STEP 1
#endif

#ifdef CAN_STEP

enum { TRAP_FLAG = 0x100, ROUNDS = 40 };

static void (*at_each_step)(void);
static long steps;
static uint64_t random_state;

static void stepped(int signal)
{
    (void)signal;
    steps++;
    at_each_step();
}

static void set_trap_flag(int signal, siginfo_t *info, void *context)
{
    (void)info;
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    *flags = signal == SIGUSR1 ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
}

/* Runs operation(), and interference() behind each of its instructions. */
static void step_through(void (*operation)(void), void (*interference)(void))
{
    struct sigaction step = {.sa_handler = stepped};
    struct sigaction set = {.sa_sigaction = set_trap_flag, .sa_flags = SA_SIGINFO};
    at_each_step = interference;
    sigaction(SIGTRAP, &step, NULL);
    sigaction(SIGUSR1, &set, NULL);
    sigaction(SIGUSR2, &set, NULL);
    raise(SIGUSR1);
    operation();
    raise(SIGUSR2);
    if (steps == 0)
        test_skip("the trap flag does nothing here");
    printf("%ld steps\n", steps);
}

static void begin(int kind)
{
    int error = fastmm_counter_use_mechanism((enum fastmm_counter_mechanism_kind)kind);
    if (error == -ENOTSUP)
        test_skip("mechanism %d is not to be had here", kind);
    become_threaded();
    random_state = test_seed();
}

static struct fastmm_counter_group4 exact;

static void add_and_sum(void)
{
    for (int k = 0; k < ROUNDS; k++) {
        fastmm_counter_group_inc(&exact.group, 1);
        int64_t before = fastmm_counter_group_sum(&exact.group, 1);
        if (fastmm_counter_group_sum(&exact.group, 1) < before)
            abort();
    }
}

static void add_too(void)
{
    fastmm_counter_group_inc(&exact.group, 1);
}

START_TEST(exact_adds)
{
    begin(_i);
    fastmm_counter_group_init(&exact.group, 4);
    ck_assert_int_eq(fastmm_counter_group_percpu(&exact.group), 0);
    step_through(add_and_sum, add_too);
    ck_assert_int_eq(fastmm_counter_group_sum(&exact.group, 1), ROUNDS + steps);
}
END_TEST

static void switch_and_add(void)
{
    for (int k = 0; k < ROUNDS / 4; k++) {
        fastmm_counter_group_percpu(&exact.group);
        fastmm_counter_group_inc(&exact.group, 2);
    }
}

static struct fastmm_counter_group4 other;

/* Also takes slots and gives them back, in the middle of a switch that takes some. */
static void switch_too(void)
{
    fastmm_counter_group_init(&other.group, 3);
    if (fastmm_counter_group_percpu(&other.group) != 0 ||
        fastmm_counter_group_sum(&other.group, 2) != 0)
        abort();
    fastmm_counter_group_inc(&other.group, 2);
    fastmm_counter_group_destroy(&other.group);
    if (steps % 16 == 0)
        fastmm_counter_trim();
    fastmm_counter_group_inc(&exact.group, 2);
}

START_TEST(switches)
{
    begin(_i);
    fastmm_counter_group_init(&exact.group, 4);
    step_through(switch_and_add, switch_too);
    ck_assert_int_eq(fastmm_counter_group_sum(&exact.group, 2), ROUNDS / 4 + steps);
    fastmm_counter_group_destroy(&exact.group);
    fastmm_counter_trim();
    ck_assert_uint_eq(fastmm_counter_held(), 0);
}
END_TEST

enum { SWITCHED = 20, OTHERS = 2000 };

static struct fastmm_counter many[SWITCHED], others[OTHERS];
static int64_t added[SWITCHED];
static int current, others_switched;

static void switch_each(void)
{
    for (current = 0; current < SWITCHED; current++)
        fastmm_counter_percpu(&many[current]);
}

static void count_in_another(void)
{
    int k = others_switched++;
    fastmm_counter_percpu(&others[k]);
    fastmm_counter_add(&others[k], k);
    fastmm_counter_add(&others[k], k);
}

/* Another thread takes slots, or is first with the same switch and counts there at once. */
static void switch_too_or_first(void)
{
    uint64_t dice = test_random(&random_state) % 64;
    if (dice > 8 && dice < 32 && others_switched < OTHERS)
        count_in_another();
    if (current >= SWITCHED || dice)
        return;
    fastmm_counter_percpu(&many[current]);
    for (int k = 0; k < 3; k++)
        fastmm_counter_inc(&many[current]);
    added[current] += 3;
}

START_TEST(switches_that_meet)
{
    begin(_i);
    ck_assert_int_eq(fastmm_counter_groups_init(&many[0].group, 1, SWITCHED), 0);
    ck_assert_int_eq(fastmm_counter_groups_init(&others[0].group, 1, OTHERS), 0);
    step_through(switch_each, switch_too_or_first);
    int64_t met = 0;
    for (int k = 0; k < others_switched; k++)
        ck_assert_int_eq(fastmm_counter_sum(&others[k]), 2 * k);
    for (int k = 0; k < SWITCHED; k++) {
        ck_assert_int_eq(fastmm_counter_sum(&many[k]), added[k]);
        met += added[k];
    }
    ck_assert_int_gt(met, 0);
    fastmm_counter_groups_destroy(&many[0].group, 1, SWITCHED);
    fastmm_counter_groups_destroy(&others[0].group, 1, OTHERS);
    fastmm_counter_trim();
    ck_assert_uint_eq(fastmm_counter_held(), 0);
}
END_TEST

static int64_t given, taken;

static void take_it(void)
{
    int64_t part = fastmm_counter_group_take(&exact.group, 1);
    if (part < 0 || __atomic_add_fetch(&taken, part, __ATOMIC_RELAXED) > given)
        abort();
}

static void add_and_take(void)
{
    for (int k = 0; k < ROUNDS; k++) {
        given += 3;
        fastmm_counter_group_add(&exact.group, 1, 3);
        take_it();
    }
}

/* Not at every step: a taker tries again until nobody took in between. */
static void take_sometimes(void)
{
    if (test_random(&random_state) % 16 == 0)
        take_it();
}

START_TEST(takers)
{
    begin(_i);
    fastmm_counter_group_init(&exact.group, 4);
    ck_assert_int_eq(fastmm_counter_group_percpu(&exact.group), 0);
    fastmm_counter_group_add(&exact.group, 1, 1000); /* opens the row */
    given = 1000;
    step_through(add_and_take, take_sometimes);
    ck_assert_int_eq(taken + fastmm_counter_group_sum(&exact.group, 1), given);
}
END_TEST

static struct fastmm_counter_bounded bounded;

enum { BATCH = 4, HIGHEST = 100, MOVED = 30000 };

/* The value stays; what is counted outside slots and what is published change by much. */
static void move_between_words(void)
{
    fastmm_counter_bounded_sub(&bounded, MOVED);
    for (int k = 0; k < MOVED / (BATCH - 1); k++)
        fastmm_counter_bounded_add(&bounded, BATCH - 1);
}

/* Not at every step: sums and publishing try again until nobody published in between. */
static void move_sometimes(void)
{
    if (test_random(&random_state) % 8 == 0)
        move_between_words();
}

static int64_t bound(void)
{
    return (BATCH - 1) * (int64_t)fastmm_counter_cpus();
}

static void read_and_compare(void)
{
    for (int k = 0; k < ROUNDS; k++) {
        int64_t read = fastmm_counter_bounded_read(&bounded);
        if (read > bound() || read < -bound() ||
            fastmm_counter_bounded_compare(&bounded, bound() + 1) >= 0 ||
            fastmm_counter_bounded_compare(&bounded, -bound() - 1) <= 0)
            abort();
    }
}

START_TEST(bounded_reads)
{
    begin(_i);
    fastmm_counter_bounded_init(&bounded, BATCH);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&bounded), 0);
    step_through(read_and_compare, move_sometimes);
    ck_assert_int_eq(fastmm_counter_bounded_sum(&bounded), 0);
}
END_TEST

static void rise_and_fall(void)
{
    for (int k = 0; k < ROUNDS / 8; k++) {
        fastmm_counter_bounded_add(&bounded, HIGHEST);
        fastmm_counter_bounded_sub(&bounded, HIGHEST);
        for (int v = 0; v < BATCH; v++)
            fastmm_counter_bounded_inc(&bounded);
        fastmm_counter_bounded_sub(&bounded, BATCH);
    }
}

START_TEST(bounded_adds)
{
    int64_t peak;
    begin(_i);
    fastmm_counter_bounded_init_peak(&bounded, BATCH);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&bounded), 0);
    step_through(rise_and_fall, move_sometimes);
    ck_assert_int_eq(fastmm_counter_bounded_sum(&bounded), 0);
    ck_assert_int_le(fastmm_counter_bounded_error(&bounded), bound());
    ck_assert_int_eq(fastmm_counter_bounded_peak(&bounded, &peak), 0);
    ck_assert_int_ge(peak, HIGHEST - bound());
    ck_assert_int_le(peak, HIGHEST + bound());
}
END_TEST

static int64_t sums_begun, sums_ended; /* adds of 1 */

static void add_one(void)
{
    __atomic_add_fetch(&sums_begun, 1, __ATOMIC_RELAXED);
    fastmm_counter_bounded_inc(&bounded);
    __atomic_add_fetch(&sums_ended, 1, __ATOMIC_RELAXED);
}

static void check_sum(void)
{
    int64_t before = sums_ended, sum = fastmm_counter_bounded_sum(&bounded);
    if (sum < before || sum > sums_begun)
        abort();
}

static void add_and_check(void)
{
    for (int k = 0; k < ROUNDS; k++) {
        add_one();
        check_sum();
    }
}

/* The handler ends before who is interrupted goes on, so its adds are whole. */
static void check_and_add(void)
{
    check_sum();
    if (test_random(&random_state) % 16)
        return;
    for (int k = 0; k < 100; k++)
        add_one();
}

START_TEST(bounded_sums)
{
    begin(_i);
    fastmm_counter_bounded_init(&bounded, 64);
    ck_assert_int_eq(fastmm_counter_bounded_percpu(&bounded), 0);
    step_through(add_and_check, check_and_add);
    ck_assert_int_eq(sums_begun, sums_ended);
    ck_assert_int_eq(fastmm_counter_bounded_sum(&bounded), sums_ended);
}
END_TEST

static struct fastmm_quota quota = FASTMM_QUOTA_INIT(1000, 8);

static void fill_and_empty(void)
{
    int64_t used = 0;
    for (int v = 1; fastmm_quota_add(&quota, v); v++)
        used += v;
    while (fastmm_quota_add(&quota, 1))
        used++;
    if (used != 1000)
        abort();
    for (; used >= 40; used -= 40)
        fastmm_quota_return(&quota, 40);
    fastmm_quota_return(&quota, used);
}

static void nothing(void)
{
}

/* Nobody may use a quota from a signal handler; stepping alone aborts each of its sequences. */
START_TEST(quotas)
{
    begin(_i);
    int error = fastmm_quota_percpu(&quota);
    if (error == -ENOTSUP)
        test_skip("no rseq or no membarrier for it here");
    step_through(fill_and_empty, nothing);
    ck_assert_int_eq(fastmm_quota_used(&quota), 0);
}
END_TEST

#else

START_TEST(exact_adds)
{
    test_skip("TSan is stepped through too, or this architecture has no trap flag");
}
END_TEST

#endif

int main(void)
{
    Suite *suite = suite_create("counter.steps");
    TCase *tc = tcase_create("steps");
    tcase_set_timeout(tc, 0);
    const int first = FASTMM_COUNTER_RSEQ_MM_CID, end = FASTMM_COUNTER_THREAD_SHARDS + 1;
    tcase_add_loop_test(tc, exact_adds, first, end);
#ifdef CAN_STEP
    tcase_add_loop_test(tc, switches, first, end);
    tcase_add_loop_test(tc, switches_that_meet, first, end);
    tcase_add_loop_test(tc, takers, first, end);
    tcase_add_loop_test(tc, bounded_reads, first, end);
    tcase_add_loop_test(tc, bounded_adds, first, end);
    tcase_add_loop_test(tc, bounded_sums, first, end);
    tcase_add_loop_test(tc, quotas, first, end);
#endif
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
