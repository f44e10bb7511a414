/* SPDX-License-Identifier: MIT */
/*
 * CPUID leaves as text, so that the tool answers for a CPU that isn't here:
 *
 *   CPUID 00000007: 00000001-F1BF97A9-00415FCE-10000010 [SL 00]
 *
 * EAX, EBX, ECX, EDX in hexadecimal; "[SL nn]" is the subleaf, also hexadecimal, 0 without. Lines
 * that don't start with "CPUID" are skipped, as is what follows the registers: dumps made by
 * diagnostic programs carry much else. They also list every logical CPU; the first statement of a
 * leaf counts.
 */
#ifndef FASTMM_TOOLS_CPUID_DUMP_H
#define FASTMM_TOOLS_CPUID_DUMP_H

#include "tool.h"

#include <fastmm/cpu.h>
#include <stdio.h>

struct cpuid_dump_row {
    uint32_t leaf, subleaf, reg[4];
};

struct cpuid_dump {
    unsigned count;
    struct cpuid_dump_row rows[512];
};

/* 0, or -1 with *error naming file and line; *dump is then unusable. */
int cpuid_dump_parse(const char *file, const char *bytes, size_t size, struct cpuid_dump *dump,
                     struct tool_error *error);
int cpuid_dump_read(const char *path, struct cpuid_dump *dump, struct tool_error *error);

/*
 * The dump as a source, valid as long as it. Leaves that it lacks read as zero. It doesn't say what
 * the operating system enabled, so that is taken to be all that leaf 0000_000D offers.
 */
struct fastmm_cpuid_source cpuid_dump_source(struct cpuid_dump *dump);

/* Writes every leaf that the source declares. */
void cpuid_dump_write(const struct fastmm_cpuid_source *source, FILE *out);

#endif
