/* SPDX-License-Identifier: MIT */
/*
 * The first call of a process: it looks at the CPU by itself, whichever call it is, and however
 * many threads and signal handlers make it at once. Each test runs in a process that has called
 * nothing.
 */
#include "arena.h"
#include "test_main.h"
#include "ways.h"

#include <fastmm/copy.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t sizes[] = {1, 40, 64, 65, 128, 129, 600, 5000, 100000, 2000000};

#define SIZES   ((int)(sizeof(sizes) / sizeof(sizes[0])))
#define LARGEST 2000000

#define OVERLAP 17 /* how far a block is moved */

static unsigned char from[LARGEST], to[LARGEST + OVERLAP];

static void copy_first(const struct way *way, size_t n)
{
    way->copy(to, from, n);
    ck_assert_mem_eq(to, from, n);
}

static void move_first(const struct way *way, size_t n)
{
    arena_pattern(to, n, 7);
    way->move(to + OVERLAP, to, n);
    ck_assert_mem_eq(to + OVERLAP, from, n);
}

static void fill_first(const struct way *way, size_t n)
{
    unsigned char value = way->only_zero ? 0 : 0x5a;
    to[0] = to[n - 1] = 1;
    way->fill(to, value, n);
    ck_assert(to[0] == value && memcmp(to, to + 1, n - 1) == 0);
}

static void (*const firsts[])(const struct way *way, size_t n) = {copy_first, move_first,
                                                                  fill_first};

#define FIRSTS 3

START_TEST(any_call_may_be_the_first)
{
    const struct way *way = way_or_skip(_i / SIZES / FIRSTS);
    size_t n = sizes[_i % SIZES];
    arena_pattern(from, n, 7);
    firsts[_i / SIZES % FIRSTS](way, n);
}
END_TEST

/* All sizes for each call that each way has. */
static void add_firsts(TCase *tc)
{
    for (int i = 0; i < way_count; i++) {
        const int has[FIRSTS] = {ways[i].copy != NULL, ways[i].move != NULL, ways[i].fill != NULL};
        for (int call = 0; call < FIRSTS; call++)
            if (has[call])
                tcase_add_loop_test(tc, any_call_may_be_the_first, (i * FIRSTS + call) * SIZES,
                                    (i * FIRSTS + call + 1) * SIZES);
    }
}

static void check_choice(void)
{
    struct fastmm_copy_plan expected, plan;
    fastmm_copy_plan_get(&plan);
    ck_assert_int_eq(fastmm_copy_plan_for(fastmm_cpu_native(), NULL, &expected, NULL), 0);
    ck_assert_mem_eq(&plan, &expected, sizeof(plan));
    ck_assert_uint_eq(fastmm_copy_level, plan.inline_level);
}

/* Or a program of small calls alone would never get what its CPU has. */
static void copy_65(void)
{
    volatile size_t n = 65;
    fastmm_copy(to, from, n);
}

static void copy_masked_10(void)
{
    volatile size_t n = 10;
    fastmm_copy_masked(to, from, n);
}

static void clear_10(void)
{
    volatile size_t n = 10;
    fastmm_clear(to, n);
}

static void (*const asking[])(void) = {copy_65, copy_masked_10, clear_10};

START_TEST(inline_calls_look_at_the_cpu)
{
    if (!FASTMM_COPY_EVEX)
        test_skip("inline calls choose nothing here");
    ck_assert_uint_eq(fastmm_copy_level, FASTMM_COPY_LEVEL_UNKNOWN);
    asking[_i]();
    ck_assert_uint_ne(fastmm_copy_level, FASTMM_COPY_LEVEL_UNKNOWN);
    check_choice();
}
END_TEST

/* The contract is kept for callers that break the rule of the direction flag, from the start. */
START_TEST(direction_flag_is_set_at_the_first)
{
#if defined(__x86_64__) && !FASTMM_COPY_SANITIZED
    arena_pattern(from, 5000, 7);
    __asm__ volatile("std" : : : "memory", "cc");
    fastmm_copy_call(to + 100, from, 5000);
    __asm__ volatile("cld" : : : "memory", "cc");
    ck_assert_mem_eq(to + 100, from, 5000);
    ck_assert(to[99] == 0 && to[5100] == 0);
    check_choice();
#else
    test_skip("no direction flag, or the sanitizer's own code would run with it");
#endif
}
END_TEST

/* ---- At once -------------------------------------------------------------------------------- */

#define THREADS 4

/* A sanitized process takes long to fork. */
#define LESS (FASTMM_COPY_SANITIZED ? 5 : 1)

/* Runs `first` in processes of its own, which end with 0 if all went well. */
static void in_processes(int count, int (*first)(int number))
{
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            _exit(first(i));
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
}

static int copies(size_t n, unsigned char *dst)
{
    fastmm_copy_call(dst, from, n);
    int right = memcmp(dst, from, n) == 0;
    fastmm_clear_call(dst, n);
    return right && dst[0] == 0 && dst[n - 1] == 0;
}

static pthread_barrier_t barrier;

static void *copy_with_the_others(void *arg)
{
    unsigned char *dst = arg;
    pthread_barrier_wait(&barrier);
    return copies(70000, dst) ? NULL : arg;
}

static int race(int number)
{
    pthread_t threads[THREADS];
    int wrong = 0;
    (void)number;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, copy_with_the_others, to + i * 100000) != 0)
            return 2;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong |= result != NULL;
    }
    check_choice();
    return wrong;
}

START_TEST(threads_make_the_first_call_at_once)
{
    arena_pattern(from, 100000, 5);
    in_processes((test_long() ? 2000 : 50) / LESS, race);
}
END_TEST

static volatile sig_atomic_t handled, wrong_in_handler;

static void copy_in_handler(int signal)
{
    (void)signal;
    wrong_in_handler |= !copies(70000, to + 100000);
    handled = 1;
}

/* A look at the CPU takes long enough under a hypervisor for the timer to fall into it. */
static int interrupted(int number)
{
    struct itimerval soon = {{0, 0}, {0, 1 + number * 7 % 900}};
    struct sigaction action = {.sa_handler = copy_in_handler};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    int right = copies(70000, to);
    while (!handled)
        usleep(10); /* a sanitizer may keep the signal back until a call of libc */
    check_choice();
    return !right || wrong_in_handler;
}

START_TEST(handler_makes_it_on_top_of_another)
{
    if (TEST_EMULATED)
        test_skip("user-mode emulators crash by themselves on signals this close to a fork");
    arena_pattern(from, 100000, 5);
    in_processes((test_long() ? 5000 : 200) / LESS, interrupted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.first");
    TCase *tc = tcase_create("first");
    tcase_set_timeout(tc, 300);
    add_firsts(tc);
    tcase_add_loop_test(tc, inline_calls_look_at_the_cpu, 0, 3);
    tcase_add_test(tc, direction_flag_is_set_at_the_first);
    tcase_add_test(tc, threads_make_the_first_call_at_once);
    tcase_add_test(tc, handler_makes_it_on_top_of_another);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
