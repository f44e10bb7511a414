/* SPDX-License-Identifier: MIT */
/*
 * What surrounds a counter: sandboxes without rseq, code that is unloaded, constructors that run
 * before everything, and the memory that the kernel and libc share with it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fastmm/quota.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter/slots.h"
#include "support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#else
#    define SANITIZED 0
#endif

static struct fastmm_counter early = FASTMM_COUNTER_INIT;
static struct fastmm_counter counter = FASTMM_COUNTER_INIT;

__attribute__((constructor(101))) static void count_early(void)
{
    fastmm_counter_add(&early, 40);
    fastmm_counter_percpu(&early);
    fastmm_counter_add(&early, 2);
}

/* From here on nothing is decided, as at the start of a process. */
static void forget_mechanism(struct fastmm_counter_seam seam)
{
    become_threaded();
    ck_assert_int_eq(fastmm_counter_destroy(&early), 0);
    fastmm_counter_trim();
    ck_assert_int_eq(fastmm_counter_seam_set(&seam), 0);
}

/* The file `name` beside this program. */
static const char *beside(const char *name)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 100);
    ck_assert_int_gt(length, 0);
    path[length] = 0;
    strcpy(strrchr(path, '/') + 1, name);
    return path;
}

static int filtered(const struct sock_filter *filter, size_t count)
{
    struct sock_fprog program = {(unsigned short)count, (struct sock_filter *)(uintptr_t)filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

/* That system call does what `action` says, all others work. */
static int filter_call(uint32_t number, uint32_t action)
{
    const struct sock_filter filter[] = {
        LOAD_NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return filtered(filter, sizeof(filter) / sizeof(filter[0]));
}

enum { CANNOT_FILTER = 99 };

/* How a child ended, unless filters are not to be had. */
static int status_of(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_FILTER)
        test_skip("seccomp filters are not allowed here");
    return status;
}

/* The exit status of a test program that runs where rseq can't be had. */
static int run_without_rseq(const char *program, const char *tunables, uint32_t action)
{
    const char *path = beside(program);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        unsetenv("CK_RUN_CASE");
        if (tunables)
            setenv("GLIBC_TUNABLES", tunables, 1);
        if (action && !filter_call(SYS_rseq, action))
            _exit(CANNOT_FILTER);
        execl(path, path, (char *)NULL);
        _exit(98);
    }
    int status = status_of(child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

enum { PROGRAMS = 5, SANDBOXES = 4 };

/* C13: everything passes without rseq, and says so. */
START_TEST(all_passes_without_rseq)
{
    static const char *const programs[PROGRAMS] = {"test_counter_counter", "test_counter_mechanism",
                                                   "test_counter_bounded", "test_counter_quota",
                                                   "test_counter_slab"};
    static const struct {
        const char *tunables;
        uint32_t action;
    } sandboxes[] = {
        {"glibc.pthread.rseq=0", 0},
        {NULL, SECCOMP_RET_ERRNO | ENOSYS},
        {NULL, SECCOMP_RET_ERRNO | EPERM},
        /* libc must not call it either here; that this library does not is the point. */
        {"glibc.pthread.rseq=0", SECCOMP_RET_KILL_PROCESS},
    };
    if (TEST_EMULATED)
        test_skip("an emulator does not start other programs of its kind");
    int program = _i % PROGRAMS, sandbox = _i / PROGRAMS;
    if (SANITIZED && sandbox > 0)
        test_skip("a sanitizer sees the same in every sandbox, and takes minutes for all");
    int status =
        run_without_rseq(programs[program], sandboxes[sandbox].tunables, sandboxes[sandbox].action);
    ck_assert(status == 0 || status == TEST_EXIT_SKIPPED);
}
END_TEST

START_TEST(the_fallback_is_told)
{
    struct fastmm_counter_mechanism m;
    forget_mechanism((struct fastmm_counter_seam){.no_rseq = 1});
    fastmm_counter_decide();
    fastmm_counter_get_mechanism(&m);
    ck_assert_int_eq(m.kind, FASTMM_COUNTER_THREAD_SHARDS);
#ifdef FASTMM_COUNTER_RSEQ
    ck_assert_ptr_nonnull(strstr(m.reason, "not registered"));
#endif
}
END_TEST

static void *count_a_thousand(void *argument)
{
    for (int k = 0; k < 1000; k++)
        fastmm_counter_inc(&counter);
    return argument;
}

/* 0: such a thread counted outside the slots, or there is none. */
static int count_in_an_unregistered_thread(void)
{
    pthread_t thread;
    int64_t base = counter.base[0];
    if (!freopen("/dev/null", "w", stderr) || !filter_call(SYS_rseq, SECCOMP_RET_ERRNO | EPERM))
        return CANNOT_FILTER;
    if (pthread_create(&thread, NULL, count_a_thousand, NULL) != 0)
        return 0;
    pthread_join(thread, NULL);
    return counter.base[0] == base + 1000 ? 0 : 1;
}

/*
 * A thread whose registration failed has a negative cpu_id, which is no row, but its concurrency
 * id reads 0, which is one. The add looks at the one id alone because glibc ends the process before
 * such a thread runs. A libc that lets it run fails here.
 */
START_TEST(no_unregistered_thread_reaches_a_slot)
{
    forget_mechanism((struct fastmm_counter_seam){0});
    int error = fastmm_counter_use_mechanism((enum fastmm_counter_mechanism_kind)_i);
    if (error == -ENOTSUP)
        test_skip("mechanism %d is not to be had here", _i);
    ck_assert_int_eq(fastmm_counter_percpu(&counter), 0);
    fastmm_counter_inc(&counter); /* opens the row */
    pid_t child = fork();
    if (child == 0)
        _exit(count_in_an_unregistered_thread());
    int status = status_of(child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        ck_assert_int_eq(status, 0);
}
END_TEST

static void add_from_handler(int signal)
{
    (void)signal;
    fastmm_counter_inc(&counter);
}

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

/* C15: bytes that only we could have changed. */
START_TEST(only_the_pointer_is_written)
{
    if (!&__rseq_size || __rseq_size == 0)
        test_skip("libc has not registered rseq");
    become_threaded();
    const char *area = (const char *)__builtin_thread_pointer() + __rseq_offset;
    unsigned char before[32], after[32];
    signal(SIGUSR1, add_from_handler);
    ck_assert_int_eq(fastmm_counter_percpu(&counter), 0);
    memcpy(before, area, 32);
    for (int k = 0; k < 1000000; k++) {
        fastmm_counter_inc(&counter);
        if (k % 10000 == 0)
            raise(SIGUSR1);
    }
    memcpy(after, area, 32);
    /* The kernel's: cpu_id_start and cpu_id (0-7), node_id and mm_cid (20-27). */
    ck_assert_mem_eq(before + 16, after + 16, 4);
    ck_assert_mem_eq(before + 28, after + 28, 4);
    /* The pointer is taken back behind every add. */
    ck_assert_mem_eq(after + 8, (const char[8]){0}, 8);
    ck_assert_int_eq(fastmm_counter_sum(&counter), 1000100);
}
END_TEST

/* C21 */
START_TEST(counted_before_constructors)
{
    fastmm_counter_add(&early, 100);
    ck_assert_int_eq(fastmm_counter_sum(&early), 142);
}
END_TEST

START_TEST(counted_in_a_preloaded_object)
{
    char command[8192], line[64] = "";
    if (SANITIZED)
        test_skip("a sanitizer's runtime must be loaded first");
    if (TEST_EMULATED)
        test_skip("an emulator does not start other programs of its kind");
    snprintf(command, sizeof(command), "LD_PRELOAD=%s /bin/true", beside("preloaded.so"));
    FILE *output = popen(command, "r");
    ck_assert_ptr_nonnull(output);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), output));
    ck_assert_int_eq(pclose(output), 0);
    ck_assert_str_eq(line, "counted\n");
}
END_TEST

/* C23: a thread that may make no system call but its exit adds a million times. */
START_TEST(no_system_call_per_add)
{
    if (SANITIZED)
        test_skip("sanitizers make system calls of their own");
    forget_mechanism((struct fastmm_counter_seam){.no_rseq = _i});
    ck_assert_int_eq(fastmm_counter_percpu(&counter), 0);
    pid_t child = fork();
    if (child == 0) {
        const struct sock_filter filter[] = {
            LOAD_NUMBER,
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        if (!filtered(filter, 4))
            _exit(CANNOT_FILTER);
        for (int k = 0; k < 1000000; k++)
            fastmm_counter_inc(&counter);
        _exit(fastmm_counter_sum(&counter) == 1000000 ? 0 : 1);
    }
    ck_assert_int_eq(status_of(child), 0);
}
END_TEST

static uint32_t shards_seen[64];

static void *note_shard(void *argument)
{
    static unsigned next;
    unsigned k = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
    shards_seen[k] = fastmm_counter_shard();
    usleep(100000); /* so that all live at the same time */
    return argument;
}

START_TEST(threads_are_spread_over_shards)
{
    forget_mechanism((struct fastmm_counter_seam){.no_rseq = 1, .rows = 4});
    fastmm_counter_decide();
    run_threads(8, note_shard, NULL);
    unsigned distinct = 0;
    for (unsigned k = 0; k < 8; k++) {
        unsigned earlier = 0;
        while (shards_seen[earlier] != shards_seen[k])
            earlier++;
        distinct += earlier == k;
    }
    ck_assert_uint_ge(distinct, 4);
}
END_TEST

static void *compete(void *argument)
{
    while (!__atomic_load_n((int *)argument, __ATOMIC_RELAXED))
        ;
    return NULL;
}

/* The thread's critical-section pointer must not name code that is gone: the kernel would kill. */
START_TEST(code_that_adds_may_be_unloaded)
{
    int done = 0;
    pthread_t rival;
    cpu_set_t one;
    sched_getaffinity(0, sizeof(one), &one);
    for (size_t cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++) {
        found += CPU_ISSET(cpu, &one) != 0;
        if (found > 1)
            CPU_CLR(cpu, &one);
    }
    sched_setaffinity(0, sizeof(one), &one);
    ck_assert_int_eq(fastmm_counter_percpu(&counter), 0);
    pthread_create(&rival, NULL, compete, &done);
    for (int k = 0; k < 20; k++) {
        void *plugin = dlopen(beside("plugin.so"), RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(plugin != NULL, "%s", dlerror());
        void (*add)(struct fastmm_counter *);
        *(void **)&add = dlsym(plugin, "plugin_add");
        for (int n = 0; n < 1000; n++)
            add(&counter);
        dlclose(plugin);
        sched_yield(); /* preempted here, outside any add */
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    pthread_join(rival, NULL);
    ck_assert_int_eq(fastmm_counter_sum(&counter), 20000);
}
END_TEST

/* The first switch looks into /sys, unless that has been done before the sandbox. */
START_TEST(no_file_is_opened_once_the_mechanism_is_fixed)
{
    forget_mechanism((struct fastmm_counter_seam){0});
    ck_assert_int_eq(fastmm_counter_use_mechanism(FASTMM_COUNTER_UNDECIDED), 0);
    pid_t child = fork();
    if (child == 0) {
        if (!filter_call(SYS_openat, SECCOMP_RET_KILL_PROCESS))
            _exit(CANNOT_FILTER);
        int error = fastmm_counter_percpu(&counter);
        fastmm_counter_inc(&counter);
        _exit(error == 0 && fastmm_counter_sum(&counter) == 1 ? 0 : 1);
    }
    ck_assert_int_eq(status_of(child), 0);
}
END_TEST

static struct fastmm_quota quota = FASTMM_QUOTA_INIT(1000, 16);

static int64_t add_until_refused(uint32_t cpu)
{
    int64_t added = 0;
    for (simulated_cpu = cpu; added < 2000 && fastmm_quota_add(&quota, 1); added++)
        ;
    return added;
}

/* The credit of CPU 0 can't be revoked, and only CPU 0 can use it. */
static int use_up_without_membarrier(void)
{
    if (!filter_call(SYS_membarrier, SECCOMP_RET_ERRNO | EPERM))
        return CANNOT_FILTER;
    int64_t credit = slots_word(quota.group.slots, 0, 0)[0];
    int64_t used = fastmm_quota_used(&quota);
    errno = 4711;
    int64_t by_others = add_until_refused(1);
    if (errno != 4711)
        return 3;
    if (fastmm_quota_set_limit(&quota, used + by_others) != -EBUSY)
        return 1;
    return credit > 0 && used + by_others + credit == 1000 && add_until_refused(0) == credit ? 0
                                                                                             : 2;
}

START_TEST(without_membarrier_a_quota_refuses_early)
{
    forget_mechanism((struct fastmm_counter_seam){0});
    simulate_cpus(2);
    int error = fastmm_quota_percpu(&quota);
    if (error == -ENOTSUP)
        test_skip("no membarrier for rseq here");
    ck_assert_int_eq(error, 0);
    while (slots_word(quota.group.slots, 0, 0)[0] == 0)
        ck_assert(fastmm_quota_add(&quota, 1));
    pid_t child = fork();
    if (child == 0)
        _exit(use_up_without_membarrier());
    ck_assert_int_eq(status_of(child), 0);
}
END_TEST

/* Each with its own counters, which never meet. */
START_TEST(two_copies_of_the_library_count_side_by_side)
{
    if (SANITIZED)
        test_skip("a sanitizer's runtime refuses objects that prefer their own names");
    void *other = dlopen(beside("preloaded.so"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ck_assert_msg(other != NULL, "%s", dlerror());
    int64_t (*add)(int64_t);
    *(void **)&add = dlsym(other, "preloaded_add");
    become_threaded();
    ck_assert_int_eq(fastmm_counter_percpu(&counter), 0);
    for (int64_t k = 1; k < 1000; k++) {
        ck_assert_int_eq(add(2), 2 * k);
        fastmm_counter_inc(&counter);
        ck_assert_int_eq(fastmm_counter_sum(&counter), k);
    }
    /* If it were one library, the other object's slots would be here too. */
    fastmm_counter_destroy(&counter);
    fastmm_counter_destroy(&early);
    fastmm_counter_trim();
    ck_assert_uint_eq(fastmm_counter_held(), 0);
    ck_assert_int_eq(add(2), 2000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter.environment");
    TCase *tc = tcase_create("environment");
    tcase_add_test(tc, code_that_adds_may_be_unloaded);
    tcase_add_test(tc, no_file_is_opened_once_the_mechanism_is_fixed);
    tcase_add_test(tc, without_membarrier_a_quota_refuses_early);
    tcase_add_test(tc, two_copies_of_the_library_count_side_by_side);
    TCase *c13 = tcase_create("C13");
    tcase_set_timeout(c13, 0);
    tcase_add_loop_test(c13, all_passes_without_rseq, 0, PROGRAMS * SANDBOXES);
    tcase_add_test(c13, the_fallback_is_told);
    tcase_add_loop_test(c13, no_unregistered_thread_reaches_a_slot, FASTMM_COUNTER_RSEQ_MM_CID,
                        FASTMM_COUNTER_RSEQ_CPU_ID + 1);
    TCase *c15 = tcase_create("C15");
    tcase_add_test(c15, only_the_pointer_is_written);
    TCase *c21 = tcase_create("C21");
    tcase_add_test(c21, counted_before_constructors);
    tcase_add_test(c21, counted_in_a_preloaded_object);
    TCase *c23 = tcase_create("C23");
    tcase_add_loop_test(c23, no_system_call_per_add, 0, 2);
    tcase_add_test(c23, threads_are_spread_over_shards);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, c13);
    suite_add_tcase(suite, c15);
    suite_add_tcase(suite, c21);
    suite_add_tcase(suite, c23);
    return test_main(suite);
}
