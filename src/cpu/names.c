/* SPDX-License-Identifier: MIT */
/* The tables by which people and tools call features, vendors and cache sources. */
#include "text.h"

#include <errno.h>
#include <fastmm/cpu.h>

#define NAME_OF(table, i) ((i) < sizeof(table) / sizeof((table)[0]) ? (table)[i] : "?")

static const struct fastmm_cpu_feature_info features[FASTMM_CPU_FEATURE_COUNT] = {
#define FEATURE_INFO(id, name, leaf, subleaf, reg, bit, requires, xcr0, what) \
    {name, what, xcr0, leaf, subleaf, reg, bit, FASTMM_CPU_##requires},
    FASTMM_CPU_FEATURES(FEATURE_INFO)
#undef FEATURE_INFO
};

static const char *const vendor_names[] = {"other", "Intel", "AMD", "Hygon", "Zhaoxin"};

static const char *const source_names[FASTMM_CPU_CACHE_SOURCES] = {"leaf 4", "leaf 8000_001D",
                                                                   "leaves 8000_0005/6"};

static const char *const verdict_names[] = {"silent", "believed",  "capped",
                                            "agrees", "overruled", "absurd"};

int fastmm_cpu_has(const struct fastmm_cpu *cpu, enum fastmm_cpu_feature feature)
{
    return (unsigned)feature < FASTMM_CPU_FEATURE_COUNT && (cpu->usable >> (unsigned)feature & 1);
}

const struct fastmm_cpu_feature_info *fastmm_cpu_describe(enum fastmm_cpu_feature feature)
{
    return (unsigned)feature < FASTMM_CPU_FEATURE_COUNT ? &features[feature] : NULL;
}

int fastmm_cpu_feature_by_name(const char *name)
{
    for (int f = 0; name && f < FASTMM_CPU_FEATURE_COUNT; f++)
        if (same_text(name, features[f].name))
            return f;
    return -ENOENT;
}

const char *fastmm_cpu_vendor_name(uint32_t vendor)
{
    return NAME_OF(vendor_names, vendor);
}

const char *fastmm_cpu_cache_source_name(uint32_t source)
{
    return NAME_OF(source_names, source);
}

const char *fastmm_cpu_cache_verdict_name(uint32_t verdict)
{
    return NAME_OF(verdict_names, verdict);
}
