/* SPDX-License-Identifier: MIT */
/*
 * The CPU this process runs on, decoded once.
 *
 * The first caller may be a signal handler that interrupted the first caller, or one of many
 * threads, so that nobody may wait for anybody. Every caller that finds the record unpublished
 * decodes for itself and then puts each word that isn't zero in place by compare-and-exchange from
 * zero. Invariant: a word changes at most once, from zero, before `published` is set. A straggler
 * that is still at it then finds no zero to exchange: after publication nothing is written, and
 * plain reads are safe. Where cores of one machine differ, racing first callers may each place some
 * words; each word is then still that of a core which is there.
 */
#include "base/words.h"

#include <errno.h>
#include <fastmm/cpu.h>

#if defined(__x86_64__)
#    include <cpuid.h>

static void read_cpuid(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    (void)ctx;
    __cpuid_count(leaf, subleaf, regs[0], regs[1], regs[2], regs[3]);
}

static uint64_t read_xcr0(void)
{
    uint32_t regs[4], low, high;
    __cpuid_count(1, 0, regs[0], regs[1], regs[2], regs[3]);
    if (!(regs[2] & bit_OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

int fastmm_cpuid_native(struct fastmm_cpuid_source *source)
{
    *source = (struct fastmm_cpuid_source){read_cpuid, NULL, read_xcr0()};
    return 0;
}

static void decode_native(struct fastmm_cpu *cpu)
{
    struct fastmm_cpuid_source source;
    fastmm_cpuid_native(&source);
    fastmm_cpu_decode(&source, cpu);
}

#else

#    if defined(__aarch64__)
#        define ARCHITECTURE "aarch64"
#    else
#        define ARCHITECTURE "not x86-64"
#    endif

int fastmm_cpuid_native(struct fastmm_cpuid_source *source)
{
    (void)source;
    return -ENOTSUP;
}

static void decode_native(struct fastmm_cpu *cpu)
{
    static const char name[] = ARCHITECTURE;
    clear_words(cpu, sizeof(*cpu));
    for (size_t i = 0; i < sizeof(name); i++)
        __atomic_store_n(&cpu->name[i], name[i], __ATOMIC_RELAXED);
}

#endif

union record {
    struct fastmm_cpu cpu;
    uint64_t words[sizeof(struct fastmm_cpu) / sizeof(uint64_t)];
};

_Static_assert(sizeof(union record) == sizeof(struct fastmm_cpu), "no tail of a word");

static union record record;
static uint32_t published;

/*
 * Thread sanitizer takes a compare-and-exchange that fails for a write, and would report a
 * straggler against the plain reads of others.
 */
__attribute__((noinline, no_sanitize("thread"))) static void place(const union record *from)
{
    for (unsigned i = 0; i < sizeof(from->words) / sizeof(from->words[0]); i++) {
        uint64_t zero = 0;
        if (from->words[i])
            __atomic_compare_exchange_n(&record.words[i], &zero, from->words[i], 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&published, 1, __ATOMIC_RELEASE);
}

const struct fastmm_cpu *fastmm_cpu_native(void)
{
    if (FASTMM_UNLIKELY(!__atomic_load_n(&published, __ATOMIC_ACQUIRE))) {
        union record mine;
        decode_native(&mine.cpu);
        place(&mine);
    }
    return &record.cpu;
}
