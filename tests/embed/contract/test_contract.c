/* SPDX-License-Identifier: MIT */
/*
 * The parts of the contract that an allocator stands on: memory of its own, signal handlers, fork
 * in the middle of anything.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fastmm/copy.h>
#include <fastmm/counter.h>
#include <fastmm/quota.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_main.h"

/* ---- Memory ---- */

/* Memory functions may count, if not with what is being switched. */
static struct fastmm_counter maps_counted = FASTMM_COUNTER_INIT;

struct pool {
    unsigned char *memory;
    size_t room, given;
    unsigned maps, unmaps;
};

static void *pool_map(size_t bytes, void *context)
{
    struct pool *pool = context;
    if (bytes > pool->room - pool->given)
        return NULL;
    void *p = pool->memory + pool->given;
    pool->given += bytes;
    pool->maps++;
    fastmm_counter_inc(&maps_counted);
    return p;
}

static void pool_unmap(void *memory, size_t bytes, void *context)
{
    struct pool *pool = context;
    ck_assert_ptr_eq(memory, pool->memory);
    ck_assert_uint_eq(bytes, pool->given);
    pool->given = 0;
    pool->unmaps++;
}

START_TEST(slots_come_from_the_embedder)
{
    struct pool pool = {.room = (size_t)64 << 20};
    pool.memory = mmap(NULL, pool.room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pool.memory, MAP_FAILED);
    struct fastmm_counter_memory functions = {pool_map, pool_unmap, &pool};
    ck_assert_int_eq(fastmm_counter_set_memory(&functions), 0);

    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    struct fastmm_counter_group8 group = FASTMM_COUNTER_GROUP_INIT(8);
    struct fastmm_quota limit = FASTMM_QUOTA_INIT(10, 1);
    fastmm_counter_add(&c, 41);
    fastmm_counter_group_inc(&group.group, 7);
    ck_assert(fastmm_quota_add(&limit, 10));
    fastmm_quota_return(&limit, 10);
    ck_assert_uint_eq(pool.maps, 0);
    ck_assert_int_eq(fastmm_counter_percpu(&c), 0);
    ck_assert_uint_eq(pool.maps, 1);
    ck_assert_int_eq(fastmm_counter_sum(&maps_counted), 1);
    ck_assert_uint_eq(fastmm_counter_held(), pool.given);
    ck_assert_int_eq(fastmm_counter_set_memory(NULL), -EBUSY);
    fastmm_counter_inc(&c);
    ck_assert_int_eq(fastmm_counter_sum(&c), 42);
    ck_assert_int_eq(fastmm_counter_destroy(&c), 0);
    ck_assert_uint_gt(fastmm_counter_trim(), 0);
    ck_assert_uint_eq(pool.unmaps, 1);
    ck_assert_uint_eq(fastmm_counter_held(), 0);
}
END_TEST

START_TEST(without_memory_a_counter_stays_atomic)
{
    struct pool none = {.room = 0};
    struct fastmm_counter_memory functions = {pool_map, pool_unmap, &none};
    ck_assert_int_eq(fastmm_counter_set_memory(&functions), 0);
    struct fastmm_counter c = FASTMM_COUNTER_INIT;
    fastmm_counter_add(&c, 41);
    ck_assert_int_eq(fastmm_counter_percpu(&c), -ENOMEM);
    fastmm_counter_inc(&c);
    ck_assert_int_eq(fastmm_counter_sum(&c), 42);
    ck_assert_uint_eq(fastmm_counter_held(), 0);
}
END_TEST

/* ---- Signal handlers ---- */

static struct fastmm_counter shared = FASTMM_COUNTER_INIT;
static struct fastmm_quota charged = FASTMM_QUOTA_INIT(1000, 10);
static volatile sig_atomic_t handled;
static int broken;

static void use_in_handler(int signal)
{
    static unsigned char from[3000], to[3000];
    (void)signal;
    int before = errno;
    errno = 4711;
    fastmm_counter_inc(&shared);
    fastmm_fill(from, handled & 255, sizeof(from));
    fastmm_copy(to, from, sizeof(to));
    if (to[0] != (handled & 255) || memcmp(to, from, sizeof(to)) != 0)
        broken = 1;
    fastmm_clear(to, sizeof(to));
    int64_t used = fastmm_quota_used(&charged);
    if (to[0] || to[2999] || fastmm_counter_sum(&shared) <= handled || used < 0 || used > 1000)
        broken = 1;
    if (errno != 4711)
        broken = 1;
    handled++;
    errno = before;
}

static void add_and_copy(int times)
{
    static unsigned char from[5000], to[5000];
    for (int i = 0; i < times; i++) {
        fastmm_counter_inc(&shared);
        int got = fastmm_quota_add(&charged, 1 + i % 1000);
        fastmm_fill(from, i & 255, 100 + (size_t)i % 4900);
        fastmm_copy(to, from, 100 + (size_t)i % 4900);
        if (!got || to[99] != (i & 255) || to[99 + i % 4900] != (i & 255))
            broken = 1;
        fastmm_quota_return(&charged, 1 + i % 1000);
    }
}

static void *nothing(void *unused)
{
    return unused;
}

static void interrupt_often(int percpu)
{
    enum { TIMES = 400000 };
    pthread_t other; /* adds are then not the plain ones of a single thread */
    pthread_create(&other, NULL, nothing, NULL);
    pthread_join(other, NULL);
    if (percpu) {
        ck_assert_int_eq(fastmm_counter_percpu(&shared), 0);
        int error = fastmm_quota_percpu(&charged);
        ck_assert(error == 0 || error == -ENOTSUP);
    }
    struct sigaction action = {.sa_handler = use_in_handler};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    add_and_copy(TIMES);
    setitimer(ITIMER_REAL, &never, NULL);
    ck_assert_int_eq(broken, 0);
    ck_assert_int_gt(handled, 0);
    ck_assert_int_eq(fastmm_counter_sum(&shared), TIMES + handled);
}

START_TEST(handlers_count_and_copy)
{
    interrupt_often(0);
}
END_TEST

START_TEST(handlers_count_and_copy_per_cpu)
{
    interrupt_often(1);
}
END_TEST

/* ---- Threads that libc does not know of ---- */

#ifdef __SANITIZE_THREAD__
enum { TSAN = 1 };
#else
enum { TSAN = 0 };
#endif

enum { FOREIGN = 2, FOREIGN_ADDS = 2000000 };

static struct fastmm_counter foreign = FASTMM_COUNTER_INIT;
static unsigned begun;

/* All add at the same time: with one CPU they are preempted between any two instructions. */
static int add_as_foreign(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < FOREIGN_ADDS; i++)
        fastmm_counter_add_foreign(&foreign, 1);
    return 0;
}

START_TEST(threads_behind_libc_count)
{
    static unsigned char stacks[FOREIGN][65536] __attribute__((aligned(64)));
    pid_t pids[FOREIGN];
    if (TSAN)
        test_skip("a sanitizer knows no threads but libc's");
    for (int i = 0; i < FOREIGN; i++) {
        pids[i] = clone(add_as_foreign, stacks[i] + sizeof(stacks[i]),
                        CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
        if (pids[i] < 0 && i == 0 && errno == EINVAL)
            test_skip("no threads but libc's are to be had here (an emulator)");
        ck_assert_int_gt(pids[i], 0);
    }
    while (__atomic_load_n(&begun, __ATOMIC_RELAXED) == 0)
        sched_yield();
    add_as_foreign(NULL);
    for (int i = 0; i < FOREIGN; i++) {
        int status = -1;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(fastmm_counter_sum(&foreign), (FOREIGN + 1) * (int64_t)FOREIGN_ADDS);
}
END_TEST

/* ---- Fork ---- */

enum { HAMMERS = 3, LIMIT = 3000, FORKS = 150 };

static struct fastmm_quota quota = FASTMM_QUOTA_INIT(LIMIT, 16);
static struct fastmm_counter in_use = FASTMM_COUNTER_INIT;
static int stop;

static void *hammer(void *unused)
{
    unsigned char from[9000], to[9000];
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        if (fastmm_quota_add(&quota, 900))
            fastmm_quota_return(&quota, 900);
        if (fastmm_quota_add(&quota, 1))
            fastmm_quota_return(&quota, 1);
        fastmm_counter_inc(&in_use);
        fastmm_fill(from, 1, sizeof(from));
        fastmm_copy(to, from, sizeof(to));
    }
    return unused;
}

/* What other threads of the parent had in hand stays charged; the rest can be had. */
static void child(void)
{
    alarm(20);
    int got = 0;
    for (int i = 0; i < LIMIT + 1; i++)
        got += fastmm_quota_add(&quota, 1);
    int64_t used = fastmm_quota_used(&quota);
    if (used != LIMIT || got < LIMIT - HAMMERS * 900 || got > LIMIT)
        _exit(1);
    fastmm_quota_return(&quota, got);
    if (!fastmm_quota_add(&quota, got))
        _exit(2);
    int64_t before = fastmm_counter_sum(&in_use);
    fastmm_counter_inc(&in_use);
    if (fastmm_counter_sum(&in_use) != before + 1)
        _exit(3);
    static unsigned char from[70000], to[70000];
    fastmm_fill(from, 7, sizeof(from));
    fastmm_copy(to, from, sizeof(to));
    if (memcmp(to, from, sizeof(to)) != 0 || *(unsigned char *)fastmm_clear(to, sizeof(to)) != 0)
        _exit(4);
    _exit(0);
}

START_TEST(children_use_quotas_when_the_hooks_ran)
{
    pthread_t threads[HAMMERS];
    int percpu = fastmm_quota_percpu(&quota);
    ck_assert(percpu == 0 || percpu == -ENOTSUP);
    fastmm_counter_percpu(&in_use);
    ck_assert_int_eq(pthread_atfork(fastmm_quota_fork_prepare, fastmm_quota_fork_parent,
                                    fastmm_quota_fork_child),
                     0);
    for (int i = 0; i < HAMMERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        if (pid == 0)
            child();
        int status = -1;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(status == 0, "child %d ended with status %#x", i, (unsigned)status);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < HAMMERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(fastmm_quota_used(&quota), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contract");
    TCase *tc = tcase_create("contract");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, slots_come_from_the_embedder);
    tcase_add_test(tc, without_memory_a_counter_stays_atomic);
    tcase_add_test(tc, handlers_count_and_copy);
    tcase_add_test(tc, handlers_count_and_copy_per_cpu);
    tcase_add_test(tc, threads_behind_libc_count);
    tcase_add_test(tc, children_use_quotas_when_the_hooks_ran);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
