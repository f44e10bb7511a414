/* SPDX-License-Identifier: MIT */
/*
 * Which rows an add uses.
 *
 * libc registers each thread's rseq area with the kernel, and this library uses that registration
 * or none. Detection makes no rseq system call, so a sandbox that kills on one is no danger:
 *   - __rseq_size is 0 when libc did not register (old kernel, tunable, emulator, seccomp), even
 *     where __rseq_offset looks valid;
 *   - the calling thread's cpu_id is negative when its own registration failed (and glibc lets no
 *     second thread run whose registration fails, so all are as this one);
 *   - mm_cid (Linux 6.3) is there when AT_RSEQ_FEATURE_SIZE covers it; __rseq_size of older libcs
 *     doesn't count it although the kernel fills it in.
 *
 * The decision is one word, installed by compare-and-swap, and everything else follows from it, so
 * threads that race to decide agree and a fork in the middle leaves nothing half done.
 */
#define _GNU_SOURCE
#include "counter/mechanism.h"

#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "counter/topology.h"

#ifndef AT_RSEQ_FEATURE_SIZE
#    define AT_RSEQ_FEATURE_SIZE 27
#endif

struct fastmm_counter_hot FASTMM_COUNTER_NAME(fastmm_counter_hot);

/* Offsets in the kernel's struct rseq. */
enum { RSEQ_CPU_ID = 4, RSEQ_CS = 8, RSEQ_MM_CID = 24, RSEQ_MM_CID_END = 28 };

enum reason {
    REASON_NONE,
    REASON_CHOSEN,
    REASON_MM_CID,
    REASON_NO_MM_CID,
    REASON_ARCH,
    REASON_NO_LIBC,
    REASON_UNREGISTERED,
    REASON_ALIGNMENT,
    REASON_THREAD,
};

static const char *const reasons[] = {
    [REASON_NONE] = "no group has been switched yet",
    [REASON_CHOSEN] = "chosen by the caller",
    [REASON_MM_CID] = "rseq registered by libc, kernel gives concurrency ids",
    [REASON_NO_MM_CID] = "rseq registered by libc, kernel gives no concurrency ids",
    [REASON_ARCH] = "no per-CPU add for this architecture",
    [REASON_NO_LIBC] = "this libc does not offer rseq",
    [REASON_UNREGISTERED] = "libc has not registered rseq (old kernel, tunable, sandbox, emulator)",
    [REASON_ALIGNMENT] = "thread pointers of this libc are not aligned as rseq areas are",
    [REASON_THREAD] = "rseq registration of the deciding thread failed",
};

/* kind << 24 | reason << 16 | CPUs; 0 while undecided. CPUs are at most 8192. */
static uint32_t decision;
static struct fastmm_counter_seam seam;

static uint32_t pack(enum fastmm_counter_mechanism_kind kind, enum reason reason, unsigned cpus)
{
    return (uint32_t)kind << 24 | (uint32_t)reason << 16 | cpus;
}

static enum fastmm_counter_mechanism_kind kind_of(uint32_t packed)
{
    return (enum fastmm_counter_mechanism_kind)(packed >> 24);
}

static unsigned cpus_of(uint32_t packed)
{
    return packed & 0xffff;
}

/* Several shards for each CPU, so that few threads meet in one; a power of two for the hash. */
static unsigned shards(unsigned cpus)
{
    unsigned count = 16;
    while (count < 4 * cpus && count < 1024)
        count *= 2;
    return count;
}

static unsigned rows_of(uint32_t packed)
{
    unsigned cpus = cpus_of(packed);
    return kind_of(packed) == FASTMM_COUNTER_THREAD_SHARDS ? shards(cpus) : cpus;
}

#ifdef FASTMM_COUNTER_RSEQ

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

static enum reason rseq_missing(void)
{
    if (!&__rseq_size || !&__rseq_offset)
        return REASON_NO_LIBC;
    if (__rseq_size == 0 || seam.no_rseq)
        return REASON_UNREGISTERED;
    const char *area = (const char *)fastmm_counter_thread_pointer() + __rseq_offset;
    if (((uintptr_t)area | fastmm_counter_thread_pointer()) % FASTMM_COUNTER_AREA_ALIGN)
        return REASON_ALIGNMENT;
    if (*(const volatile int32_t *)(area + RSEQ_CPU_ID) < 0)
        return REASON_THREAD;
    return REASON_NONE;
}

static int has_mm_cid(void)
{
    return !seam.no_mm_cid && getauxval(AT_RSEQ_FEATURE_SIZE) >= RSEQ_MM_CID_END;
}

static intptr_t rseq_offset(void)
{
    return __rseq_offset;
}

#else

static enum reason rseq_missing(void)
{
    return REASON_ARCH;
}

static int has_mm_cid(void)
{
    return 0;
}

static intptr_t rseq_offset(void)
{
    return 0;
}

#endif

static uint32_t best(void)
{
    unsigned cpus = seam.rows ? seam.rows : fastmm_counter_possible_cpus();
    enum reason missing = rseq_missing();
    if (missing)
        return pack(FASTMM_COUNTER_THREAD_SHARDS, missing, cpus);
    if (has_mm_cid())
        return pack(FASTMM_COUNTER_RSEQ_MM_CID, REASON_MM_CID, cpus);
    return pack(FASTMM_COUNTER_RSEQ_CPU_ID, REASON_NO_MM_CID, cpus);
}

/* Idempotent: every thread that knows the decision may do it again. */
static void prepare_adds(uint32_t packed)
{
    struct fastmm_counter_hot *hot = &FASTMM_COUNTER_NAME(fastmm_counter_hot);
    enum fastmm_counter_mechanism_kind kind = kind_of(packed);
    if (kind == FASTMM_COUNTER_THREAD_SHARDS) {
        __atomic_store_n(&hot->ids, rows_of(packed), __ATOMIC_RELEASE);
        return;
    }
    intptr_t id = rseq_offset() + (kind == FASTMM_COUNTER_RSEQ_MM_CID ? RSEQ_MM_CID : RSEQ_CPU_ID);
    if (seam.area)
        id = (intptr_t)((uintptr_t)&seam.area->id - fastmm_counter_thread_pointer());
    if (__atomic_load_n(&hot->id, __ATOMIC_ACQUIRE) != id)
        __atomic_store_n(&hot->id, id, __ATOMIC_RELEASE);
}

static uint32_t install(uint32_t wanted)
{
    uint32_t undecided = 0;
    if (!__atomic_compare_exchange_n(&decision, &undecided, wanted, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        wanted = undecided;
    prepare_adds(wanted);
    return wanted;
}

enum fastmm_counter_mechanism_kind fastmm_counter_decide(void)
{
    uint32_t packed = __atomic_load_n(&decision, __ATOMIC_ACQUIRE);
    if (packed)
        prepare_adds(packed);
    else
        packed = install(best());
    return kind_of(packed);
}

int fastmm_counter_use_mechanism(enum fastmm_counter_mechanism_kind kind)
{
    if ((unsigned)kind > FASTMM_COUNTER_THREAD_SHARDS)
        return -EINVAL;
    uint32_t wanted = best();
    if (kind == FASTMM_COUNTER_THREAD_SHARDS && kind_of(wanted) != kind) {
        wanted = pack(kind, REASON_CHOSEN, cpus_of(wanted));
    } else if (kind == FASTMM_COUNTER_RSEQ_CPU_ID &&
               kind_of(wanted) == FASTMM_COUNTER_RSEQ_MM_CID) {
        wanted = pack(kind, REASON_CHOSEN, cpus_of(wanted));
    } else if (kind != FASTMM_COUNTER_UNDECIDED && kind != kind_of(wanted)) {
        return -ENOTSUP;
    }
    uint32_t now = install(wanted);
    return kind == FASTMM_COUNTER_UNDECIDED || kind_of(now) == kind ? 0 : -EBUSY;
}

unsigned fastmm_counter_cpus(void)
{
    return cpus_of(__atomic_load_n(&decision, __ATOMIC_ACQUIRE));
}

unsigned fastmm_counter_rows(void)
{
    return rows_of(__atomic_load_n(&decision, __ATOMIC_ACQUIRE));
}

unsigned fastmm_counter_rows_used(void)
{
    return __atomic_load_n(&FASTMM_COUNTER_NAME(fastmm_counter_hot).ids, __ATOMIC_ACQUIRE);
}

void fastmm_counter_leave_sequence(void)
{
#ifdef FASTMM_COUNTER_RSEQ
    struct fastmm_counter_hot *hot = &FASTMM_COUNTER_NAME(fastmm_counter_hot);
    char *tp = (char *)fastmm_counter_thread_pointer();
    intptr_t offset = __atomic_load_n(&hot->id, __ATOMIC_RELAXED);
    char *area = tp + (offset & -(intptr_t)FASTMM_COUNTER_AREA_ALIGN);
    *(volatile uint64_t *)(area + RSEQ_CS) = 0;
    if (*(const volatile int32_t *)(area + RSEQ_CPU_ID) < 0)
        return;
    uint32_t id = *(const volatile uint32_t *)(tp + offset);
    uint32_t ids = __atomic_load_n(&hot->ids, __ATOMIC_RELAXED);
    while (id >= ids && id < fastmm_counter_rows())
        if (__atomic_compare_exchange_n(&hot->ids, &ids, id + 1, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
#endif
}

void fastmm_counter_get_mechanism(struct fastmm_counter_mechanism *out)
{
    uint32_t packed = __atomic_load_n(&decision, __ATOMIC_ACQUIRE);
    out->kind = kind_of(packed);
    out->slots = rows_of(packed);
    out->used = fastmm_counter_rows_used();
    out->reason = reasons[packed >> 16 & 0xff];
}

int fastmm_counter_seam_set(const struct fastmm_counter_seam *wanted)
{
    struct fastmm_counter_hot *hot = &FASTMM_COUNTER_NAME(fastmm_counter_hot);
    if (fastmm_counter_held())
        return -EBUSY;
    seam = *wanted;
    hot->id = 0;
    hot->ids = 0;
    decision = 0;
    return 0;
}
