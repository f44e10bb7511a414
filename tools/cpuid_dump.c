/* SPDX-License-Identifier: MIT */
#include "cpuid_dump.h"

#include "text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEYWORD         "CPUID"
#define MAX_SUBLEAVES   32
#define LEAF_XSAVE      0xdu
#define LEAF_HYPERVISOR 0x40000000u
#define LEAF_EXTENDED   0x80000000u

static void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t')
        ++*at;
}

/* Up to eight hexadecimal digits, at least one. */
static bool take_hex(const char **at, uint32_t *value)
{
    unsigned digits = 0;
    *value = 0;
    for (; isxdigit((unsigned char)**at) && digits < 8; ++*at, ++digits) {
        char c = (char)tolower((unsigned char)**at);
        *value = *value << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return digits > 0 && !isxdigit((unsigned char)**at);
}

static bool take(const char **at, const char *what)
{
    size_t n = strlen(what);
    if (strncasecmp(*at, what, n) != 0)
        return false;
    *at += n;
    return true;
}

/* NULL, or what is wrong with the line. */
static const char *parse_row(const char *at, struct cpuid_dump_row *row)
{
    if (!isspace((unsigned char)*at))
        return "a blank is expected after CPUID";
    skip_blanks(&at);
    if (!take_hex(&at, &row->leaf) || !take(&at, ":"))
        return "a leaf is expected: CPUID 00000007: EAX-EBX-ECX-EDX";
    skip_blanks(&at);
    for (unsigned i = 0; i < 4; i++)
        if ((i && !take(&at, "-")) || !take_hex(&at, &row->reg[i]))
            return "four registers are expected: EAX-EBX-ECX-EDX, each up to 8 hexadecimal digits";
    if (*at && !isspace((unsigned char)*at))
        return "junk after the registers";
    skip_blanks(&at);
    row->subleaf = 0;
    if (take(&at, "[SL")) {
        skip_blanks(&at);
        if (!take_hex(&at, &row->subleaf) || !take(&at, "]"))
            return "a subleaf is expected: [SL 01]";
    }
    return NULL;
}

static const struct cpuid_dump_row *find(const struct cpuid_dump *dump, uint32_t leaf,
                                         uint32_t subleaf)
{
    for (unsigned i = 0; i < dump->count; i++)
        if (dump->rows[i].leaf == leaf && dump->rows[i].subleaf == subleaf)
            return &dump->rows[i];
    return NULL;
}

int cpuid_dump_parse(const char *file, const char *bytes, size_t size, struct cpuid_dump *dump,
                     struct tool_error *error)
{
    struct text_lines lines = {file, bytes, bytes + size, 0};
    char line[256];
    bool cut;
    dump->count = 0;
    while (text_next(&lines, line, sizeof(line), &cut)) {
        const char *at = line;
        struct cpuid_dump_row row;
        if (!take(&at, KEYWORD))
            continue;
        const char *wrong = parse_row(at, &row);
        if (wrong)
            return text_fail(&lines, error, "%s", wrong);
        if (find(dump, row.leaf, row.subleaf))
            continue;
        if (dump->count == sizeof(dump->rows) / sizeof(dump->rows[0]))
            return text_fail(&lines, error, "more than %u leaves", dump->count);
        dump->rows[dump->count++] = row;
    }
    if (!find(dump, 0, 0))
        return tool_fail(error, "%s: no line 'CPUID 00000000: EAX-EBX-ECX-EDX'", file);
    return 0;
}

int cpuid_dump_read(const char *path, struct cpuid_dump *dump, struct tool_error *error)
{
    struct text text;
    if (text_read(path, &text, error) != 0)
        return -1;
    int result = cpuid_dump_parse(path, text.bytes, text.size, dump, error);
    free(text.bytes);
    return result;
}

static void read_row(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    const struct cpuid_dump_row *row = find(ctx, leaf, subleaf);
    for (unsigned i = 0; i < 4; i++)
        regs[i] = row ? row->reg[i] : 0;
}

struct fastmm_cpuid_source cpuid_dump_source(struct cpuid_dump *dump)
{
    uint32_t regs[4];
    read_row(dump, LEAF_XSAVE, 0, regs);
    return (struct fastmm_cpuid_source){read_row, dump, (uint64_t)regs[3] << 32 | regs[0]};
}

/* Leaves whose subleaves the decoder looks at, and XSAVE. */
static bool has_subleaves(uint32_t leaf)
{
    static const uint32_t leaves[] = {0x4, 0x7, LEAF_XSAVE, 0x8000001du};
    for (unsigned i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
        if (leaves[i] == leaf)
            return true;
    return false;
}

static void write_leaf(const struct fastmm_cpuid_source *source, uint32_t leaf, FILE *out)
{
    uint32_t count = has_subleaves(leaf) ? MAX_SUBLEAVES : 1;
    for (uint32_t subleaf = 0; subleaf < count; subleaf++) {
        uint32_t r[4];
        source->read(source->ctx, leaf, subleaf, r);
        if (subleaf > 0 && !(r[0] | r[1] | r[2] | r[3]))
            continue;
        fprintf(out, KEYWORD " %08" PRIX32 ": %08" PRIX32 "-%08" PRIX32 "-%08" PRIX32 "-%08" PRIX32,
                leaf, r[0], r[1], r[2], r[3]);
        fprintf(out, count > 1 ? " [SL %02" PRIX32 "]\n" : "\n", subleaf);
    }
}

static void write_range(const struct fastmm_cpuid_source *source, uint32_t base, FILE *out)
{
    const uint32_t most = 0xff; /* no range is longer; a hypervisor may claim it is */
    uint32_t r[4];
    source->read(source->ctx, base, 0, r);
    if (r[0] < base)
        return;
    uint32_t last = r[0] - base < most ? r[0] : base + most;
    for (uint32_t leaf = base; leaf <= last; leaf++)
        write_leaf(source, leaf, out);
}

void cpuid_dump_write(const struct fastmm_cpuid_source *source, FILE *out)
{
    uint32_t r[4];
    write_range(source, 0, out);
    source->read(source->ctx, 1, 0, r);
    if (r[2] >> 31)
        write_range(source, LEAF_HYPERVISOR, out);
    write_range(source, LEAF_EXTENDED, out);
}
