/* SPDX-License-Identifier: MIT */
/*
 * Plans and routes of CPUs that aren't here: real parts, hypervisors that mask or lie, and feature
 * pairs that contradict each other.
 */
#include "cpuid_values.h"
#include "exact.h"
#include "test_main.h"

#include <fastmm/copy.h>

#include <stdlib.h>

#define KIB      ((uint64_t)1024)
#define MIB      (1024 * KIB)
#define NEVER    FASTMM_COPY_NEVER
#define BIT(id)  ((uint64_t)1 << FASTMM_CPU_##id)
#define WHY(id)  FASTMM_COPY_WHY_##id
#define IMPL(id) FASTMM_COPY_##id

/* Addresses for routes; nothing is touched there. */
static unsigned char *const there = (unsigned char *)0x10000000;
static unsigned char *const here = (unsigned char *)0x50000800;

static struct fastmm_copy_plan plan_of(const struct fastmm_cpu *cpu)
{
    struct fastmm_copy_plan plan;
    const char *reason = NULL;
    ck_assert_int_eq(fastmm_copy_plan_for(cpu, NULL, &plan, &reason), 0);
    ck_assert_ptr_null(reason);
    return plan;
}

static struct fastmm_cpu part(const char *name)
{
    struct cpuid_table table = cpuid_values(name);
    return cpuid_decode(&table);
}

static struct fastmm_copy_route route(const struct fastmm_copy_plan *plan, size_t n, size_t offset)
{
    return fastmm_copy_route_for(plan, FASTMM_COPY_OP_COPY, here + offset, there, n);
}

/* ---- Routes --------------------------------------------------------------------------------- */

/* What the fields of a plan mean, once more. */
static uint32_t expected_impl(const struct fastmm_copy_plan *plan, enum fastmm_copy_op op,
                              const unsigned char *dst, const unsigned char *src, uint64_t n)
{
    const struct fastmm_copy_thresholds *t = op == FASTMM_COPY_OP_FILL ? &plan->fill : &plan->copy;
    uintptr_t alias = (uintptr_t)(dst - src) % 4096;
    int slow = op != FASTMM_COPY_OP_FILL &&
               ((alias >= plan->rep_alias_first && alias <= plan->rep_alias_last) ||
                (uintptr_t)dst % plan->rep_align != 0);
    if (n >= t->rep_min.bytes && n < t->rep_end.bytes && !slow)
        return FASTMM_COPY_REP;
    return n >= t->stream_min.bytes ? (uint32_t)FASTMM_COPY_STREAM : plan->vector;
}

static void check_routes_at(const struct fastmm_copy_plan *plan, uint64_t n)
{
    static const size_t aliases[] = {0, 1, 8, 63, 64, 2048, 4095}, offsets[] = {0, 1, 32, 63};
    for (int i = 0; i < 7 * 4 * FASTMM_COPY_OP_COUNT; i++) {
        enum fastmm_copy_op op = (enum fastmm_copy_op)(i % FASTMM_COPY_OP_COUNT);
        const unsigned char *dst = here + 64 * MIB + offsets[i / FASTMM_COPY_OP_COUNT % 4];
        const unsigned char *src = dst - 64 * MIB - aliases[i / FASTMM_COPY_OP_COUNT / 4];
        if (op == FASTMM_COPY_OP_MOVE && n >= 64 * MIB)
            continue; /* they overlap */
        struct fastmm_copy_route r = fastmm_copy_route_for(plan, op, dst, src, (size_t)n);
        uint32_t expected = expected_impl(plan, op, dst, src, n);
        if (r.impl != expected || r.why >= FASTMM_COPY_WHY_COUNT)
            ck_abort_msg("%d, n=%llu dst=%p src=%p: %s, not %s", (int)op, (unsigned long long)n,
                         (const void *)dst, (const void *)src, fastmm_copy_impl_name(r.impl),
                         fastmm_copy_impl_name(expected));
    }
}

/* On both sides of each threshold, for blocks that lie well and badly to each other. */
static void check_routes(const struct fastmm_copy_plan *plan)
{
    const struct fastmm_copy_thresholds *both[] = {&plan->copy, &plan->fill};
    for (int i = 0; i < 2; i++) {
        const uint64_t edges[] = {129, both[i]->rep_min.bytes, both[i]->rep_end.bytes,
                                  both[i]->stream_min.bytes};
        for (int e = 0; e < 4; e++)
            for (uint64_t n = edges[e] - 1; n != edges[e] + 2 && n != 0; n++)
                check_routes_at(plan, n);
    }
}

/* ---- Parts of the file ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t vector, vector_why;
    uint64_t copy_rep_min;
    uint32_t copy_rep_why;
    uint64_t fill_rep_min, stream_min;
} parts[] = {
    {"Nehalem-EP", IMPL(SSE2), WHY(WIDEST), NEVER, WHY(NO_ERMS), NEVER, 6 * MIB},
    {"Sandy Bridge-E", IMPL(SSE2), WHY(WIDEST), NEVER, WHY(NO_ERMS), NEVER, 9 * MIB},
    {"Haswell", IMPL(AVX2), WHY(WIDEST), 4096, WHY(ERMS), 4096, 6 * MIB},
    {"Broadwell-E", IMPL(AVX2), WHY(WIDEST), 4096, WHY(ERMS), 4096, 11520 * KIB},
    {"Skylake", IMPL(AVX2), WHY(WIDEST), 4096, WHY(ERMS), 4096, 4608 * KIB},
    {"Cascade Lake-SP", IMPL(AVX2), WHY(CLOCK), 4096, WHY(ERMS), 4096, 16896 * KIB},
    {"Ice Lake client", IMPL(AVX512), WHY(WIDEST), 2112, WHY(FSRM), 4096, 6 * MIB},
    {"Ice Lake-SP", IMPL(AVX512), WHY(WIDEST), 2112, WHY(FSRM), 4096, 27 * MIB},
    {"Alder Lake", IMPL(AVX512), WHY(WIDEST), 2112, WHY(FSRM), 4096, 23040 * KIB},
    {"Sapphire Rapids", IMPL(AVX512), WHY(WIDEST), 2112, WHY(FSRM), 4096, 28800 * KIB},
    {"Granite Rapids", IMPL(AVX512), WHY(WIDEST), 2112, WHY(FSRM), 4096, 96 * MIB},
    {"Zen 1", IMPL(AVX2), WHY(WIDEST), NEVER, WHY(NO_ERMS), NEVER, 6 * MIB},
    {"Zen 2 (Rome)", IMPL(AVX2), WHY(WIDEST), NEVER, WHY(NO_ERMS), NEVER, 12 * MIB},
    {"Zen 3 (Milan)", IMPL(AVX2), WHY(WIDEST), 24 * MIB, WHY(REP_STREAMS), NEVER, 24 * MIB},
    {"Zen 4 (Genoa)", IMPL(AVX512), WHY(WIDEST), 24 * MIB, WHY(REP_STREAMS), NEVER, 24 * MIB},
    {"Zen 5 (Turin)", IMPL(AVX512), WHY(WIDEST), 24 * KIB, WHY(REP_CACHED), 1536 * KIB, 24 * MIB},
    {"Zhaoxin KX-7000", IMPL(AVX2), WHY(WIDEST), NEVER, WHY(NO_ERMS), NEVER, 24 * MIB},
};
#define PARTS ((int)(sizeof(parts) / sizeof(parts[0])))

static void skip_without_x86(void)
{
    if (!fastmm_copy_impl_usable(FASTMM_COPY_SSE2, &(struct fastmm_cpu){.usable = BIT(SSE2)}))
        test_skip("this architecture has none of the x86-64 implementations to plan for");
}

START_TEST(plan_of_every_part_of_the_file)
{
    skip_without_x86();
    struct fastmm_cpu cpu = part(parts[_i].name);
    struct fastmm_copy_plan plan = plan_of(&cpu);
    ck_assert_uint_eq(plan.vector, parts[_i].vector);
    ck_assert_uint_eq(plan.vector_why, parts[_i].vector_why);
    ck_assert_uint_eq(plan.copy.rep_min.bytes, parts[_i].copy_rep_min);
    ck_assert_uint_eq(plan.copy.rep_min.why, parts[_i].copy_rep_why);
    ck_assert_uint_eq(plan.fill.rep_min.bytes, parts[_i].fill_rep_min);
    ck_assert_uint_eq(plan.copy.stream_min.bytes, parts[_i].stream_min);
    ck_assert_uint_eq(plan.fill.stream_min.bytes, parts[_i].stream_min);
    ck_assert_uint_eq(plan.forced, 0);
    ck_assert_uint_eq(cpuid_values_count(), PARTS);
    check_routes(&plan);
}
END_TEST

START_TEST(every_reason_and_name_has_words)
{
    for (uint32_t why = 0; why < FASTMM_COPY_WHY_COUNT; why++) {
        ck_assert_ptr_nonnull(fastmm_copy_why(why));
        ck_assert_str_ne(fastmm_copy_why(why), "?");
    }
    ck_assert_str_eq(fastmm_copy_why(FASTMM_COPY_WHY_COUNT), "?");
    for (uint32_t impl = 0; impl < FASTMM_COPY_IMPL_COUNT; impl++)
        ck_assert_int_eq(fastmm_copy_impl_by_name(fastmm_copy_impl_name(impl)), (int)impl);
    ck_assert_ptr_null(fastmm_copy_impl_name(FASTMM_COPY_IMPL_COUNT));
    ck_assert_int_lt(fastmm_copy_impl_by_name("sse"), 0);
    ck_assert_int_lt(fastmm_copy_impl_by_name("sse22"), 0);
    ck_assert_int_lt(fastmm_copy_impl_by_name(""), 0);
    ck_assert_int_lt(fastmm_copy_impl_by_name(NULL), 0);
}
END_TEST

/* Along growing sizes the routes of a part change in order and each gives its reason. */
START_TEST(routes_by_size)
{
    skip_without_x86();
    struct fastmm_cpu cpu = part("Zen 5 (Turin)");
    struct fastmm_copy_plan plan = plan_of(&cpu);
    ck_assert_uint_eq(route(&plan, 24575, 0).impl, FASTMM_COPY_AVX512);
    ck_assert_uint_eq(route(&plan, 24575, 0).why, FASTMM_COPY_WHY_SMALL);
    ck_assert_uint_eq(route(&plan, 24576, 0).impl, FASTMM_COPY_REP);
    ck_assert_uint_eq(route(&plan, 24576, 0).why, FASTMM_COPY_WHY_REP_SIZE);
    ck_assert_uint_eq(route(&plan, SIZE_MAX / 2, 0).impl, FASTMM_COPY_REP);

    cpu = part("Haswell");
    plan = plan_of(&cpu);
    ck_assert_uint_eq(route(&plan, 4095, 0).impl, FASTMM_COPY_AVX2);
    ck_assert_uint_eq(route(&plan, 4096, 0).impl, FASTMM_COPY_REP);
    ck_assert_uint_eq(route(&plan, 6 * MIB, 0).impl, FASTMM_COPY_STREAM);
    ck_assert_uint_eq(route(&plan, 6 * MIB, 0).why, FASTMM_COPY_WHY_STREAM_SIZE);
    struct fastmm_copy_route fill =
        fastmm_copy_route_for(&plan, FASTMM_COPY_OP_FILL, here, NULL, 4096);
    ck_assert_uint_eq(fill.impl, FASTMM_COPY_REP);
}
END_TEST

START_TEST(overlapping_moves_take_vectors)
{
    skip_without_x86();
    struct fastmm_cpu cpu = part("Haswell");
    struct fastmm_copy_plan plan = plan_of(&cpu);
    for (size_t n = 8192; n <= 16 * MIB; n *= 4)
        for (int back = 0; back <= 1; back++) {
            const unsigned char *src = back ? here - n / 2 : here + n / 2;
            struct fastmm_copy_route r =
                fastmm_copy_route_for(&plan, FASTMM_COPY_OP_MOVE, here, src, n);
            ck_assert_uint_eq(r.impl, FASTMM_COPY_AVX2);
            ck_assert_uint_eq(r.why, FASTMM_COPY_WHY_OVERLAP);
            /* Blocks that merely touch don't overlap. */
            src = back ? here - n : here + n;
            r = fastmm_copy_route_for(&plan, FASTMM_COPY_OP_MOVE, here, src, n);
            ck_assert_uint_ne(r.impl, FASTMM_COPY_AVX2);
        }
}
END_TEST

/* ---- Known failures ------------------------------------------------------------------------- */

static void set_caches(struct fastmm_cpu *cpu, uint64_t l1, uint64_t l2, uint64_t l3)
{
    cpu->cache[FASTMM_CPU_L1D].size = l1;
    cpu->cache[FASTMM_CPU_L2].size = l2;
    cpu->cache[FASTMM_CPU_L3].size = l3;
}

static void check_sane(const struct fastmm_copy_plan *plan)
{
    const struct fastmm_copy_thresholds *both[] = {&plan->copy, &plan->fill};
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_ge(both[i]->stream_min.bytes, 4 * MIB);
        ck_assert_uint_le(both[i]->stream_min.bytes, 96 * MIB);
        ck_assert_uint_ge(both[i]->rep_min.bytes, 2112);
        ck_assert(both[i]->rep_min.bytes == NEVER ||
                  both[i]->rep_min.bytes <= both[i]->rep_end.bytes);
    }
    check_routes(plan);
}

START_TEST(caches_of_zero_or_of_the_whole_host)
{
    skip_without_x86();
    static const uint64_t sizes[] = {0, 1, 4096, 48 * KIB, 2 * MIB, 320 * MIB, UINT64_MAX};
    const size_t count = sizeof(sizes) / sizeof(sizes[0]);
    struct fastmm_cpu cpu = part(parts[_i].name);
    for (size_t i = 0; i < count * count * count; i++) {
        set_caches(&cpu, sizes[i % count], sizes[i / count % count], sizes[i / count / count]);
        struct fastmm_copy_plan plan = plan_of(&cpu);
        check_sane(&plan);
    }
    set_caches(&cpu, 0, 0, 0);
    struct fastmm_copy_plan plan = plan_of(&cpu);
    ck_assert_uint_eq(plan.copy.stream_min.bytes, 4 * MIB);
    ck_assert_uint_eq(plan.copy.stream_min.why, FASTMM_COPY_WHY_CACHE_FLOOR);
    set_caches(&cpu, 32 * KIB, MIB, 320 * MIB);
    plan = plan_of(&cpu);
    ck_assert_uint_eq(plan.copy.stream_min.bytes, 96 * MIB);
    ck_assert_uint_eq(plan.copy.stream_min.why, FASTMM_COPY_WHY_CACHE_CEILING);
}
END_TEST

/* The same through the leaves, as a hypervisor would mask them. */
START_TEST(masked_hypervisor)
{
    skip_without_x86();
    for (unsigned number = 0; number < cpuid_values_count(); number++) {
        struct cpuid_table table = cpuid_values_at(number);
        static const uint32_t leaves[] = {4, 0x8000001d};
        for (int l = 0; l < 2; l++)
            for (uint32_t sub = 0; sub < 5; sub++)
                for (unsigned reg = EAX; reg <= EDX; reg++)
                    *cpuid_reg(&table, leaves[l], sub, reg) = 0;
        *cpuid_reg(&table, 0x80000005, 0, ECX) = 0;
        *cpuid_reg(&table, 0x80000006, 0, ECX) = 0;
        *cpuid_reg(&table, 0x80000006, 0, EDX) = 0;
        struct fastmm_cpu cpu = cpuid_decode(&table);
        struct fastmm_copy_plan plan = plan_of(&cpu);
        check_sane(&plan);
        ck_assert_uint_eq(plan.copy.stream_min.bytes, 4 * MIB);
    }
}
END_TEST

START_TEST(every_size_is_right_with_the_floors)
{
    struct fastmm_cpu cpu = *fastmm_cpu_native();
    set_caches(&cpu, 0, 0, 0);
    struct fastmm_copy_plan plan = plan_of(&cpu);
    struct fastmm_copy_settings settings = {.copy_stream_min = plan.copy.stream_min.bytes,
                                            .fill_stream_min = plan.fill.stream_min.bytes};
    ck_assert_int_eq(fastmm_copy_configure(&settings, NULL), 0);
    check_every_size(20001);
}
END_TEST

START_TEST(misaligned_destination_on_family_19h)
{
    skip_without_x86();
    struct fastmm_cpu cpu = part("Zen 3 (Milan)");
    ck_assert(fastmm_cpu_has(&cpu, FASTMM_CPU_ERMS) && fastmm_cpu_has(&cpu, FASTMM_CPU_FSRM));
    struct fastmm_copy_plan plan = plan_of(&cpu);
    static const size_t sizes[] = {2113, 65536, 524287, 32 * MIB};
    for (size_t i = 0; i < 4; i++)
        for (size_t offset = 1; offset < 64; offset++)
            ck_assert_uint_ne(route(&plan, sizes[i], offset).impl, FASTMM_COPY_REP);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_ne(route(&plan, sizes[i], 0).impl, FASTMM_COPY_REP);
    ck_assert_uint_eq(route(&plan, 32 * MIB, 0).impl, FASTMM_COPY_REP);
    ck_assert_uint_eq(route(&plan, 32 * MIB, 1).impl, FASTMM_COPY_STREAM);
    ck_assert_uint_eq(route(&plan, 32 * MIB, 1).why, FASTMM_COPY_WHY_MISALIGNED);

    /* Aligned, but a little behind the source modulo a page. */
    for (size_t alias = 1; alias < 64; alias++) {
        struct fastmm_copy_route r = fastmm_copy_route_for(&plan, FASTMM_COPY_OP_COPY, here,
                                                           here - 64 * MIB - alias, 32 * MIB);
        ck_assert_uint_eq(r.impl, FASTMM_COPY_STREAM);
        ck_assert_uint_eq(r.why, FASTMM_COPY_WHY_ALIAS);
    }
}
END_TEST

static struct fastmm_cpu with_strings(const char *name, int erms, int fsrm)
{
    struct cpuid_table table = cpuid_values(name);
    uint32_t *ebx = cpuid_reg(&table, 7, 0, EBX);
    *ebx = erms ? *ebx | 1u << 9 : *ebx & ~(1u << 9);
    uint32_t *edx = cpuid_reg(&table, 7, 0, EDX);
    *edx = fsrm ? *edx | 1u << 4 : *edx & ~(1u << 4);
    return cpuid_decode(&table);
}

static void never_rep(const struct fastmm_cpu *cpu)
{
    struct fastmm_copy_plan plan = plan_of(cpu);
    for (size_t n = 1; n < 512 * MIB; n += n / 3 + 1) {
        ck_assert_uint_ne(route(&plan, n, 0).impl, FASTMM_COPY_REP);
        ck_assert_uint_ne(fastmm_copy_route_for(&plan, FASTMM_COPY_OP_FILL, here, NULL, n).impl,
                          FASTMM_COPY_REP);
    }
}

START_TEST(rep_only_where_the_features_say_so)
{
    skip_without_x86();
    /* 00, and 01: fast short forms without the fast ones are fast strings turned off. */
    for (unsigned number = 0; number < cpuid_values_count(); number++)
        for (int fsrm = 0; fsrm <= 1; fsrm++) {
            struct fastmm_cpu cpu = with_strings(cpuid_values_at(number).name, 0, fsrm);
            never_rep(&cpu);
        }
    /* 10: from the ERMS threshold. */
    struct fastmm_cpu cpu = with_strings("Skylake", 1, 0);
    struct fastmm_copy_plan plan = plan_of(&cpu);
    static const size_t sizes[] = {16, 100, 1000, 4096, 65536};
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(route(&plan, sizes[i], 0).impl == FASTMM_COPY_REP, sizes[i] >= 4096);
    /* 11: from the lower one; shorter sizes are below every part's measured knee. */
    cpu = with_strings("Skylake", 1, 1);
    plan = plan_of(&cpu);
    ck_assert_uint_eq(plan.copy.rep_min.bytes, 2112);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(route(&plan, sizes[i], 0).impl == FASTMM_COPY_REP, sizes[i] >= 2112);
    /* A vendor of which nothing was measured. */
    cpu.vendor = FASTMM_CPU_VENDOR_OTHER;
    never_rep(&cpu);
    ck_assert_uint_eq(plan_of(&cpu).copy.rep_min.why, FASTMM_COPY_WHY_VENDOR_UNKNOWN);
}
END_TEST

START_TEST(threshold_belongs_to_vendor_and_feature)
{
    skip_without_x86();
    static const size_t sizes[] = {256, 512, 1024, 2112, 4096, 8192};
    int distinct = 0;
    uint64_t seen[PARTS];
    for (int i = 0; i < PARTS; i++) {
        struct fastmm_cpu cpu = part(parts[i].name);
        struct fastmm_copy_plan plan = plan_of(&cpu);
        int is_new = 1;
        for (int j = 0; j < distinct; j++)
            is_new &= seen[j] != plan.copy.rep_min.bytes;
        if (is_new)
            seen[distinct++] = plan.copy.rep_min.bytes;
        for (size_t s = 0; s < 6; s++) {
            struct fastmm_copy_route r = route(&plan, sizes[s], 0);
            int rep = sizes[s] >= plan.copy.rep_min.bytes;
            ck_assert_uint_eq(r.impl, rep ? (uint32_t)FASTMM_COPY_REP : plan.vector);
            ck_assert_uint_eq(r.why, rep ? FASTMM_COPY_WHY_REP_SIZE : FASTMM_COPY_WHY_SMALL);
        }
    }
    ck_assert_int_ge(distinct, 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.plan");
    TCase *tc = tcase_create("plan");
    tcase_add_loop_test(tc, plan_of_every_part_of_the_file, 0, PARTS);
    tcase_add_test(tc, every_reason_and_name_has_words);
    tcase_add_test(tc, routes_by_size);
    tcase_add_test(tc, overlapping_moves_take_vectors);
    suite_add_tcase(suite, tc);
    tc = tcase_create("M01");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, caches_of_zero_or_of_the_whole_host, 0, PARTS);
    tcase_add_test(tc, masked_hypervisor);
    tcase_add_test(tc, every_size_is_right_with_the_floors);
    suite_add_tcase(suite, tc);
    tc = tcase_create("M03");
    tcase_add_test(tc, misaligned_destination_on_family_19h);
    suite_add_tcase(suite, tc);
    tc = tcase_create("M05");
    tcase_add_test(tc, rep_only_where_the_features_say_so);
    suite_add_tcase(suite, tc);
    tc = tcase_create("M21");
    tcase_add_test(tc, threshold_belongs_to_vendor_and_feature);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
