/* SPDX-License-Identifier: MIT */
/* Cache sizes: real parts, and the three sources contradicting each other. */
#include "cpuid_values.h"
#include "test_main.h"

#define KIB 1024u
#define MIB (1024u * KIB)

enum { L1D = FASTMM_CPU_L1D, L2 = FASTMM_CPU_L2, L3 = FASTMM_CPU_L3 };
enum {
    LEAF4 = FASTMM_CPU_CACHE_LEAF4,
    LEAF8_1D = FASTMM_CPU_CACHE_LEAF8_1D,
    LEAF8_5_6 = FASTMM_CPU_CACHE_LEAF8_5_6
};

static const struct {
    const char *name;
    uint32_t kib[FASTMM_CPU_CACHE_LEVELS], shared[FASTMM_CPU_CACHE_LEVELS];
} parts[] = {
    {"Nehalem-EP", {32, 256, 8192}, {2, 2, 16}},
    {"Sandy Bridge-E", {32, 256, 12288}, {2, 2, 32}},
    {"Haswell", {32, 256, 8192}, {2, 2, 16}},
    {"Broadwell-E", {32, 256, 15360}, {2, 2, 16}},
    {"Skylake", {32, 256, 6144}, {2, 2, 16}},
    {"Cascade Lake-SP", {32, 1024, 22528}, {2, 2, 32}},
    {"Ice Lake client", {48, 512, 8192}, {2, 2, 16}},
    {"Ice Lake-SP", {48, 1280, 36864}, {2, 2, 64}},
    {"Alder Lake", {48, 1280, 30720}, {2, 8, 128}},
    {"Sapphire Rapids", {48, 2048, 38400}, {2, 2, 128}},
    {"Granite Rapids", {48, 2048, 147456}, {2, 2, 128}},
    {"Zen 1", {32, 512, 8192}, {2, 2, 8}},
    {"Zen 2 (Rome)", {32, 512, 16384}, {2, 2, 8}},
    {"Zen 3 (Milan)", {32, 512, 32768}, {1, 1, 8}},
    {"Zen 4 (Genoa)", {32, 1024, 32768}, {2, 2, 16}},
    {"Zen 5 (Turin)", {48, 1024, 32768}, {1, 1, 8}},
    {"Zhaoxin KX-7000", {32, 512, 32768}, {1, 1, 8}},
};

START_TEST(caches_of_every_part_of_the_file)
{
    struct cpuid_table t = cpuid_values(parts[_i].name);
    struct fastmm_cpu cpu = cpuid_decode(&t);
    for (unsigned level = 0; level < FASTMM_CPU_CACHE_LEVELS; level++) {
        ck_assert_uint_eq(cpu.cache[level].size, parts[_i].kib[level] * (uint64_t)KIB);
        ck_assert_uint_eq(cpu.cache[level].shared, parts[_i].shared[level]);
    }
    ck_assert_uint_eq(cpu.line, 64);
}
END_TEST

START_TEST(an_l3_of_the_host_does_not_count)
{
    struct cpuid_table t = cpuid_values("Zen 4 (Genoa)");
    *cpuid_reg(&t, 1, 0, ECX) |= 1u << 31;
    *cpuid_reg(&t, 0x80000006u, 0, EDX) = 0x0a009140u; /* 640 x 512 KiB */
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.cache[L3].size, 32 * MIB);
    ck_assert_uint_eq(cpu.cache[L3].reported[LEAF8_5_6], 320 * MIB);
    ck_assert_uint_eq(cpu.cache[L3].verdict[LEAF8_1D], FASTMM_CPU_CACHE_BELIEVED);
    ck_assert_uint_eq(cpu.cache[L3].verdict[LEAF8_5_6], FASTMM_CPU_CACHE_OVERRULED);
    ck_assert_uint_eq(cpu.cache[L2].verdict[LEAF8_5_6], FASTMM_CPU_CACHE_AGREES);

    /* The better leaf masked as well: the figure is cut to what a core can share. */
    for (uint32_t sub = 0; sub < 4; sub++)
        *cpuid_reg(&t, 0x8000001du, sub, EAX) = 0;
    cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.cache[L3].size, 16 * MIB);
    ck_assert_uint_eq(cpu.cache[L3].verdict[LEAF8_5_6], FASTMM_CPU_CACHE_CAPPED);
    ck_assert_uint_eq(cpu.cache[L1D].size, 32 * KIB);
    ck_assert_uint_eq(cpu.cache[L2].size, 1 * MIB);
    ck_assert_uint_eq(cpu.cache[L2].shared, 0);
}
END_TEST

START_TEST(zeros_everywhere_are_unknown)
{
    struct cpuid_table t = cpuid_values("Zen 3 (Milan)");
    for (unsigned i = 0; i < 4; i++) {
        for (uint32_t sub = 0; sub < 4; sub++)
            *cpuid_reg(&t, 0x8000001du, sub, i) = 0;
        *cpuid_reg(&t, 0x80000005u, 0, i) = *cpuid_reg(&t, 0x80000006u, 0, i) = 0;
    }
    struct fastmm_cpu cpu = cpuid_decode(&t);
    for (unsigned level = 0; level < FASTMM_CPU_CACHE_LEVELS; level++) {
        ck_assert_uint_eq(cpu.cache[level].size, 0);
        for (unsigned s = 0; s < FASTMM_CPU_CACHE_SOURCES; s++)
            ck_assert_uint_eq(cpu.cache[level].verdict[s], FASTMM_CPU_CACHE_SILENT);
    }
    ck_assert_uint_eq(cpu.line, 64); /* leaf 1 still knows */
}
END_TEST

START_TEST(one_missing_level_leaves_the_others)
{
    struct cpuid_table t = cpuid_values("Skylake");
    *cpuid_reg(&t, 4, 3, EAX) = 0;
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.cache[L3].size, 0);
    ck_assert_uint_eq(cpu.cache[L2].size, 256 * KIB);
}
END_TEST

START_TEST(geometry_that_reaches_2_to_64_is_absurd)
{
    struct cpuid_table t = cpuid_values("Sapphire Rapids");
    *cpuid_reg(&t, 4, 2, EBX) = *cpuid_reg(&t, 4, 2, ECX) = UINT32_MAX;
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.cache[L2].reported[LEAF4], UINT64_MAX);
    ck_assert_uint_eq(cpu.cache[L2].verdict[LEAF4], FASTMM_CPU_CACHE_ABSURD);
    ck_assert_uint_eq(cpu.cache[L2].size, 2 * MIB); /* 8000_0006 has it too */
    ck_assert_uint_eq(cpu.cache[L2].verdict[LEAF8_5_6], FASTMM_CPU_CACHE_BELIEVED);
}
END_TEST

START_TEST(tiny_and_giant_caches_are_absurd)
{
    struct cpuid_table t = cpuid_values("Skylake");
    *cpuid_reg(&t, 4, 0, EBX) = 0; /* one way of 1-byte lines: 64 bytes */
    *cpuid_reg(&t, 4, 3, ECX) = 0x01ffffff;
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.cache[L1D].reported[LEAF4], 64);
    ck_assert_uint_eq(cpu.cache[L1D].verdict[LEAF4], FASTMM_CPU_CACHE_ABSURD);
    ck_assert_uint_eq(cpu.cache[L1D].size, 0);
    ck_assert_uint_eq(cpu.cache[L3].verdict[LEAF4], FASTMM_CPU_CACHE_ABSURD);
    ck_assert_uint_eq(cpu.cache[L3].size, 0);
}
END_TEST

START_TEST(instruction_caches_and_repeats_do_not_count)
{
    struct cpuid_table t = cpuid_values("Skylake");
    *cpuid_reg(&t, 4, 1, ECX) = 4095;                      /* a giant code cache */
    *cpuid_reg(&t, 4, 4, EAX) = *cpuid_reg(&t, 4, 2, EAX); /* a second L2 */
    *cpuid_reg(&t, 4, 4, EBX) = *cpuid_reg(&t, 4, 2, EBX);
    *cpuid_reg(&t, 4, 4, ECX) = 0xffff;
    *cpuid_reg(&t, 4, 5, EAX) = 0x1c03c183; /* an L4 */
    struct fastmm_cpu cpu = cpuid_decode(&t);
    ck_assert_uint_eq(cpu.cache[L1D].size, 32 * KIB);
    ck_assert_uint_eq(cpu.cache[L2].size, 256 * KIB);
    ck_assert_uint_eq(cpu.cache[L3].size, 6 * MIB);
}
END_TEST

static void read_endless(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    (void)subleaf;
    ++*(unsigned *)ctx;
    regs[EAX] = leaf == 0 ? 0x20 : 0x80000021u; /* subleaves: type 1, level 1, for ever */
    regs[EBX] = 0x01c0003f;
    regs[ECX] = 0x3f;
    regs[EDX] = 0;
}

START_TEST(a_list_without_end_is_cut)
{
    unsigned reads = 0;
    struct fastmm_cpuid_source source = {read_endless, &reads, 0};
    struct fastmm_cpu cpu;
    fastmm_cpu_decode(&source, &cpu);
    ck_assert_uint_eq(cpu.cache[L1D].size, 32 * KIB);
    ck_assert_uint_le(reads, 64);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu.cache");
    TCase *tc = tcase_create("cache");
    tcase_add_loop_test(tc, caches_of_every_part_of_the_file, 0,
                        (int)(sizeof(parts) / sizeof(parts[0])));
    tcase_add_test(tc, an_l3_of_the_host_does_not_count);
    tcase_add_test(tc, zeros_everywhere_are_unknown);
    tcase_add_test(tc, one_missing_level_leaves_the_others);
    tcase_add_test(tc, geometry_that_reaches_2_to_64_is_absurd);
    tcase_add_test(tc, tiny_and_giant_caches_are_absurd);
    tcase_add_test(tc, instruction_caches_and_repeats_do_not_count);
    tcase_add_test(tc, a_list_without_end_is_cut);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
