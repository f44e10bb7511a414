/* SPDX-License-Identifier: MIT */
/* Who the CPU is and what may be used: real parts, lying hypervisors, firmware settings, junk. */
#include "cpuid_values.h"
#include "test_main.h"

#include <string.h>

#define BIT(f)  ((uint64_t)1 << FASTMM_CPU_##f)
#define V2      (BIT(SSE2) | BIT(AVX))
#define V3      (V2 | BIT(AVX2) | BIT(BMI2))
#define V4      (V3 | BIT(AVX512F) | BIT(AVX512DQ) | BIT(AVX512CD) | BIT(AVX512BW) | BIT(AVX512VL))
#define ALL     (((uint64_t)1 << FASTMM_CPU_FEATURE_COUNT) - 1)
#define STRINGS (BIT(ERMS) | BIT(FSRM) | BIT(FZRM) | BIT(FSRS) | BIT(FSRC))

static const struct {
    const char *name;
    uint32_t vendor, family, model, stepping;
    uint64_t usable;
} parts[] = {
    {"Nehalem-EP", FASTMM_CPU_VENDOR_INTEL, 6, 0x1a, 2, BIT(SSE2)},
    {"Sandy Bridge-E", FASTMM_CPU_VENDOR_INTEL, 6, 0x2d, 7, V2},
    {"Haswell", FASTMM_CPU_VENDOR_INTEL, 6, 0x3c, 3, V3 | BIT(ERMS)},
    {"Broadwell-E", FASTMM_CPU_VENDOR_INTEL, 6, 0x4f, 1, V3 | BIT(ERMS)},
    {"Skylake", FASTMM_CPU_VENDOR_INTEL, 6, 0x5e, 3, V3 | BIT(ERMS)},
    {"Cascade Lake-SP", FASTMM_CPU_VENDOR_INTEL, 6, 0x55, 6, V4 | BIT(ERMS)},
    {"Ice Lake client", FASTMM_CPU_VENDOR_INTEL, 6, 0x7e, 5, V4 | BIT(ERMS) | BIT(FSRM)},
    {"Ice Lake-SP", FASTMM_CPU_VENDOR_INTEL, 6, 0x6a, 6, V4 | BIT(ERMS) | BIT(FSRM)},
    {"Alder Lake", FASTMM_CPU_VENDOR_INTEL, 6, 0x97, 2, V4 | STRINGS},
    {"Sapphire Rapids", FASTMM_CPU_VENDOR_INTEL, 6, 0x8f, 8, V4 | STRINGS},
    {"Granite Rapids", FASTMM_CPU_VENDOR_INTEL, 6, 0xad, 1, V4 | STRINGS},
    {"Zen 1", FASTMM_CPU_VENDOR_AMD, 0x17, 0x01, 2, V3},
    {"Zen 2 (Rome)", FASTMM_CPU_VENDOR_AMD, 0x17, 0x31, 0, V3},
    {"Zen 3 (Milan)", FASTMM_CPU_VENDOR_AMD, 0x19, 0x01, 1, V3 | BIT(ERMS) | BIT(FSRM)},
    {"Zen 4 (Genoa)", FASTMM_CPU_VENDOR_AMD, 0x19, 0x11, 1, V4 | (STRINGS & ~BIT(FZRM))},
    {"Zen 5 (Turin)", FASTMM_CPU_VENDOR_AMD, 0x1a, 0x02, 1, V4 | (STRINGS & ~BIT(FZRM))},
    {"Zhaoxin KX-7000", FASTMM_CPU_VENDOR_ZHAOXIN, 7, 0x6b, 1, V3},
};

START_TEST(every_part_of_the_file_is_recognised)
{
    struct cpuid_table t = cpuid_values(parts[_i].name);
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.vendor, parts[_i].vendor);
    ck_assert_uint_eq(cpu.family, parts[_i].family);
    ck_assert_uint_eq(cpu.model, parts[_i].model);
    ck_assert_uint_eq(cpu.stepping, parts[_i].stepping);
    ck_assert_uint_eq(cpu.advertised, parts[_i].usable);
    ck_assert_uint_eq(cpu.usable, parts[_i].usable);
    ck_assert_uint_eq(cpu.hypervisor, 0);
    ck_assert_str_eq(cpu.hypervisor_id, "");
}
END_TEST

START_TEST(the_table_above_covers_the_file)
{
    ck_assert_uint_eq(cpuid_values_count(), sizeof(parts) / sizeof(parts[0]));
}
END_TEST

START_TEST(vectors_need_the_state_that_the_system_saves)
{
    static const struct {
        uint64_t xcr0, usable;
    } cases[] = {{0xe7, V4}, {0x07, V3}, {0x67, V3}, {0xe3, V2 & ~BIT(AVX)}, {0, BIT(SSE2)}};
    struct cpuid_table t = cpuid_values("Sapphire Rapids");
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        t.xcr0 = cases[i].xcr0;
        struct fastmm_cpu cpu = cpuid_decode(&t);
        ck_assert_uint_eq(cpu.usable, cases[i].usable | BIT(BMI2) | STRINGS);
        ck_assert_uint_eq(cpu.advertised, ALL);
        ck_assert_uint_eq(cpu.xcr0, cases[i].xcr0);
    }
}
END_TEST

START_TEST(without_osxsave_the_state_is_not_believed)
{
    struct cpuid_table t = cpuid_values("Sapphire Rapids");
    *cpuid_reg(&t, 1, 0, ECX) &= ~(1u << 27);
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.xcr0, 0);
    ck_assert_uint_eq(cpu.usable, BIT(SSE2) | BIT(BMI2) | STRINGS);
}
END_TEST

START_TEST(a_masked_base_takes_what_builds_on_it_along)
{
    struct cpuid_table t = cpuid_values("Ice Lake-SP");
    *cpuid_reg(&t, 7, 0, EBX) &= ~(1u << 5); /* AVX2 */
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.usable, V2 | BIT(BMI2) | BIT(ERMS) | BIT(FSRM));
    ck_assert(cpu.advertised & BIT(AVX512F));
}
END_TEST

START_TEST(N5_fast_strings_off_leaves_no_fast_string)
{
    struct cpuid_table t = cpuid_values(_i ? "Granite Rapids" : "Ice Lake client");
    *cpuid_reg(&t, 7, 0, EBX) &= ~(1u << 9);
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert(cpu.advertised & BIT(FSRM));
    ck_assert_uint_eq(cpu.usable & STRINGS, 0);
    ck_assert(!fastmm_cpu_has(&cpu, FASTMM_CPU_FSRM));
}
END_TEST

START_TEST(a_declared_limit_hides_leaves_above_it)
{
    struct cpuid_table t = cpuid_values("Granite Rapids");
    *cpuid_reg(&t, 0, 0, EAX) = 3; /* firmware's "limit CPUID maximum" */
    *cpuid_reg(&t, 0x80000000u, 0, EAX) = 0;
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.advertised, V2);
    for (unsigned i = 0; i < FASTMM_CPU_CACHE_LEVELS; i++)
        ck_assert_uint_eq(cpu.cache[i].size, 0);

    t = cpuid_values("Granite Rapids");
    *cpuid_reg(&t, 7, 0, EAX) = 0; /* no subleaf 1 */
    ck_assert_uint_eq(cpuid_decode(&t).advertised, V4 | BIT(ERMS) | BIT(FSRM));
}
END_TEST

static void set_text(struct cpuid_table *t, uint32_t leaf, const char *text)
{
    uint32_t regs[4] = {0};
    memcpy(regs, text, strlen(text) < sizeof(regs) ? strlen(text) : sizeof(regs));
    for (unsigned i = 0; i < 4; i++)
        *cpuid_reg(t, leaf, 0, i) = regs[i];
}

START_TEST(hypervisors_are_named)
{
    struct cpuid_table t = cpuid_values("Zen 3 (Milan)");
    set_text(&t, 0x40000000u, "\x01..@KVMKVMKVM");
    ck_assert_str_eq(cpuid_decode(&t).hypervisor_id, ""); /* no such leaf without the bit */
    *cpuid_reg(&t, 1, 0, ECX) |= 1u << 31;
    ck_assert_uint_eq(cpuid_decode(&t).hypervisor, 1);
    ck_assert_str_eq(cpuid_decode(&t).hypervisor_id, "KVMKVMKVM");
}
END_TEST

START_TEST(names_are_trimmed_and_printable)
{
    struct cpuid_table t = cpuid_values("Zen 3 (Milan)");
    set_text(&t, 0x80000002u, "   Fast\x1b[31m CPU"); /* fills the leaf */
    set_text(&t, 0x80000003u, " \xff with blanks ");
    ck_assert_str_eq(cpuid_decode(&t).name, "Fast?[31m CPU ? with blanks");

    set_text(&t, 0x80000002u, "ends here");
    ck_assert_str_eq(cpuid_decode(&t).name, "ends here");

    set_text(&t, 0x80000002u, "                ");
    set_text(&t, 0x80000003u, "                ");
    ck_assert_str_eq(cpuid_decode(&t).name, "");
}
END_TEST

static void read_random(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    struct {
        uint64_t state, reads;
    } *junk = ctx;
    (void)leaf, (void)subleaf;
    junk->reads++;
    for (unsigned i = 0; i < 4; i++)
        regs[i] = (uint32_t)test_random(&junk->state);
    if (test_random(&junk->state) % 4 == 0)
        regs[EAX] = 0x80000021u; /* limits that let everything through */
}

START_TEST(junk_leaves_do_no_harm)
{
    struct {
        uint64_t state, reads;
    } junk = {test_seed(), 0};
    const unsigned rounds = test_long() ? 2000000 : 10000;
    for (unsigned round = 0; round < rounds; round++) {
        struct fastmm_cpuid_source source = {read_random, &junk, test_random(&junk.state)};
        struct fastmm_cpu cpu;
        junk.reads = 0;
        memset(&cpu, 0xa5, sizeof(cpu));
        fastmm_cpu_decode(&source, &cpu);
        ck_assert_uint_le(junk.reads, 64);
        ck_assert_uint_eq(cpu.usable & ~cpu.advertised, 0);
        ck_assert_uint_eq(cpu.advertised & ~ALL, 0);
        ck_assert_uint_lt(strlen(cpu.name), 49);
        ck_assert_uint_lt(strlen(cpu.vendor_id), 13);
        ck_assert_uint_lt(strlen(cpu.hypervisor_id), 13);
        ck_assert(cpu.line == 0 || (cpu.line >= 16 && cpu.line <= 256));
        ck_assert_uint_le(cpu.cache[FASTMM_CPU_L1D].size, 512u << 10);
        ck_assert_uint_le(cpu.cache[FASTMM_CPU_L2].size, 128u << 20);
        ck_assert_uint_le(cpu.cache[FASTMM_CPU_L3].size, 1024u << 20);
    }
}
END_TEST

struct once {
    struct fastmm_cpuid_source source;
    uint32_t seen[64][2];
    unsigned count;
};

static void read_once(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    struct once *once = ctx;
    for (unsigned i = 0; i < once->count; i++)
        ck_assert(once->seen[i][0] != leaf || once->seen[i][1] != subleaf);
    ck_assert_uint_lt(once->count, 64);
    once->seen[once->count][0] = leaf;
    once->seen[once->count++][1] = subleaf;
    once->source.read(once->source.ctx, leaf, subleaf, regs);
}

/* In a guest each reading takes microseconds, which the first copy of a short process pays. */
START_TEST(no_leaf_is_read_twice)
{
    struct cpuid_table t = cpuid_values(parts[_i].name);
    struct once once = {.source = cpuid_source(&t)};
    struct fastmm_cpuid_source source = {read_once, &once, once.source.xcr0};
    struct fastmm_cpu cpu;
    fastmm_cpu_decode(&source, &cpu);
    ck_assert_uint_gt(once.count, 4);
}
END_TEST

static void read_ones(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    (void)leaf, (void)subleaf;
    memset(regs, *(int *)ctx, 4 * sizeof(regs[0]));
}

START_TEST(constant_leaves_end)
{
    int byte = _i;
    struct fastmm_cpuid_source source = {read_ones, &byte, UINT64_MAX};
    struct fastmm_cpu cpu;
    fastmm_cpu_decode(&source, &cpu);
    ck_assert_uint_eq(cpu.usable & ~cpu.advertised, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu.decode");
    TCase *tc = tcase_create("decode");
    tcase_add_loop_test(tc, every_part_of_the_file_is_recognised, 0,
                        (int)(sizeof(parts) / sizeof(parts[0])));
    tcase_add_test(tc, the_table_above_covers_the_file);
    tcase_add_test(tc, vectors_need_the_state_that_the_system_saves);
    tcase_add_test(tc, without_osxsave_the_state_is_not_believed);
    tcase_add_test(tc, a_masked_base_takes_what_builds_on_it_along);
    tcase_add_test(tc, a_declared_limit_hides_leaves_above_it);
    tcase_add_test(tc, hypervisors_are_named);
    tcase_add_test(tc, names_are_trimmed_and_printable);
    tcase_add_loop_test(tc, no_leaf_is_read_twice, 0, (int)(sizeof(parts) / sizeof(parts[0])));
    tcase_add_loop_test(tc, constant_leaves_end, 0, 256);
    suite_add_tcase(suite, tc);

    TCase *junk = tcase_create("junk");
    tcase_set_timeout(junk, 600);
    tcase_add_test(junk, junk_leaves_do_no_harm);
    suite_add_tcase(suite, junk);

    TCase *n5 = tcase_create("N5");
    tcase_add_loop_test(n5, N5_fast_strings_off_leaves_no_fast_string, 0, 2);
    suite_add_tcase(suite, n5);
    return test_main(suite);
}
