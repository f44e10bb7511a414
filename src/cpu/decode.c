/* SPDX-License-Identifier: MIT */
/*
 * From CPUID leaves to struct fastmm_cpu, without any state. Leaves can't be trusted: hypervisors
 * mask some, invent others and leave stale limits, so that every read is bounded by what the source
 * declares and every string is made printable.
 */
#include "base/words.h"
#include "leaf.h"
#include "text.h"

struct feature_place {
    uint32_t feature, leaf, subleaf, reg, bit;
};

static const struct feature_place feature_places[] = {
#define FEATURE_PLACE(id, name, leaf, subleaf, reg, bit, requires, xcr0, what) \
    {FASTMM_CPU_##id, leaf, subleaf, reg, bit},
    FASTMM_CPU_FEATURES(FEATURE_PLACE)
#undef FEATURE_PLACE
    /* AMD states two of them in a leaf of its own as well (AMD APM volume 3, E.4.17). */
    {FASTMM_CPU_FSRS, 0x80000021u, 0, CPUID_EAX, 10},
    {FASTMM_CPU_FSRC, 0x80000021u, 0, CPUID_EAX, 11},
};

static const struct {
    char id[13];
    uint32_t vendor;
} vendors[] = {
    {"GenuineIntel", FASTMM_CPU_VENDOR_INTEL},   {"AuthenticAMD", FASTMM_CPU_VENDOR_AMD},
    {"HygonGenuine", FASTMM_CPU_VENDOR_HYGON},   {"CentaurHauls", FASTMM_CPU_VENDOR_ZHAOXIN},
    {"  Shanghai  ", FASTMM_CPU_VENDOR_ZHAOXIN},
};

static int declared(const struct cpuid_reader *reader, uint32_t leaf, uint32_t subleaf)
{
    uint32_t range = leaf & CPUID_RANGE_MASK;
    if (range == CPUID_EXTENDED)
        return leaf <= reader->max_extended;
    if (range == CPUID_HYPERVISOR)
        return reader->hypervisor != 0;
    return leaf <= reader->max_basic &&
           (leaf != CPUID_STRUCTURED || subleaf <= reader->max_structured);
}

struct cpuid_leaf fastmm_cpuid_leaf(const struct cpuid_reader *reader, uint32_t leaf,
                                    uint32_t subleaf)
{
    struct cpuid_leaf l = {{0, 0, 0, 0}};
    for (uint32_t i = 0; i < reader->kept_count; i++)
        if (reader->kept[i].leaf == leaf && subleaf == 0)
            return reader->kept[i].read;
    if (declared(reader, leaf, subleaf))
        reader->source->read(reader->source->ctx, leaf, subleaf, l.reg);
    return l;
}

static struct cpuid_leaf keep_leaf(struct cpuid_reader *reader, uint32_t leaf)
{
    struct cpuid_leaf l = fastmm_cpuid_leaf(reader, leaf, 0);
    reader->kept[reader->kept_count].leaf = leaf;
    reader->kept[reader->kept_count++].read = l;
    return l;
}

/* The characters of the given registers, low byte first, printable, up to the first NUL. */
static void put_text(char *to, const uint32_t *regs, unsigned count)
{
    unsigned at = 0;
    for (unsigned i = 0; i < count * 4; i++) {
        unsigned c = (regs[i / 4] >> (i % 4 * 8)) & 0xffu;
        if (c == 0)
            break;
        to[at++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    to[at] = '\0';
}

static void decode_vendor(struct cpuid_leaf l, struct fastmm_cpu *cpu)
{
    const uint32_t id[3] = {l.reg[CPUID_EBX], l.reg[CPUID_EDX], l.reg[CPUID_ECX]};
    put_text(cpu->vendor_id, id, 3);
    for (unsigned i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
        if (same_text(cpu->vendor_id, vendors[i].id))
            cpu->vendor = vendors[i].vendor;
}

/* Intel SDM volume 2, CPUID, "Version Information"; AMD differs only where it never built parts. */
static void decode_signature(uint32_t eax, struct fastmm_cpu *cpu)
{
    cpu->stepping = eax & 0xf;
    cpu->model = eax >> 4 & 0xf;
    cpu->family = eax >> 8 & 0xf;
    if (cpu->family >= 6)
        cpu->model += (eax >> 16 & 0xf) << 4;
    if (cpu->family == 0xf)
        cpu->family += eax >> 20 & 0xff;
}

static void decode_name(const struct cpuid_reader *reader, struct fastmm_cpu *cpu)
{
    uint32_t text[12];
    for (unsigned i = 0; i < 3; i++) {
        struct cpuid_leaf l = fastmm_cpuid_leaf(reader, CPUID_EXTENDED + 2 + i, 0);
        for (unsigned r = 0; r < 4; r++)
            text[i * 4 + r] = l.reg[r];
    }
    char padded[sizeof(cpu->name)];
    put_text(padded, text, 12);

    unsigned from = 0, at = 0;
    while (padded[from] == ' ')
        from++;
    while (padded[from])
        cpu->name[at++] = padded[from++];
    while (at > 0 && cpu->name[at - 1] == ' ')
        cpu->name[--at] = '\0';
}

static void decode_features(const struct cpuid_reader *reader, struct fastmm_cpu *cpu)
{
    const struct feature_place *read = NULL; /* what l holds */
    struct cpuid_leaf l = {{0, 0, 0, 0}};
    for (unsigned i = 0; i < sizeof(feature_places) / sizeof(feature_places[0]); i++) {
        const struct feature_place *p = &feature_places[i];
        if (!read || read->leaf != p->leaf || read->subleaf != p->subleaf)
            l = fastmm_cpuid_leaf(reader, p->leaf, p->subleaf);
        read = p;
        cpu->advertised |= (uint64_t)(l.reg[p->reg] >> p->bit & 1) << p->feature;
    }
    /* A feature stands below the one it requires, so that one pass settles all. */
    for (unsigned f = 0; f < FASTMM_CPU_FEATURE_COUNT; f++) {
        const struct fastmm_cpu_feature_info *info =
            fastmm_cpu_describe((enum fastmm_cpu_feature)f);
        uint64_t self = (uint64_t)1 << f;
        uint64_t needed = (uint64_t)1 << info->requires_feature;
        if ((cpu->advertised & self) && (cpu->xcr0 & info->xcr0) == info->xcr0 &&
            ((cpu->usable | self) & needed))
            cpu->usable |= self;
    }
}

static void open_reader(struct cpuid_reader *reader, const struct fastmm_cpuid_source *source)
{
    clear_words(reader, sizeof(*reader));
    reader->source = source;
    reader->max_extended = CPUID_EXTENDED;
    reader->max_basic = keep_leaf(reader, 0).reg[CPUID_EAX];
    keep_leaf(reader, 1);
    uint32_t max = fastmm_cpuid_leaf(reader, CPUID_EXTENDED, 0).reg[CPUID_EAX];
    reader->max_extended = (max & CPUID_RANGE_MASK) == CPUID_EXTENDED ? max : 0;
    reader->max_structured = keep_leaf(reader, CPUID_STRUCTURED).reg[CPUID_EAX];
}

void fastmm_cpu_decode(const struct fastmm_cpuid_source *source, struct fastmm_cpu *cpu)
{
    const uint32_t osxsave = 1u << 27, hypervisor = 1u << 31;

    clear_words(cpu, sizeof(*cpu));
    struct cpuid_reader reader;
    open_reader(&reader, source);
    struct cpuid_leaf one = fastmm_cpuid_leaf(&reader, 1, 0);
    decode_vendor(fastmm_cpuid_leaf(&reader, 0, 0), cpu);
    decode_signature(one.reg[CPUID_EAX], cpu);
    decode_name(&reader, cpu);
    if (one.reg[CPUID_ECX] & osxsave)
        cpu->xcr0 = source->xcr0;
    if (one.reg[CPUID_ECX] & hypervisor) {
        reader.hypervisor = cpu->hypervisor = 1;
        struct cpuid_leaf l = fastmm_cpuid_leaf(&reader, CPUID_HYPERVISOR, 0);
        put_text(cpu->hypervisor_id, &l.reg[CPUID_EBX], 3);
    }
    decode_features(&reader, cpu);
    fastmm_cpu_decode_caches(&reader, cpu);
}
