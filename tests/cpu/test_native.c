/* SPDX-License-Identifier: MIT */
/* The record of this CPU: first use from any context, from many threads at once, and its truth. */
#include "test_main.h"

#include <errno.h>
#include <fastmm/cpu.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8

/* Offsets are the ABI. */
_Static_assert(offsetof(struct fastmm_cpu, usable) == 8, "ABI");
_Static_assert(offsetof(struct fastmm_cpu, vendor) == 24, "ABI");
_Static_assert(offsetof(struct fastmm_cpu, cache) == 48, "ABI");
_Static_assert(offsetof(struct fastmm_cpu, vendor_id) == 192, "ABI");
_Static_assert(sizeof(struct fastmm_cpu_cache) == 48, "ABI");
_Static_assert(sizeof(struct fastmm_cpu) == 280, "ABI");

static struct fastmm_cpu before_main;

__attribute__((constructor(101))) static void first_use(void)
{
    pid_t child = fork();
    if (child == 0) { /* leaves this process without a record, for the tests below */
        memcpy(&before_main, fastmm_cpu_native(), sizeof(before_main));
        _exit(fastmm_cpu_native()->name[0] || fastmm_cpu_native()->advertised ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    before_main.family = (uint32_t)status;
}

START_TEST(works_before_main)
{
    ck_assert_uint_eq(before_main.family, 0);
}
END_TEST

static void expect_native(const struct fastmm_cpu *seen)
{
    struct fastmm_cpuid_source source;
    struct fastmm_cpu cpu;
    if (fastmm_cpuid_native(&source) == 0) {
        fastmm_cpu_decode(&source, &cpu);
        ck_assert_mem_eq(seen, &cpu, sizeof(cpu));
    } else {
        ck_assert_uint_eq(seen->advertised, 0);
        ck_assert_uint_eq(seen->cache[FASTMM_CPU_L3].size, 0);
        ck_assert_uint_gt(strlen(seen->name), 0);
    }
}

static pthread_barrier_t start;

static void *racer(void *copy)
{
    pthread_barrier_wait(&start);
    memcpy(copy, fastmm_cpu_native(), sizeof(struct fastmm_cpu));
    return NULL;
}

/* Each Check test runs in a fork of a process that never called fastmm_cpu_native(): a first use.
 */
START_TEST(racing_first_users_see_one_record)
{
    pthread_t threads[THREADS];
    static struct fastmm_cpu seen[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, racer, &seen[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    for (unsigned i = 0; i < THREADS; i++)
        expect_native(&seen[i]);
}
END_TEST

static struct fastmm_cpu from_handler;

/* qemu-user 7.2 enters handlers with a misaligned stack. */
#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))
#endif
static void
on_signal(int signal)
{
    (void)signal;
    memcpy(&from_handler, fastmm_cpu_native(), sizeof(from_handler));
}

START_TEST(first_use_in_a_signal_handler)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    expect_native(&from_handler);
    ck_assert_mem_eq(&from_handler, fastmm_cpu_native(), sizeof(from_handler));
}
END_TEST

START_TEST(the_record_stays)
{
    const struct fastmm_cpu *cpu = fastmm_cpu_native();
    ck_assert_ptr_eq(cpu, fastmm_cpu_native());
    expect_native(cpu);
}
END_TEST

#if defined(__x86_64__)
START_TEST(agrees_with_the_compilers_own_test)
{
    const struct fastmm_cpu *cpu = fastmm_cpu_native();
    ck_assert_int_eq(fastmm_cpu_has(cpu, FASTMM_CPU_SSE2), !!__builtin_cpu_supports("sse2"));
    ck_assert_int_eq(fastmm_cpu_has(cpu, FASTMM_CPU_AVX), !!__builtin_cpu_supports("avx"));
    ck_assert_int_eq(fastmm_cpu_has(cpu, FASTMM_CPU_AVX2), !!__builtin_cpu_supports("avx2"));
    ck_assert_int_eq(fastmm_cpu_has(cpu, FASTMM_CPU_AVX512F), !!__builtin_cpu_supports("avx512f"));
    ck_assert_int_eq(fastmm_cpu_has(cpu, FASTMM_CPU_AVX512BW),
                     !!__builtin_cpu_supports("avx512bw"));
    ck_assert_int_eq(fastmm_cpu_has(cpu, FASTMM_CPU_AVX512VL),
                     !!__builtin_cpu_supports("avx512vl"));
}
END_TEST

static int flags_have(const char *flags, const char *name)
{
    char word[32];
    snprintf(word, sizeof(word), " %s ", name);
    return strstr(flags, word) != NULL;
}

/* The value of the first line of /proc/cpuinfo with that key, with a blank on both sides. */
static const char *cpuinfo(const char *key)
{
    static char line[16384], value[16384];
    FILE *f = fopen("/proc/cpuinfo", "r");
    value[0] = '\0';
    while (f && !value[0] && fgets(line, sizeof(line), f)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, key, strlen(key)) == 0)
            snprintf(value, sizeof(value), "%.*s ", (int)strcspn(colon + 1, "\n"), colon + 1);
    }
    if (f)
        fclose(f);
    return value;
}

/* The kernel may hide a flag that CPUID shows, never the other way round. */
START_TEST(agrees_with_the_kernel)
{
    const struct fastmm_cpu *cpu = fastmm_cpu_native();
    if (!cpu->name[0] || !strstr(cpuinfo("model name"), cpu->name))
        test_skip("/proc/cpuinfo is of another CPU: %s", cpuinfo("model name"));
    const char *flags = cpuinfo("flags");
    ck_assert_int_eq(flags_have(flags, "hypervisor"), (int)cpu->hypervisor);
    for (int i = 0; i < FASTMM_CPU_FEATURE_COUNT; i++) {
        enum fastmm_cpu_feature feature = (enum fastmm_cpu_feature)i;
        const char *name = fastmm_cpu_describe(feature)->name;
        if (flags_have(flags, name))
            ck_assert_msg(fastmm_cpu_has(cpu, feature), "the kernel has %s", name);
    }
}
END_TEST
#else
START_TEST(there_is_no_cpuid)
{
    struct fastmm_cpuid_source source;
    ck_assert_int_eq(fastmm_cpuid_native(&source), -ENOTSUP);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("cpu.native");
    TCase *tc = tcase_create("native");
    tcase_add_test(tc, works_before_main);
    tcase_add_loop_test(tc, racing_first_users_see_one_record, 0, 50);
    tcase_add_test(tc, first_use_in_a_signal_handler);
    tcase_add_test(tc, the_record_stays);
#if defined(__x86_64__)
    tcase_add_test(tc, agrees_with_the_compilers_own_test);
    tcase_add_test(tc, agrees_with_the_kernel);
#else
    tcase_add_test(tc, there_is_no_cpuid);
#endif
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
