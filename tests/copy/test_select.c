/* SPDX-License-Identifier: MIT */
/*
 * Settings: what they change, what is refused and changes nothing, and that the first choice may
 * fall in any context, alone or against others.
 */
#include "arena.h"
#include "copy/select.h"
#include "copy/straight.h"
#include "exact.h"
#include "test_main.h"

#include <fastmm/copy.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEVER FASTMM_COPY_NEVER

/* Before main: neither stdio nor most of libc need be ready. */
static int right_before_main;
__attribute__((constructor(101))) static void copy_before_main(void)
{
    static unsigned char from[70000], to[70000];
    from[0] = 1;
    from[sizeof(from) - 1] = 2;
    fastmm_copy(to, from, sizeof(to));
    fastmm_clear(from, sizeof(from));
    right_before_main = to[0] == 1 && to[sizeof(to) - 1] == 2 && from[0] == 0;
}

START_TEST(first_call_before_main)
{
    ck_assert_int_eq(right_before_main, 1);
}
END_TEST

static struct fastmm_copy_plan plan_now(void)
{
    struct fastmm_copy_plan plan;
    memset(&plan, 0, sizeof(plan));
    fastmm_copy_plan_get(&plan);
    return plan;
}

START_TEST(default_plan_is_that_of_this_cpu)
{
    struct fastmm_copy_plan expected, plan = plan_now();
    ck_assert_int_eq(fastmm_copy_plan_for(fastmm_cpu_native(), NULL, &expected, NULL), 0);
    ck_assert_mem_eq(&plan, &expected, sizeof(plan));
    ck_assert_uint_eq(fastmm_copy_level, plan.inline_level);
}
END_TEST

START_TEST(each_implementation_can_be_forced)
{
    for (uint32_t impl = 0; impl < FASTMM_COPY_IMPL_COUNT; impl++) {
        struct fastmm_copy_settings settings = {.implementation = fastmm_copy_impl_name(impl)};
        const char *reason = NULL;
        struct fastmm_copy_plan before = plan_now();
        int error = fastmm_copy_configure(&settings, &reason);
        struct fastmm_copy_plan plan = plan_now();
        if (!fastmm_copy_impl_usable(impl, fastmm_cpu_native())) {
            ck_assert_int_eq(error, -ENOTSUP);
            ck_assert_ptr_nonnull(reason);
            ck_assert_mem_eq(&plan, &before, sizeof(plan));
            continue;
        }
        ck_assert_int_eq(error, 0);
        ck_assert_uint_eq(plan.vector, impl);
        ck_assert_uint_eq(plan.forced, 1);
        for (size_t n = 65; n < (size_t)1 << 32; n = n * 3) {
            struct fastmm_copy_route r =
                fastmm_copy_route_for(&plan, FASTMM_COPY_OP_COPY, NULL, (void *)64, n);
            ck_assert_uint_eq(r.impl, impl);
            ck_assert_uint_eq(r.why, FASTMM_COPY_WHY_FORCED);
        }
        check_every_size(2000);
    }
    ck_assert_int_eq(fastmm_copy_configure(NULL, NULL), 0);
    ck_assert_uint_eq(plan_now().forced, 0);
}
END_TEST

START_TEST(disabled_features_are_done_without)
{
    uint64_t all = ((uint64_t)1 << FASTMM_CPU_FEATURE_COUNT) - 1;
    static const struct {
        enum fastmm_cpu_feature feature;
        uint32_t at_most;
    } caps[] = {{FASTMM_CPU_AVX512F, FASTMM_COPY_AVX2},
                {FASTMM_CPU_AVX512BW, FASTMM_COPY_AVX2},
                {FASTMM_CPU_AVX, FASTMM_COPY_SSE2},
                {FASTMM_CPU_SSE2, FASTMM_COPY_SCALAR}};
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        struct fastmm_copy_settings settings = {.disable = (uint64_t)1 << caps[i].feature};
        ck_assert_int_eq(fastmm_copy_configure(&settings, NULL), 0);
        ck_assert_uint_le(plan_now().vector, caps[i].at_most);
        ck_assert_uint_eq(plan_now().inline_level, FASTMM_COPY_LEVEL_BASE);
        check_every_size(1000);
    }
    struct fastmm_copy_settings settings = {.disable = (uint64_t)1 << FASTMM_CPU_ERMS};
    ck_assert_int_eq(fastmm_copy_configure(&settings, NULL), 0);
    ck_assert_uint_eq(plan_now().copy.rep_min.bytes, NEVER);
    /* Neither are implementations that need a feature reached by a threshold. */
    settings.disable = (uint64_t)1 << FASTMM_CPU_SSE2;
    settings.copy_stream_min = FASTMM_COPY_STREAM_FLOOR;
    ck_assert_int_eq(fastmm_copy_configure(&settings, NULL), -ENOTSUP);
    settings.copy_stream_min = 0;
    ck_assert_int_eq(fastmm_copy_configure(&settings, NULL), 0);
    ck_assert_uint_eq(plan_now().copy.stream_min.bytes, NEVER);
    settings.disable = all;
    ck_assert_int_eq(fastmm_copy_configure(&settings, NULL), 0);
    ck_assert_uint_eq(plan_now().vector, FASTMM_COPY_SCALAR);
    check_every_size(1000);
}
END_TEST

/* ---- M19 ------------------------------------------------------------------------------------ */

static const struct {
    struct fastmm_copy_settings settings;
    int error;
} refused[] = {
    {{.copy_rep_min = 1}, -EINVAL},
    {{.copy_rep_min = FASTMM_COPY_REP_FLOOR - 1}, -EINVAL},
    {{.fill_rep_min = 1}, -EINVAL},
    {{.copy_stream_min = 1}, -EINVAL},
    {{.copy_stream_min = FASTMM_COPY_STREAM_FLOOR - 1}, -EINVAL},
    {{.fill_stream_min = 1}, -EINVAL},
    {{.copy_rep_min = 1 << 20, .copy_stream_min = 1 << 19}, -EINVAL},
    {{.fill_rep_min = 1 << 20, .fill_stream_min = 1 << 19}, -EINVAL},
    {{.disable = (uint64_t)1 << FASTMM_CPU_FEATURE_COUNT}, -EINVAL},
    {{.disable = UINT64_MAX}, -EINVAL},
    {{.implementation = ""}, -ENOENT},
    {{.implementation = "AVX2"}, -ENOENT},
    {{.implementation = "avx2 "}, -ENOENT},
    {{.implementation = "rep", .copy_rep_min = 1}, -EINVAL},
};
#define REFUSED ((int)(sizeof(refused) / sizeof(refused[0])))

START_TEST(senseless_settings_change_nothing)
{
    struct fastmm_copy_plan before = plan_now();
    uint32_t level = fastmm_copy_level;
    const char *reason = NULL;
    ck_assert_int_eq(fastmm_copy_configure(&refused[_i].settings, &reason), refused[_i].error);
    ck_assert_ptr_nonnull(reason);
    ck_assert_uint_gt(strlen(reason), 10);
    struct fastmm_copy_plan after = plan_now();
    ck_assert_mem_eq(&after, &before, sizeof(after));
    ck_assert_uint_eq(fastmm_copy_level, level);
    ck_assert_int_eq(fastmm_copy_configure(&refused[_i].settings, NULL), refused[_i].error);
    check_every_size(2001);
}
END_TEST

static const struct fastmm_copy_settings accepted[] = {
    {.copy_rep_min = FASTMM_COPY_REP_FLOOR},
    {.fill_rep_min = FASTMM_COPY_REP_FLOOR},
    {.copy_rep_min = NEVER, .fill_rep_min = NEVER},
    {.copy_rep_min = NEVER - 1, .fill_rep_min = NEVER - 1},
    {.copy_stream_min = FASTMM_COPY_STREAM_FLOOR, .fill_stream_min = FASTMM_COPY_STREAM_FLOOR},
    {.copy_stream_min = NEVER, .fill_stream_min = NEVER},
    {.copy_stream_min = NEVER, .copy_rep_min = NEVER, .fill_rep_min = NEVER},
    {.copy_rep_min = 4096,
     .copy_stream_min = 65536,
     .fill_rep_min = 4096,
     .fill_stream_min = 65536},
    {.copy_rep_min = 65536, .copy_stream_min = 65536},
    {.copy_rep_min = (size_t)1 << 40},
};
#define ACCEPTED ((int)(sizeof(accepted) / sizeof(accepted[0])))

static void check_in_order(const struct fastmm_copy_thresholds *t, uint64_t rep, uint64_t stream)
{
    if (rep)
        ck_assert_uint_eq(t->rep_min.bytes, rep);
    if (stream)
        ck_assert_uint_eq(t->stream_min.bytes, stream);
    ck_assert(t->rep_min.bytes == NEVER || t->rep_min.bytes <= t->rep_end.bytes);
}

static uint64_t first_threshold(const struct fastmm_copy_thresholds *t)
{
    return t->rep_min.bytes < t->stream_min.bytes ? t->rep_min.bytes : t->stream_min.bytes;
}

static int names_a_size(uint64_t copy, uint64_t fill)
{
    return (copy != 0 && copy != NEVER) || (fill != 0 && fill != NEVER);
}

START_TEST(extreme_settings_are_exact)
{
    const struct fastmm_copy_settings *s = &accepted[_i];
    const struct fastmm_cpu *cpu = fastmm_cpu_native();
    int missing = (names_a_size(s->copy_rep_min, s->fill_rep_min) &&
                   !fastmm_copy_impl_usable(FASTMM_COPY_REP, cpu)) ||
                  (names_a_size(s->copy_stream_min, s->fill_stream_min) &&
                   !fastmm_copy_impl_usable(FASTMM_COPY_STREAM, cpu));
    ck_assert_int_eq(fastmm_copy_configure(s, NULL), missing ? -ENOTSUP : 0);
    check_every_size(2001);
    if (missing)
        return;
    struct fastmm_copy_plan plan = plan_now();
    check_in_order(&plan.copy, s->copy_rep_min, s->copy_stream_min);
    check_in_order(&plan.fill, s->fill_rep_min, s->fill_stream_min);
    check_every_size(20001);
}
END_TEST

/* Calls don't ask the plan for sizes below its thresholds, and for no others. */
START_TEST(calls_follow_the_thresholds)
{
    static const uint64_t sizes[] = {0, 256, 300, 65536, 1 << 20, NEVER};
    for (int i = 0; i < 36; i++) {
        uint64_t rep = sizes[i % 6], stream = sizes[i / 6];
        struct fastmm_copy_settings settings = {.copy_rep_min = rep,
                                                .fill_rep_min = rep,
                                                .copy_stream_min = stream,
                                                .fill_stream_min = stream};
        if (fastmm_copy_configure(&settings, NULL) != 0)
            continue; /* crossed, or of something that isn't there */
        struct fastmm_copy_plan plan = plan_now();
        ck_assert_uint_eq(fastmm_copy_fast.copy_plain_end, first_threshold(&plan.copy));
        ck_assert_uint_eq(fastmm_copy_fast.fill_plain_end, first_threshold(&plan.fill));
        if (fastmm_copy_fast.copy_straight)
            ck_assert_uint_le(fastmm_copy_fast.copy_straight + FASTMM_STRAIGHT_MIN,
                              first_threshold(&plan.copy));
        if (fastmm_copy_fast.fill_straight)
            ck_assert_uint_le(fastmm_copy_fast.fill_straight + FASTMM_STRAIGHT_MIN,
                              first_threshold(&plan.fill));
    }
}
END_TEST

/* ---- Any context ---------------------------------------------------------------------------- */

/* Each in a process of its own (Check forks), which has made no choice... but for the constructor
 * above, which made the default; so these race settings against calls. */
static int stop;

static void *configure_for_ever(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        struct fastmm_copy_settings settings = {
            .implementation = i % 3 == 0 ? fastmm_copy_impl_name(i % FASTMM_COPY_IMPL_COUNT) : NULL,
            .copy_rep_min = i % 3 == 1 ? 4096 : 0,
            .copy_stream_min = i % 3 == 2 ? FASTMM_COPY_STREAM_FLOOR : 0};
        fastmm_copy_configure(&settings, NULL);
    }
    return NULL;
}

START_TEST(copies_are_right_while_settings_change)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, configure_for_ever, NULL), 0);
    for (int i = 0; i < 20; i++)
        check_every_size(700);
    struct arena from = arena_make(200000), to = arena_make(200000);
    arena_pattern(from.data, from.size, 9);
    for (int i = 0; i < 300; i++) {
        fastmm_copy(to.data, from.data, 150000 + (size_t)i);
        ck_assert_mem_eq(to.data, from.data, 150000 + (size_t)i);
        fastmm_clear(to.data, to.size);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}
END_TEST

static unsigned char signal_from[100000], signal_to[100000];
static volatile sig_atomic_t signals, wrong;

static void copy_in_handler(int number)
{
    (void)number;
    signals++;
    signal_from[99999] = (unsigned char)signals;
    fastmm_copy(signal_to, signal_from, sizeof(signal_to));
    fastmm_move(signal_to + 1, signal_to, 1000);
    if (signal_to[99999] != (unsigned char)signals)
        wrong++;
    fastmm_clear(signal_to, sizeof(signal_to));
}

START_TEST(calls_in_signal_handlers)
{
    struct sigaction action = {.sa_handler = copy_in_handler};
    struct arena from = arena_make(100000), to = arena_make(100000);
    arena_pattern(from.data, from.size, 4);
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ualarm(300, 300);
    while (signals < 100) {
        fastmm_copy(to.data, from.data, 100000);
        ck_assert_mem_eq(to.data, from.data, 100000);
        fastmm_clear(to.data, 100000);
        errno = 12345;
        fastmm_copy_configure(NULL, NULL);
        ck_assert_int_eq(errno, 12345);
    }
    ualarm(0, 0);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* ---- M23 ------------------------------------------------------------------------------------ */

/* Run under emulated CPUs too (emulate.sh): the choice belongs to the CPU, not to the build. */
START_TEST(choice_fits_the_cpu_it_runs_on)
{
    const struct fastmm_cpu *cpu = fastmm_cpu_native();
    struct fastmm_copy_plan plan = plan_now();
    ck_assert_int_eq(fastmm_copy_impl_usable(plan.vector, cpu), 1);
    printf("%s: vector %s, %s; rep from %llu, %s\n", cpu->name, fastmm_copy_impl_name(plan.vector),
           fastmm_copy_why(plan.vector_why), (unsigned long long)plan.copy.rep_min.bytes,
           fastmm_copy_why(plan.copy.rep_min.why));
    if (!fastmm_cpu_has(cpu, FASTMM_CPU_ERMS))
        ck_assert_uint_eq(plan.copy.rep_min.bytes, NEVER);
    if (!fastmm_cpu_has(cpu, FASTMM_CPU_AVX2))
        ck_assert_uint_le(plan.vector, FASTMM_COPY_SSE2);
    check_every_size(5000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.select");
    TCase *tc = tcase_create("select");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, first_call_before_main);
    tcase_add_test(tc, default_plan_is_that_of_this_cpu);
    tcase_add_test(tc, each_implementation_can_be_forced);
    tcase_add_test(tc, disabled_features_are_done_without);
    tcase_add_test(tc, calls_follow_the_thresholds);
    tcase_add_test(tc, copies_are_right_while_settings_change);
    tcase_add_test(tc, calls_in_signal_handlers);
    suite_add_tcase(suite, tc);
    tc = tcase_create("M19");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, senseless_settings_change_nothing, 0, REFUSED);
    tcase_add_loop_test(tc, extreme_settings_are_exact, 0, ACCEPTED);
    suite_add_tcase(suite, tc);
    tc = tcase_create("M23");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, choice_fits_the_cpu_it_runs_on);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
