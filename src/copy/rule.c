/* SPDX-License-Identifier: MIT */
/* See rule.h. The first rule that fits decides. */
#include "copy/rule.h"

#include <fastmm/copy.h>

#define FEATURE(name) ((uint64_t)1 << FASTMM_CPU_##name)
#define NEVER(why)                   \
    {                                \
        FASTMM_COPY_NEVER, 0, 0, why \
    }
#define FROM(n, why) \
    {                \
        n, 0, 0, why \
    }
#define MIB ((uint64_t)1 << 20)

static const struct fastmm_copy_rule rules[] = {
    /*
     * AMD family 1Ah (Zen 5, measured): copies of 4 KiB run at 143 GB/s against 259 of 64-byte
     * vectors, but beyond the first-level cache rep is 1.1 to 1.4 times as fast at every size, up
     * to DRAM, where it doesn't read the destination. Blocks that alias within a line lose 4 to 35
     * % and below 128 bytes a factor of 4.7; no slow zone at the sizes where rep is used. rep stosb
     * wins beyond the second-level cache, 1.2 times. Vectors run 4 to 10 % faster over an aligned
     * source than over an aligned destination (513 to 2112 bytes in the first-level cache).
     */
    {FASTMM_CPU_VENDOR_AMD,
     0x1a,
     0x1a,
     FEATURE(ERMS),
     {32768, FASTMM_CPU_L1D, 4, FASTMM_COPY_WHY_REP_CACHED},
     {2 * MIB, FASTMM_CPU_L2, 12, FASTMM_COPY_WHY_REP_CACHED},
     1,
     1,
     0,
     1,
     1},
    /*
     * AMD family 19h (Zen 3 and 4) and its Hygon kin: no better than vectors below DRAM sizes, 16
     * to 27 times slower at alias 1 to 15 (Zen 4, measured) and some 20 times with a misaligned
     * destination (Zen 3, reported), 1.67 times glibc's loop from 32 MiB on (Zen 4, measured).
     */
    {FASTMM_CPU_VENDOR_AMD,
     0x17,
     0x19,
     FEATURE(ERMS) | FEATURE(FSRM),
     {24 * MIB, 0, 0, FASTMM_COPY_WHY_REP_STREAMS},
     NEVER(FASTMM_COPY_WHY_FAMILY_SLOW_REP),
     1,
     1,
     63,
     64,
     0},
    {FASTMM_CPU_VENDOR_AMD, 0, 0x19, FEATURE(ERMS), NEVER(FASTMM_COPY_WHY_FAMILY_SLOW_REP),
     NEVER(FASTMM_COPY_WHY_FAMILY_SLOW_REP), 0, 1, 63, 64, 0},
    {FASTMM_CPU_VENDOR_HYGON, 0, UINT32_MAX, FEATURE(ERMS), NEVER(FASTMM_COPY_WHY_FAMILY_SLOW_REP),
     NEVER(FASTMM_COPY_WHY_FAMILY_SLOW_REP), 0, 1, 63, 64, 0},
    /* Intel's optimization manual, "Memory copy": slow when the destination follows the source by
     * less than a line, modulo a page. The sizes are those where C libraries switch. */
    {FASTMM_CPU_VENDOR_INTEL, 6, UINT32_MAX, FEATURE(ERMS) | FEATURE(FSRM),
     FROM(2112, FASTMM_COPY_WHY_FSRM), FROM(4096, FASTMM_COPY_WHY_ERMS), 0, 1, 63, 1, 0},
    {FASTMM_CPU_VENDOR_INTEL, 6, UINT32_MAX, FEATURE(ERMS), FROM(4096, FASTMM_COPY_WHY_ERMS),
     FROM(4096, FASTMM_COPY_WHY_ERMS), 0, 1, 63, 1, 0},
    /* Fast strings advertised, but nobody measured. */
    {FASTMM_CPU_VENDOR_OTHER, 0, 0, FEATURE(ERMS), NEVER(FASTMM_COPY_WHY_VENDOR_UNKNOWN),
     NEVER(FASTMM_COPY_WHY_VENDOR_UNKNOWN), 0, 1, 63, 1, 0},
    {FASTMM_CPU_VENDOR_OTHER, 0, 0, 0, NEVER(FASTMM_COPY_WHY_NO_ERMS),
     NEVER(FASTMM_COPY_WHY_NO_ERMS), 0, 1, 63, 1, 0},
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

/* The last two rules are for whoever is left. */
static int fits(const struct fastmm_copy_rule *rule, const struct fastmm_cpu *cpu, uint64_t usable)
{
    if ((usable & rule->needs) != rule->needs)
        return 0;
    if (rule >= &rules[RULES - 2])
        return 1;
    return rule->vendor == cpu->vendor && cpu->family >= rule->family_first &&
           cpu->family <= rule->family_last;
}

const struct fastmm_copy_rule *fastmm_copy_rule_for(const struct fastmm_cpu *cpu, uint64_t usable)
{
    const struct fastmm_copy_rule *rule = rules;
    while (rule < &rules[RULES - 1] && !fits(rule, cpu, usable))
        rule++;
    return rule;
}
