/* SPDX-License-Identifier: MIT */
/* Leaf access for the decoder: what CPUID doesn't declare reads as zero. */
#ifndef FASTMM_SRC_CPU_LEAF_H
#define FASTMM_SRC_CPU_LEAF_H

#include <fastmm/cpu.h>

enum { CPUID_EAX, CPUID_EBX, CPUID_ECX, CPUID_EDX };

#define CPUID_EXTENDED   0x80000000u
#define CPUID_HYPERVISOR 0x40000000u
#define CPUID_RANGE_MASK 0xffff0000u
#define CPUID_STRUCTURED 7u

struct cpuid_leaf {
    uint32_t reg[4];
};

enum { CPUID_KEPT = 3 };

/* A source with the limits that it declares. */
struct cpuid_reader {
    const struct fastmm_cpuid_source *source;
    /* Leaves that several ask for: a guest pays an exit, some microseconds, for each reading. */
    struct {
        uint32_t leaf; /* its subleaf 0 */
        struct cpuid_leaf read;
    } kept[CPUID_KEPT];
    uint32_t kept_count;
    uint32_t max_basic;
    uint32_t max_extended;
    uint32_t max_structured; /* highest subleaf of leaf 7 */
    uint32_t hypervisor;     /* leaves from 4000_0000 on exist */
};

_Static_assert(sizeof(struct cpuid_reader) % 8 == 0, "cleared by words");

/* The leaf, or zeros if the source doesn't declare it. Intel CPUs answer others with junk. */
struct cpuid_leaf fastmm_cpuid_leaf(const struct cpuid_reader *reader, uint32_t leaf,
                                    uint32_t subleaf);

/* Fills cpu->cache and cpu->line. */
void fastmm_cpu_decode_caches(const struct cpuid_reader *reader, struct fastmm_cpu *cpu);

#endif
