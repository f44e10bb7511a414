/* SPDX-License-Identifier: MIT */
/*
 * Cache sizes from three places that contradict each other under hypervisors: geometry is zeroed,
 * leaves are copied from the host, and the package-wide L3 of a 2-CPU guest reads 320 MiB. A
 * statement is believed if such a cache has been built; the more detailed source goes first.
 */
#include "base/words.h"
#include "leaf.h"

#define KIB ((uint64_t)1024)
#define MIB (KIB * 1024)

/*
 * What has been built, with a factor of two or more of room: L1 8..128 KiB, L2 to 64 MiB, L3 to
 * 504 MiB behind one core.
 */
static const struct {
    uint64_t min, max;
} plausible[FASTMM_CPU_CACHE_LEVELS] = {
    {4 * KIB, 512 * KIB},
    {16 * KIB, 128 * MIB},
    {128 * KIB, 1024 * MIB},
};

/*
 * 8000_0006 adds up the L3 of the package. Parts that state no L3 elsewhere share at most 16 MiB
 * between cores (AMD families 10h and 15h), so that a larger figure is a host's.
 */
#define PACKAGE_L3_CAP (16 * MIB)

/* Subleaves to try; CPUs end the list with type 0 after four or five. */
#define MAX_CACHES 16

enum { CACHE_NONE, CACHE_DATA, CACHE_CODE, CACHE_UNIFIED };

/* What one source states. */
struct statement {
    uint64_t size;
    uint32_t shared;
    uint32_t line;
};

struct statements {
    struct statement at[FASTMM_CPU_CACHE_LEVELS][FASTMM_CPU_CACHE_SOURCES];
};

/* ways x partitions x line x sets, each stored as n - 1; the product can reach 2^64. */
static uint64_t geometry_size(struct cpuid_leaf l)
{
    uint64_t ways = (uint64_t)(l.reg[CPUID_EBX] >> 22) + 1;
    uint64_t partitions = (uint64_t)(l.reg[CPUID_EBX] >> 12 & 0x3ff) + 1;
    uint64_t line = (uint64_t)(l.reg[CPUID_EBX] & 0xfff) + 1;
    uint64_t sets = (uint64_t)l.reg[CPUID_ECX] + 1;
    uint64_t size;
    return __builtin_mul_overflow(ways * partitions * line, sets, &size) ? UINT64_MAX : size;
}

static int states_all_levels(const struct statements *s, enum fastmm_cpu_cache_source source)
{
    for (unsigned level = 0; level < FASTMM_CPU_CACHE_LEVELS; level++)
        if (!s->at[level][source].size)
            return 0;
    return 1;
}

/* Leaf 4 and leaf 8000_001D: one cache a subleaf. The first of a level counts. */
static void read_geometry(const struct cpuid_reader *reader, uint32_t leaf,
                          enum fastmm_cpu_cache_source source, struct statements *s)
{
    for (uint32_t sub = 0; sub < MAX_CACHES && !states_all_levels(s, source); sub++) {
        struct cpuid_leaf l = fastmm_cpuid_leaf(reader, leaf, sub);
        uint32_t type = l.reg[CPUID_EAX] & 0x1f;
        uint32_t level = l.reg[CPUID_EAX] >> 5 & 0x7;
        if (type == CACHE_NONE)
            return;
        if ((type != CACHE_DATA && type != CACHE_UNIFIED) || level < 1 ||
            level > FASTMM_CPU_CACHE_LEVELS || s->at[level - 1][source].size)
            continue;
        s->at[level - 1][source] = (struct statement){
            .size = geometry_size(l),
            .shared = (l.reg[CPUID_EAX] >> 14 & 0xfff) + 1,
            .line = (l.reg[CPUID_EBX] & 0xfff) + 1,
        };
    }
}

static void read_kilobytes(const struct cpuid_reader *reader, struct statements *s)
{
    const enum fastmm_cpu_cache_source source = FASTMM_CPU_CACHE_LEAF8_5_6;
    uint32_t l1 = fastmm_cpuid_leaf(reader, 0x80000005u, 0).reg[CPUID_ECX];
    struct cpuid_leaf l23 = fastmm_cpuid_leaf(reader, 0x80000006u, 0);
    uint32_t l2 = l23.reg[CPUID_ECX], l3 = l23.reg[CPUID_EDX];
    s->at[FASTMM_CPU_L1D][source] = (struct statement){(l1 >> 24) * KIB, 0, l1 & 0xff};
    s->at[FASTMM_CPU_L2][source] = (struct statement){(l2 >> 16) * KIB, 0, l2 & 0xff};
    s->at[FASTMM_CPU_L3][source] = (struct statement){(l3 >> 18) * 512 * KIB, 0, l3 & 0xff};
}

static void decide(unsigned level, const struct statement *stated, struct fastmm_cpu *cpu)
{
    struct fastmm_cpu_cache *c = &cpu->cache[level];
    for (unsigned s = 0; s < FASTMM_CPU_CACHE_SOURCES; s++) {
        uint64_t size = stated[s].size;
        c->reported[s] = size;
        if (size == 0) {
            c->verdict[s] = FASTMM_CPU_CACHE_SILENT;
        } else if (size < plausible[level].min || size > plausible[level].max) {
            c->verdict[s] = FASTMM_CPU_CACHE_ABSURD;
        } else if (c->size) {
            c->verdict[s] = size == c->size ? FASTMM_CPU_CACHE_AGREES : FASTMM_CPU_CACHE_OVERRULED;
        } else {
            int capped =
                level == FASTMM_CPU_L3 && s == FASTMM_CPU_CACHE_LEAF8_5_6 && size > PACKAGE_L3_CAP;
            c->verdict[s] = capped ? FASTMM_CPU_CACHE_CAPPED : FASTMM_CPU_CACHE_BELIEVED;
            c->size = capped ? PACKAGE_L3_CAP : size;
            c->shared = stated[s].shared;
            if (!cpu->line)
                cpu->line = stated[s].line;
        }
    }
}

/* A power of two between the smallest and the largest line ever built. */
static int plausible_line(uint32_t line)
{
    return line >= 16 && line <= 256 && (line & (line - 1)) == 0;
}

void fastmm_cpu_decode_caches(const struct cpuid_reader *reader, struct fastmm_cpu *cpu)
{
    struct statements s;
    clear_words(&s, sizeof(s));
    read_geometry(reader, 4, FASTMM_CPU_CACHE_LEAF4, &s);
    read_geometry(reader, 0x8000001du, FASTMM_CPU_CACHE_LEAF8_1D, &s);
    read_kilobytes(reader, &s);
    for (unsigned level = 0; level < FASTMM_CPU_CACHE_LEVELS; level++)
        decide(level, s.at[level], cpu);

    /* CLFLUSH works on lines: leaf 1 states their size in units of 8 bytes. */
    if (!plausible_line(cpu->line))
        cpu->line = (fastmm_cpuid_leaf(reader, 1, 0).reg[CPUID_EBX] >> 8 & 0xff) * 8;
    if (!plausible_line(cpu->line))
        cpu->line = 0;
}
