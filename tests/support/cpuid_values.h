/* SPDX-License-Identifier: MIT */
/*
 * CPUID leaves as tables that tests choose and alter: real CPUs from tests/cpu/cpuid-values.csv,
 * and what a hypervisor or firmware would make of them.
 */
#ifndef FASTMM_TESTS_CPUID_VALUES_H
#define FASTMM_TESTS_CPUID_VALUES_H

#include <fastmm/cpu.h>
#include <stdint.h>

enum { EAX, EBX, ECX, EDX };

struct cpuid_row {
    uint32_t leaf, subleaf, reg[4];
};

/* Leaves without a row read as zero. */
struct cpuid_table {
    char name[32];
    uint64_t xcr0; /* all that leaf 0000_000D offers */
    unsigned count;
    struct cpuid_row rows[32];
};

/* How many CPUs the file has; they are numbered from 0. Ends the program if the file is bad. */
unsigned cpuid_values_count(void);

/* The CPU of that number, or of that name; ends the program if there is none. */
struct cpuid_table cpuid_values_at(unsigned number);
struct cpuid_table cpuid_values(const char *name);

/* A register of the table, to be changed; the row is added if it is missing. */
uint32_t *cpuid_reg(struct cpuid_table *table, uint32_t leaf, uint32_t subleaf, unsigned reg);

/* Valid as long as the table. */
struct fastmm_cpuid_source cpuid_source(struct cpuid_table *table);

/* The table decoded. */
struct fastmm_cpu cpuid_decode(struct cpuid_table *table);

#endif
