/* SPDX-License-Identifier: MIT */
/* Compiled once for each compiler and set of flags (CONFIG). */
#include "gate_variants.h"

#include "gate_callee.h"

FASTMM_INLINE bool was_tracked(enum gate gate, const struct fastmm_vma *vma, fastmm_pte_t orig,
                               bool (*marker)(fastmm_pte_t pte))
{
    switch (gate) {
    case GATE_LAST:
        return marker(orig) && (vma->flags & FASTMM_VM_UFFD_WP);
    case GATE_FIRST:
        return FASTMM_UNLIKELY(vma->flags & FASTMM_VM_UFFD_WP) && marker(orig);
    case GATE_INLINE:
        return FASTMM_UNLIKELY(vma->flags & FASTMM_VM_UFFD_WP) &&
               (fastmm_marker_flags(orig) & FASTMM_MARKER_UFFD_WP);
    default:
        return marker(orig);
    }
}

FASTMM_INLINE void set_entry(enum gate gate, const struct fastmm_vma *vma, fastmm_pte_t *pte,
                             uint64_t pfn, fastmm_pte_t orig, bool (*marker)(fastmm_pte_t pte))
{
    fastmm_pte_t entry = fastmm_pte_make(pfn, vma->page_prot);
    if (FASTMM_UNLIKELY(was_tracked(gate, vma, orig, marker)))
        entry = fastmm_pte_mkuffd_wp(entry);
    *pte = entry;
}

/* Neither the entries nor what they depend on are known from one to the next. */
#define NEXT_ENTRY(s) __asm__ volatile("" : : "r"(s) : "memory")

FASTMM_INLINE void set_all(struct gate_space *s, enum gate gate, bool (*marker)(fastmm_pte_t pte))
{
    for (unsigned i = 0; i < s->entries; i++) {
        set_entry(gate, &s->vma, &s->pte[i], 4096 + i, s->orig[i], marker);
        NEXT_ENTRY(s);
    }
}

FASTMM_INLINE void count(uint32_t *count, bool locked)
{
    if (locked)
        __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    else
        ++*count;
}

/* From the root to the leaf. */
FASTMM_INLINE bool find_entry(struct gate_space *s, uint64_t addr)
{
    const uint64_t *upper = (const uint64_t *)(uintptr_t)s->top[(addr >> 39) & 511];
    if (!upper)
        return false;
    const uint64_t *middle = (const uint64_t *)(uintptr_t)upper[(addr >> 30) & 511];
    return middle && middle[(addr >> 21) & 511];
}

/*
 * A read fault on a page that is in the cache: find the entry, lock the table, take the page, count
 * it, set the entry, unlock. Locked: the table's lock, both counts of the page, the counter.
 */
FASTMM_INLINE void fault(struct gate_space *s, unsigned i, enum gate gate, bool locked,
                         bool (*marker)(fastmm_pte_t pte))
{
    uint64_t addr = s->vma.start + i * FASTMM_PAGE_SIZE;
    uint32_t open = 0;
    if (!find_entry(s, addr))
        return;
    fastmm_pte_t orig = s->orig[i];
    if (locked)
        while (!__atomic_compare_exchange_n(&s->lock, &open, 1, true, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
            open = 0;
    if (FASTMM_LIKELY(s->orig[i] == orig)) {
        count(&s->page[i].refs, locked);
        count(&s->page[i].maps, locked);
        if (locked)
            __atomic_fetch_add(&s->rss, 1, __ATOMIC_RELAXED);
        else
            s->rss++;
        set_entry(gate, &s->vma, &s->pte[i], 4096 + i, orig, marker);
    }
    if (locked)
        __atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE);
}

FASTMM_INLINE void fault_all(struct gate_space *s, enum gate gate, bool locked,
                             bool (*marker)(fastmm_pte_t pte))
{
    for (unsigned i = 0; i < s->entries; i++) {
        fault(s, i, gate, locked, marker);
        NEXT_ENTRY(s);
    }
}

#define DEFINE_RUN(p, name, gate, work)                     \
    PLACED(p, SECTION(p, JOIN2(name, CONFIG)))              \
    static void PLACED_NAME(name, p)(struct gate_space * s) \
    {                                                       \
        work(gate, MARKER(p));                              \
    }
#define SETTER(gate, marker)  set_all(s, gate, marker)
#define FAULT_0(gate, marker) fault_all(s, gate, false, marker)
#define FAULT_4(gate, marker) fault_all(s, gate, true, marker)
/* clang-format off */
#define DEFINE_JOB(job, work)                         \
    DEFINE_PLACED(DEFINE_RUN, job##_none, GATE_NONE, work)       \
    DEFINE_PLACED(DEFINE_RUN, job##_again, GATE_NONE, work)      \
    DEFINE_PLACED(DEFINE_RUN, job##_last, GATE_LAST, work)       \
    DEFINE_PLACED(DEFINE_RUN, job##_first, GATE_FIRST, work)     \
    DEFINE_PLACED(DEFINE_RUN, job##_inline, GATE_INLINE, work)
#define JOB(job)                                                                              \
    {PLACED_COPIES(job##_none), PLACED_COPIES(job##_again), PLACED_COPIES(job##_last), PLACED_COPIES(job##_first),    \
     PLACED_COPIES(job##_inline)}

DEFINE_JOB(setter, SETTER)
DEFINE_JOB(fault0, FAULT_0)
DEFINE_JOB(fault4, FAULT_4)
/* clang-format on */

extern const struct gate_variants JOIN2(gate_variants, CONFIG);
const struct gate_variants JOIN2(gate_variants, CONFIG) = {
    {JOB(setter), JOB(fault0), JOB(fault4)},
};
