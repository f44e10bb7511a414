/* SPDX-License-Identifier: MIT */
/*
 * The two primitives: every build of the normal-page lookup gives one answer for every entry, and
 * both setters one entry for every state that faults can reach. The one state that they can't
 * reach, and in which the setters differ, is pinned down too.
 */
#include "space.h"

#include <string.h>

#define ROUNDS 300000

/* --- Normal page ----------------------------------------------------------------------------- */

/* The rule as it is written, without any thought of speed. */
static uint64_t by_the_book(uint64_t highest, const struct fastmm_vma *vma, fastmm_pte_t pte,
                            bool *bad)
{
    uint64_t pfn = fastmm_pte_pfn(pte);
    *bad = false;
    if (pte & FASTMM_PTE_SPECIAL) {
        *bad = !(vma->flags & FASTMM_VM_PFNMAP) && !(vma->flags & FASTMM_VM_MIXEDMAP) &&
               pfn != FASTMM_PFN_ZERO;
        return FASTMM_PFN_NONE;
    }
    *bad = pfn > highest;
    return *bad ? FASTMM_PFN_NONE : pfn;
}

static fastmm_pte_t some_entry(uint64_t *rng, uint64_t highest)
{
    const uint64_t pfns[] = {0,
                             FASTMM_PFN_ZERO,
                             highest - 1,
                             highest,
                             highest + 1,
                             FASTMM_PFN_LIMIT - 1,
                             test_random(rng) % (highest + 1),
                             test_random(rng) % FASTMM_PFN_LIMIT};
    uint64_t prot = test_random(rng) & ~FASTMM_PTE_PFN_MASK;
    if (!(prot & FASTMM_PTE_PRESENT))
        prot |= FASTMM_PTE_PROTNONE;
    return fastmm_pte_make(pfns[test_random(rng) % 8], prot);
}

START_TEST(lookups_agree)
{
    uint64_t rng = test_seed();
    struct fastmm_frames frames = {.highest = 100000};
    uint64_t bad_entries = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const struct fastmm_vma vma = {.flags = (uint32_t)test_random(&rng)};
        fastmm_pte_t pte = some_entry(&rng, frames.highest);
        uint64_t addr = test_random(&rng);
        bool bad;
        uint64_t expect = by_the_book(frames.highest, &vma, pte, &bad);
        EQUAL(fastmm_normal_page(&frames, &vma, addr, pte), expect);
        EQUAL(fastmm_normal_page_inline(&frames, &vma, addr, pte), expect);
        EQUAL(fastmm_normal_page_call(&frames, &vma, addr, pte), expect);
        bad_entries += bad ? 3 : 0;
        EQUAL(frames.bad.count, bad_entries);
        if (bad) {
            EQUAL(frames.bad.pte, pte);
            EQUAL(frames.bad.addr, addr);
            EQUAL(frames.bad.vma_flags, vma.flags);
        }
    }
    HOLDS(bad_entries > 0);
}
END_TEST

/* --- Setters --------------------------------------------------------------------------------- */

typedef void (*setter)(const struct fastmm_vma *vma, fastmm_pte_t *ptes, uint64_t pfn, size_t n,
                       unsigned flags, fastmm_pte_t orig);

static void inlined_first(const struct fastmm_vma *vma, fastmm_pte_t *ptes, uint64_t pfn, size_t n,
                          unsigned flags, fastmm_pte_t orig)
{
    fastmm_set_range(vma, ptes, pfn, n, flags, orig);
}

static void inlined_last(const struct fastmm_vma *vma, fastmm_pte_t *ptes, uint64_t pfn, size_t n,
                         unsigned flags, fastmm_pte_t orig)
{
    fastmm_set_range_gate_last(vma, ptes, pfn, n, flags, orig);
}

static const setter setters[] = {inlined_first, inlined_last, fastmm_set_range_call,
                                 fastmm_set_range_gate_last_call};

/* What a setter must store, entry by entry. */
static fastmm_pte_t expected(const struct fastmm_vma *vma, uint64_t pfn, unsigned flags, bool wp)
{
    bool write = flags & FASTMM_SET_WRITE;
    uint64_t bits = vma->page_prot;
    if (write && (vma->flags & FASTMM_VM_WRITE))
        bits |= FASTMM_PTE_RW;
    if (wp)
        bits = (bits & ~FASTMM_PTE_RW) | FASTMM_PTE_UFFD_WP;
    if (write)
        bits |= bits & FASTMM_PTE_RW ? FASTMM_PTE_DIRTY : FASTMM_PTE_SAVED_DIRTY;
    return fastmm_pte_make(pfn, bits);
}

/* A mapping and what a fault in it may have found: never a uffd-wp marker without registration. */
static void reachable(uint64_t *rng, struct fastmm_vma *vma, unsigned *flags, fastmm_pte_t *orig)
{
    static const uint64_t prots[] = {FASTMM_PROT_SHARED, FASTMM_PROT_READONLY,
                                     FASTMM_PROT_READONLY & ~FASTMM_PTE_NX};
    *vma = (struct fastmm_vma){.flags = (uint32_t)test_random(rng) & 0xffff};
    vma->page_prot = prots[test_random(rng) % 3];
    *flags = (unsigned)test_random(rng) & (FASTMM_SET_WRITE | FASTMM_SET_ORIG_VALID);
    *orig = vma->flags & FASTMM_VM_UFFD_WP && test_random(rng) % 2
                ? fastmm_marker_make(FASTMM_MARKER_UFFD_WP)
                : 0;
    if (!(*flags & FASTMM_SET_ORIG_VALID))
        *orig = test_random(rng); /* meaningless, and must not matter */
}

START_TEST(setters_agree)
{
    uint64_t rng = test_seed();
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct fastmm_vma vma;
        unsigned flags;
        fastmm_pte_t orig, ptes[FASTMM_PTES + 2];
        reachable(&rng, &vma, &flags, &orig);
        bool wp = (flags & FASTMM_SET_ORIG_VALID) && orig;
        uint64_t pfn = test_random(&rng) % (FASTMM_PFN_LIMIT - FASTMM_PTES);
        size_t n = i % 16 ? test_random(&rng) % 20 : test_random(&rng) % (FASTMM_PTES + 1);
        for (size_t s = 0; s < sizeof(setters) / sizeof(setters[0]); s++) {
            memset(ptes, 0x5a, sizeof(ptes));
            setters[s](&vma, ptes + 1, pfn, n, flags, orig);
            for (size_t j = 0; j < n; j++)
                EQUAL(ptes[1 + j], expected(&vma, pfn + j, flags, wp));
            EQUAL(ptes[0], UINT64_C(0x5a5a5a5a5a5a5a5a));
            EQUAL(ptes[1 + n], UINT64_C(0x5a5a5a5a5a5a5a5a));
        }
    }
}
END_TEST

/* A marker left in a mapping that isn't registered: a fault clears it before any setter runs. */
START_TEST(unreachable_difference)
{
    struct fastmm_vma vma = {.flags = RW, .page_prot = FASTMM_PROT_READONLY};
    fastmm_pte_t marker = fastmm_marker_make(FASTMM_MARKER_UFFD_WP), first, last;
    unsigned flags = FASTMM_SET_WRITE | FASTMM_SET_ORIG_VALID;
    fastmm_set_range(&vma, &first, 600, 1, flags, marker);
    fastmm_set_range_gate_last(&vma, &last, 600, 1, flags, marker);
    HOLDS(!fastmm_pte_uffd_wp(first) && fastmm_pte_write(first));
    HOLDS(fastmm_pte_uffd_wp(last) && !fastmm_pte_write(last));
}
END_TEST

/* The one comparison says what decoding says, for junk and for what is next to a marker. */
START_TEST(marker_by_one_comparison)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < 1000000; i++) {
        uint64_t bits = test_random(&seed), few = UINT64_C(1) << test_random(&seed) % 64;
        fastmm_pte_t pte =
            bits % 2 ? bits : fastmm_marker_make(bits / 2 % 8) ^ (bits & 16 ? few : 0);
        EQUAL(fastmm_is_uffd_wp_marker(pte),
              (fastmm_marker_flags(pte) & FASTMM_MARKER_UFFD_WP) != 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.normal");
    TCase *tcase = tcase_create("primitives");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, lookups_agree);
    tcase_add_test(tcase, setters_agree);
    tcase_add_test(tcase, unreachable_difference);
    tcase_add_test(tcase, marker_by_one_comparison);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
