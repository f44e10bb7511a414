/* SPDX-License-Identifier: MIT */
/*
 * What this CPU offers: which instructions may be used, whether the string instructions are fast,
 * and how large the caches are.
 *
 * Decoding is a pure function of a leaf source. fastmm_cpu_native() uses the CPU it runs on; a tool
 * that answers for another machine, or a test of a hypervisor that lies, brings a source of its
 * own.
 *
 * Facts come in two forms: as CPUID states them, and as they may be relied on. An instruction set
 * is usable when CPUID advertises it, the operating system saves its registers (XGETBV, Intel SDM
 * volume 1, 13.3) and everything that it builds on is usable. A cache size is believed when it is
 * plausible; the sources disagree often under hypervisors.
 */
#ifndef FASTMM_CPU_H
#define FASTMM_CPU_H

#include <fastmm/base.h>

/*
 * Every feature, in one table that makes the enum, the names and the decoder:
 *
 *   X(id, name, leaf, subleaf, register, bit, requires, xcr0, what)
 *
 * `register` is 0..3 for EAX..EDX. `requires` is a feature without which this one isn't usable
 * (itself: none); it stands above in the table. `xcr0` are the state bits that the operating system
 * must have enabled.
 *
 * Each fast form of a string instruction requires ERMS. Firmware that turns fast strings off (bit 0
 * of IA32_MISC_ENABLE) makes CPUID hide ERMS, while some CPUs go on advertising FSRM.
 */
#define FASTMM_CPU_FEATURES(X)                                                                \
    X(SSE2, "sse2", 1, 0, 3, 26, SSE2, 0, "128-bit vectors")                                  \
    X(AVX, "avx", 1, 0, 2, 28, SSE2, 0x6, "256-bit vectors, floating point")                  \
    X(AVX2, "avx2", 7, 0, 1, 5, AVX, 0x6, "256-bit vectors, integers")                        \
    X(BMI2, "bmi2", 7, 0, 1, 8, BMI2, 0, "bit fields of a run-time width")                    \
    X(AVX512F, "avx512f", 7, 0, 1, 16, AVX2, 0xe6, "512-bit vectors")                         \
    X(AVX512DQ, "avx512dq", 7, 0, 1, 17, AVX512F, 0xe6, "512-bit vectors of 64-bit integers") \
    X(AVX512CD, "avx512cd", 7, 0, 1, 28, AVX512F, 0xe6, "conflict detection")                 \
    X(AVX512BW, "avx512bw", 7, 0, 1, 30, AVX512F, 0xe6, "512-bit vectors of bytes")           \
    X(AVX512VL, "avx512vl", 7, 0, 1, 31, AVX512F, 0xe6, "masks on shorter vectors")           \
    X(ERMS, "erms", 7, 0, 1, 9, ERMS, 0, "fast rep movsb and rep stosb")                      \
    X(FSRM, "fsrm", 7, 0, 3, 4, ERMS, 0, "fast short rep movsb")                              \
    X(FZRM, "fzrm", 7, 1, 0, 10, ERMS, 0, "fast rep movsb of length 0")                       \
    X(FSRS, "fsrs", 7, 1, 0, 11, ERMS, 0, "fast short rep stosb")                             \
    X(FSRC, "fsrc", 7, 1, 0, 12, ERMS, 0, "fast short rep cmpsb and rep scasb")

enum fastmm_cpu_feature {
#define FASTMM_CPU_FEATURE_ID(id, name, leaf, subleaf, reg, bit, requires, xcr0, what) \
    FASTMM_CPU_##id,
    FASTMM_CPU_FEATURES(FASTMM_CPU_FEATURE_ID)
#undef FASTMM_CPU_FEATURE_ID
        FASTMM_CPU_FEATURE_COUNT
};

enum fastmm_cpu_vendor {
    FASTMM_CPU_VENDOR_OTHER,
    FASTMM_CPU_VENDOR_INTEL,
    FASTMM_CPU_VENDOR_AMD,
    FASTMM_CPU_VENDOR_HYGON,
    FASTMM_CPU_VENDOR_ZHAOXIN
};

/* Where a cache size is stated, most trusted first. */
enum fastmm_cpu_cache_source {
    FASTMM_CPU_CACHE_LEAF4,     /* Intel, Zhaoxin: geometry of each cache and who shares it */
    FASTMM_CPU_CACHE_LEAF8_1D,  /* AMD, Hygon: 8000_001D, the same layout */
    FASTMM_CPU_CACHE_LEAF8_5_6, /* 8000_0005 and _0006: kilobytes; L3 of the whole package */
    FASTMM_CPU_CACHE_SOURCES
};

/* What became of one source's statement about one cache. */
enum fastmm_cpu_cache_verdict {
    FASTMM_CPU_CACHE_SILENT,    /* it says nothing, or 0 */
    FASTMM_CPU_CACHE_BELIEVED,  /* it decided */
    FASTMM_CPU_CACHE_CAPPED,    /* it decided, after being cut to what one core can share */
    FASTMM_CPU_CACHE_AGREES,    /* as the source that decided */
    FASTMM_CPU_CACHE_OVERRULED, /* other than the source that decided */
    FASTMM_CPU_CACHE_ABSURD     /* no such cache exists */
};

/* One level of the data side. Sizes are bytes. */
struct fastmm_cpu_cache {
    uint64_t size; /* believed; 0: unknown, the caller needs a floor */
    uint64_t reported[FASTMM_CPU_CACHE_SOURCES]; /* 0: nothing; UINT64_MAX: 2^64 or more */
    uint32_t verdict[FASTMM_CPU_CACHE_SOURCES];  /* enum fastmm_cpu_cache_verdict */
    uint32_t
        shared; /* logical CPUs that share it at most, as the believed source says; 0: unknown */
};

/* Cache levels in struct fastmm_cpu. */
#define FASTMM_CPU_L1D          0
#define FASTMM_CPU_L2           1
#define FASTMM_CPU_L3           2
#define FASTMM_CPU_CACHE_LEVELS 3

/* One CPU. All zero, but for `name`, where there is no CPUID. Strings are printable and ended. */
struct fastmm_cpu {
    uint64_t advertised; /* bit 1 << enum fastmm_cpu_feature: CPUID has it */
    uint64_t usable;     /* the part of it that may be used; see the head of this file */
    uint64_t xcr0;       /* register state enabled by the operating system; 0: no XGETBV */
    uint32_t vendor;     /* enum fastmm_cpu_vendor */
    uint32_t family;     /* with the extended part added, as manuals name it */
    uint32_t model;
    uint32_t stepping;
    uint32_t hypervisor; /* 1: CPUID says that a hypervisor runs below */
    uint32_t line;       /* bytes of a cache line; 0: unknown */
    struct fastmm_cpu_cache cache[FASTMM_CPU_CACHE_LEVELS];
    char vendor_id[16];     /* "GenuineIntel" */
    char hypervisor_id[16]; /* "KVMKVMKVM"; empty without a hypervisor */
    char name[56];          /* the brand string, or the architecture */
};

/* One row of the feature table. */
struct fastmm_cpu_feature_info {
    const char *name;
    const char *what;
    uint64_t xcr0; /* state that the operating system must enable */
    uint32_t leaf; /* where CPUID states it */
    uint32_t subleaf;
    uint32_t reg; /* 0..3: EAX..EDX */
    uint32_t bit;
    uint32_t requires_feature; /* itself: nothing */
};

/* Where leaves are read. */
struct fastmm_cpuid_source {
    /*
     * Writes EAX, EBX, ECX, EDX of a leaf. Called for a bounded number of leaves, and only for
     * those that leaf 0, leaf 8000_0000 and leaf 7 declare to exist. May write anything.
     */
    void (*read)(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t regs[4]);
    void *ctx;
    uint64_t xcr0; /* what XGETBV returns; believed only if CPUID has OSXSAVE */
};

FASTMM_BEGIN_DECLS

/*
 * The CPU this process runs on, decoded at the first call; later calls are one load. Never NULL.
 * Safe from any thread, from signal handlers, before main and in the child of a fork; takes no lock
 * and allocates nothing. Where cores of one machine differ, it is the core of the first caller.
 */
FASTMM_API const struct fastmm_cpu *fastmm_cpu_native(void);

/* Decodes any source into *cpu. Depends on nothing else; as thread- and signal-safe as `read`. */
FASTMM_API void fastmm_cpu_decode(const struct fastmm_cpuid_source *source, struct fastmm_cpu *cpu);

/*
 * The CPU this thread runs on as a source. 0, or -ENOTSUP where there is no CPUID. Safe from any
 * thread and from signal handlers.
 */
FASTMM_API int fastmm_cpuid_native(struct fastmm_cpuid_source *source);

/* 1 if the feature may be used on *cpu, else 0; 0 for numbers outside the enum. */
FASTMM_API int fastmm_cpu_has(const struct fastmm_cpu *cpu, enum fastmm_cpu_feature feature);

/* The table row of a feature, or NULL for numbers outside the enum. */
FASTMM_API const struct fastmm_cpu_feature_info *
fastmm_cpu_describe(enum fastmm_cpu_feature feature);

/* The feature of that name ("avx2"), or -ENOENT. A NULL name has no feature. */
FASTMM_API int fastmm_cpu_feature_by_name(const char *name);

/* Short names for people, never NULL: "Intel", "leaf 4", "overruled"; "?" outside the enum. */
FASTMM_API const char *fastmm_cpu_vendor_name(uint32_t vendor);
FASTMM_API const char *fastmm_cpu_cache_source_name(uint32_t source);
FASTMM_API const char *fastmm_cpu_cache_verdict_name(uint32_t verdict);

FASTMM_END_DECLS

#endif
