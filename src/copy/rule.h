/* SPDX-License-Identifier: MIT */
/*
 * What was measured of rep movsb and rep stosb, part by part. The feature bits alone say little:
 * parts that advertise the same bits differ by a factor of twenty.
 */
#ifndef FASTMM_SRC_COPY_RULE_H
#define FASTMM_SRC_COPY_RULE_H

#include <fastmm/cpu.h>

/* A window of sizes. From `bytes`, or from a multiple of a cache's size if `cache_8ths` isn't 0. */
struct fastmm_copy_rep_start {
    uint64_t bytes;       /* FASTMM_COPY_NEVER: rep isn't used; the fallback for an unknown cache */
    uint32_t cache_level; /* FASTMM_CPU_L1D... */
    uint32_t cache_8ths;
    uint32_t why; /* enum fastmm_copy_reason */
};

struct fastmm_copy_rule {
    uint32_t vendor;       /* enum fastmm_cpu_vendor */
    uint32_t family_first; /* families it covers, inclusive */
    uint32_t family_last;
    uint64_t needs; /* features that must be usable */
    struct fastmm_copy_rep_start copy, fill;
    uint32_t copy_streams; /* 1: rep movsb goes on winning where streaming would start */
    uint32_t alias_first;  /* slow zone of (dst - src) & 4095; empty when first > last */
    uint32_t alias_last;
    uint32_t align;                /* slow unless the destination is aligned so */
    uint32_t vectors_align_source; /* 1: loads that cross lines cost 64-byte vectors most */
};

/* The rule for a CPU; never NULL. */
const struct fastmm_copy_rule *fastmm_copy_rule_for(const struct fastmm_cpu *cpu, uint64_t usable);

#endif
