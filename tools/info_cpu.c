/* SPDX-License-Identifier: MIT */
#include "info.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const level_names[FASTMM_CPU_CACHE_LEVELS] = {"L1 data", "L2", "L3"};
static const char *const level_keys[FASTMM_CPU_CACHE_LEVELS] = {"l1d", "l2", "l3"};
static const char *const source_keys[FASTMM_CPU_CACHE_SOURCES] = {"leaf_4", "leaf_8000_001d",
                                                                  "leaf_8000_0005_6"};

static const struct {
    const char *id, *name;
} hypervisors[] = {
    {"KVMKVMKVM", "KVM"},           {"Linux KVM Hv", "KVM"},  {"Microsoft Hv", "Hyper-V"},
    {"VMwareVMware", "VMware"},     {"XenVMMXenVMM", "Xen"},  {"TCGTCGTCGTCG", "QEMU's emulation"},
    {"bhyve bhyve ", "bhyve"},      {"ACRNACRNACRN", "ACRN"}, {"QNXQVMBSQG", "QNX"},
    {"VBoxVBoxVBox", "VirtualBox"},
};

static const struct {
    uint64_t bits;
    const char *name;
} states[] = {{0x1, "x87"}, {0x2, "SSE"}, {0x4, "AVX"}, {0xe0, "AVX-512"}, {0x60000, "AMX"}};

static const char *hypervisor_name(const struct fastmm_cpu *cpu)
{
    for (unsigned i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++)
        if (strcmp(hypervisors[i].id, cpu->hypervisor_id) == 0)
            return hypervisors[i].name;
    return cpu->hypervisor_id[0] ? cpu->hypervisor_id : "a hypervisor without a name";
}

static bool advertised(const struct fastmm_cpu *cpu, unsigned feature)
{
    return cpu->advertised >> feature & 1;
}

/* Why a feature may not be used, in words. */
static void explain(const struct fastmm_cpu *cpu, const struct fastmm_cpu_feature_info *info,
                    unsigned feature, char *why, size_t size)
{
    if (!advertised(cpu, feature))
        snprintf(why, size, "the CPU doesn't advertise it");
    else if ((cpu->xcr0 & info->xcr0) != info->xcr0)
        snprintf(why, size, "the operating system doesn't save its registers");
    else
        snprintf(why, size, "it needs %s, which is not usable",
                 fastmm_cpu_describe((enum fastmm_cpu_feature)info->requires_feature)->name);
}

static void identity_text(const struct fastmm_cpu *cpu)
{
    printf("%-*s%s\n", INFO_INDENT, "CPU", cpu->name[0] ? cpu->name : "(no brand string)");
    if (!cpu->vendor_id[0])
        return; /* not x86 */
    printf("%-*s%s (%s), family %02" PRIX32 "h, model %02" PRIX32 "h, stepping %" PRIX32 "h\n",
           INFO_INDENT, "", fastmm_cpu_vendor_name(cpu->vendor), cpu->vendor_id, cpu->family,
           cpu->model, cpu->stepping);
    if (cpu->hypervisor)
        printf("%-*sunder %s: what follows is what it shows\n", INFO_INDENT, "",
               hypervisor_name(cpu));
    printf("%-*s", INFO_INDENT, "State saved");
    const char *separator = "";
    for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if ((cpu->xcr0 & states[i].bits) == states[i].bits) {
            printf("%s%s", separator, states[i].name);
            separator = ", ";
        }
    if (cpu->xcr0)
        printf(" (XCR0 %#" PRIx64 ")\n", cpu->xcr0);
    else
        printf("no more than x87 and SSE (no XGETBV)\n");
}

static void features_text(const struct fastmm_cpu *cpu)
{
    printf("\n%-*susable\n", INFO_INDENT, "Features");
    for (unsigned f = 0; f < FASTMM_CPU_FEATURE_COUNT; f++) {
        const struct fastmm_cpu_feature_info *info =
            fastmm_cpu_describe((enum fastmm_cpu_feature)f);
        char why[96];
        if (fastmm_cpu_has(cpu, (enum fastmm_cpu_feature)f)) {
            printf("  %-14syes     %s\n", info->name, info->what);
        } else {
            explain(cpu, info, f, why, sizeof(why));
            printf("  %-14sno      %s: %s\n", info->name, info->what, why);
        }
    }
}

static void cache_text(const struct fastmm_cpu_cache *cache, const char *name)
{
    struct tool_size size;
    printf("  %-14s%-12s", name, cache->size ? tool_size(&size, cache->size) : "unknown");
    for (unsigned s = 0; s < FASTMM_CPU_CACHE_SOURCES; s++) {
        char cell[48] = "-";
        if (cache->reported[s] == UINT64_MAX)
            snprintf(cell, sizeof(cell), "2^64 or more, absurd");
        else if (cache->reported[s])
            snprintf(cell, sizeof(cell), "%s, %s", tool_size(&size, cache->reported[s]),
                     fastmm_cpu_cache_verdict_name(cache->verdict[s]));
        printf(s + 1 < FASTMM_CPU_CACHE_SOURCES ? "%-22s" : "%s\n", cell);
    }
}

static void caches_text(const struct fastmm_cpu *cpu)
{
    printf("\n%-*s%-12s", INFO_INDENT, "Caches", "taken as");
    for (unsigned s = 0; s < FASTMM_CPU_CACHE_SOURCES; s++)
        printf(s + 1 < FASTMM_CPU_CACHE_SOURCES ? "%-22s" : "%s\n",
               fastmm_cpu_cache_source_name(s));
    for (unsigned level = 0; level < FASTMM_CPU_CACHE_LEVELS; level++)
        cache_text(&cpu->cache[level], level_names[level]);
    if (cpu->line)
        printf("  %-14s%" PRIu32 " B\n", "line", cpu->line);
    else
        printf("  %-14sunknown\n", "line");
}

void info_cpu_text(const struct fastmm_cpu *cpu)
{
    identity_text(cpu);
    if (!cpu->vendor_id[0])
        return;
    features_text(cpu);
    caches_text(cpu);
}

static void caches_json(const struct fastmm_cpu *cpu, struct json *json)
{
    json_array(json, "caches");
    for (unsigned level = 0; level < FASTMM_CPU_CACHE_LEVELS; level++) {
        const struct fastmm_cpu_cache *cache = &cpu->cache[level];
        json_object(json, NULL);
        json_string(json, "level", level_keys[level]);
        json_uint(json, "size", cache->size);
        json_uint(json, "shared", cache->shared);
        json_object(json, "sources");
        for (unsigned s = 0; s < FASTMM_CPU_CACHE_SOURCES; s++) {
            json_object(json, source_keys[s]);
            json_uint(json, "reported", cache->reported[s]);
            json_string(json, "verdict", fastmm_cpu_cache_verdict_name(cache->verdict[s]));
            json_object_end(json);
        }
        json_object_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

static void features_json(const struct fastmm_cpu *cpu, struct json *json)
{
    json_object(json, "features");
    for (unsigned f = 0; f < FASTMM_CPU_FEATURE_COUNT; f++) {
        const struct fastmm_cpu_feature_info *info =
            fastmm_cpu_describe((enum fastmm_cpu_feature)f);
        char why[96];
        bool usable = fastmm_cpu_has(cpu, (enum fastmm_cpu_feature)f);
        explain(cpu, info, f, why, sizeof(why));
        json_object(json, info->name);
        json_bool(json, "advertised", advertised(cpu, f));
        json_bool(json, "usable", usable);
        json_string(json, "why_not", usable ? NULL : why);
        json_object_end(json);
    }
    json_object_end(json);
}

void info_cpu_json(const struct fastmm_cpu *cpu, struct json *json)
{
    json_object(json, "cpu");
    json_string(json, "name", cpu->name);
    json_string(json, "vendor", fastmm_cpu_vendor_name(cpu->vendor));
    json_string(json, "vendor_id", cpu->vendor_id);
    json_uint(json, "family", cpu->family);
    json_uint(json, "model", cpu->model);
    json_uint(json, "stepping", cpu->stepping);
    json_string(json, "hypervisor", cpu->hypervisor ? hypervisor_name(cpu) : NULL);
    json_uint(json, "xcr0", cpu->xcr0);
    json_uint(json, "cache_line", cpu->line);
    json_object_end(json);
    features_json(cpu, json);
    caches_json(cpu, json);
}
