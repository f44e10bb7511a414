/* SPDX-License-Identifier: MIT */
/*
 * The exact counter under everything at once: threads that are moved between CPUs, interrupted by
 * signals whose handler adds as well, switched under, forked and summed, in a seeded order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { THREADS = 5, GROUP = 4 };

static struct fastmm_counter_group4 group;
static int64_t by_handler, by_workers;
static _Thread_local uint64_t random_state;
static uint64_t seeds;
static int stop;

static void add_from_handler(int signal)
{
    (void)signal;
    fastmm_counter_group_add(&group.group, 3, 1);
    fastmm_counter_group_add(&group.group, 0, 1); /* perhaps in the middle of just that */
    __atomic_fetch_add(&by_handler, 1, __ATOMIC_RELAXED);
}

static void move_to_a_random_cpu(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(test_random(&random_state) % (uint64_t)sysconf(_SC_NPROCESSORS_CONF), &set);
    sched_setaffinity(0, sizeof(set), &set); /* one we may not use: stays where it is */
}

/* A signal for the process goes to any thread that doesn't block it. */
static void interrupt_somebody(void)
{
    kill(getpid(), SIGUSR1);
}

static void *worker(void *argument)
{
    int64_t added = 0;
    random_state = __atomic_fetch_add(&seeds, 0x1234567, __ATOMIC_RELAXED);
    for (int k = 0; k < 3000 * (int)scaled(10); k++) {
        for (int n = (int)(test_random(&random_state) % (uint64_t)(200 * scaled(200))); n >= 0;
             n--) {
            fastmm_counter_group_add(&group.group, 0, 1);
            fastmm_counter_group_sub(&group.group, 1, 3);
            fastmm_counter_group_inc(&group.group, 2);
            fastmm_counter_group_dec(&group.group, 2);
            added++;
        }
        uint64_t dice = test_random(&random_state) % 64;
        if (dice < 8)
            move_to_a_random_cpu();
        else if (dice < 24)
            interrupt_somebody();
        else if (dice < 26)
            ck_assert_int_eq(fastmm_counter_group_percpu(&group.group), 0);
        else if (dice < 32)
            sched_yield();
    }
    __atomic_fetch_add(&by_workers, added, __ATOMIC_RELAXED);
    return argument;
}

/* Counter 0 only grows and counter 1 only falls. */
static void *reader(void *argument)
{
    int64_t rising = 0, falling = 0;
    long sums = 0;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        int64_t now[GROUP];
        fastmm_counter_group_sums(&group.group, now);
        ck_assert_int_ge(now[0], rising);
        ck_assert_int_le(now[1], falling);
        rising = now[0];
        falling = now[1];
        sums++;
    }
    *(long *)argument = sums;
    return NULL;
}

static void check_in_a_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, SIG_IGN); /* the process signals itself only */
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        int64_t before = fastmm_counter_group_sum(&group.group, 2);
        fastmm_counter_group_add(&group.group, 2, 5);
        int ok = fastmm_counter_group_sum(&group.group, 2) == before + 5;
        ok = ok && fastmm_counter_group_atomic(&group.group) == 0;
        ok = ok && fastmm_counter_group_sum(&group.group, 2) == before + 5;
        ok = ok && fastmm_counter_group_percpu(&group.group) == 0;
        fastmm_counter_group_add(&group.group, 2, 5);
        ok = ok && fastmm_counter_group_sum(&group.group, 2) == before + 10;
        _exit(ok ? 0 : 1);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    ck_assert_int_eq(status, 0);
}

START_TEST(everything_at_once)
{
    int error = fastmm_counter_use_mechanism((enum fastmm_counter_mechanism_kind)_i);
    if (error == -ENOTSUP)
        test_skip("mechanism %d is not to be had here", _i);
    seeds = test_seed();
    random_state = seeds;
    struct sigaction action = {.sa_handler = add_from_handler, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    /* Signals that a thread sends itself come between adds; these come in the middle of them. */
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    fastmm_counter_group_init(&group.group, GROUP);

    pthread_t threads[THREADS], summer;
    long sums = 0;
    pthread_create(&summer, NULL, reader, &sums);
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, worker, NULL);
    for (int k = 0; k < 10; k++)
        check_in_a_child();
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(summer, NULL);
    setitimer(ITIMER_REAL, &never, NULL);

    int64_t end[GROUP];
    fastmm_counter_group_sums(&group.group, end);
    ck_assert_int_eq(end[0], by_workers + by_handler);
    ck_assert_int_eq(end[1], -3 * by_workers);
    ck_assert_int_eq(end[2], 0);
    ck_assert_int_eq(end[3], by_handler);
    int64_t adds = 4 * by_workers + 2 * by_handler;
    ck_assert_int_ge(adds, 1000000 * scaled(10000));
    ck_assert_int_ge(sums, scaled(1000000));
    printf("%lld adds of each kind, %lld from handlers, %ld concurrent sums\n", (long long)end[0],
           (long long)end[3], sums);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter.storm");
    TCase *tc = tcase_create("storm");
    tcase_set_timeout(tc, 0);
    tcase_add_loop_test(tc, everything_at_once, FASTMM_COUNTER_RSEQ_MM_CID,
                        FASTMM_COUNTER_THREAD_SHARDS + 1);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
