/* SPDX-License-Identifier: MIT */
#include "cpuid_values.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLES 32

static struct cpuid_table tables[MAX_TABLES];
static unsigned table_count;

/* Not Check's assertions: main() asks for the count before any test runs. */
static void __attribute__((format(printf, 1, 2), noreturn)) give_up(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", FASTMM_CPUID_VALUES);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

static struct cpuid_table *table_named(const char *name)
{
    for (unsigned i = 0; i < table_count; i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    if (table_count == MAX_TABLES)
        give_up("more than %d CPUs", MAX_TABLES);
    struct cpuid_table *t = &tables[table_count++];
    snprintf(t->name, sizeof(t->name), "%s", name);
    return t;
}

static void load(void)
{
    if (table_count)
        return;
    FILE *f = fopen(FASTMM_CPUID_VALUES, "r");
    if (!f)
        give_up("cannot be read");
    char line[256], name[32];
    while (fgets(line, sizeof(line), f)) {
        struct cpuid_row r;
        if (line[0] == '#' || strncmp(line, "cpu,", 4) == 0)
            continue;
        int n = sscanf(
            line, "%31[^,],%" SCNx32 ",%" SCNu32 ",%" SCNx32 ",%" SCNx32 ",%" SCNx32 ",%" SCNx32,
            name, &r.leaf, &r.subleaf, &r.reg[0], &r.reg[1], &r.reg[2], &r.reg[3]);
        if (n != 7)
            give_up("not a row: %s", line);
        struct cpuid_table *t = table_named(name);
        for (unsigned i = 0; i < 4; i++)
            *cpuid_reg(t, r.leaf, r.subleaf, i) = r.reg[i];
        if (r.leaf == 0xd && r.subleaf == 0)
            t->xcr0 = (uint64_t)r.reg[EDX] << 32 | r.reg[EAX];
    }
    fclose(f);
}

unsigned cpuid_values_count(void)
{
    load();
    return table_count;
}

struct cpuid_table cpuid_values_at(unsigned number)
{
    load();
    if (number >= table_count)
        give_up("no CPU %u", number);
    return tables[number];
}

struct cpuid_table cpuid_values(const char *name)
{
    load();
    for (unsigned i = 0; i < table_count; i++)
        if (strcmp(tables[i].name, name) == 0)
            return tables[i];
    give_up("no CPU '%s'", name);
}

static struct cpuid_row *find_row(struct cpuid_table *table, uint32_t leaf, uint32_t subleaf)
{
    for (unsigned i = 0; i < table->count; i++)
        if (table->rows[i].leaf == leaf && table->rows[i].subleaf == subleaf)
            return &table->rows[i];
    return NULL;
}

uint32_t *cpuid_reg(struct cpuid_table *table, uint32_t leaf, uint32_t subleaf, unsigned reg)
{
    struct cpuid_row *row = find_row(table, leaf, subleaf);
    if (!row) {
        if (table->count == sizeof(table->rows) / sizeof(table->rows[0]))
            give_up("too many leaves in '%s'", table->name);
        row = &table->rows[table->count++];
        *row = (struct cpuid_row){leaf, subleaf, {0, 0, 0, 0}};
    }
    return &row->reg[reg];
}

static void read_table(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    const struct cpuid_row *row = find_row(ctx, leaf, subleaf);
    memset(regs, 0, 4 * sizeof(regs[0]));
    if (row)
        memcpy(regs, row->reg, sizeof(row->reg));
}

struct fastmm_cpuid_source cpuid_source(struct cpuid_table *table)
{
    return (struct fastmm_cpuid_source){read_table, table, table->xcr0};
}

struct fastmm_cpu cpuid_decode(struct cpuid_table *table)
{
    struct fastmm_cpuid_source source = cpuid_source(table);
    struct fastmm_cpu cpu;
    fastmm_cpu_decode(&source, &cpu);
    return cpu;
}
