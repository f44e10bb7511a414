/* SPDX-License-Identifier: MIT */
#include "parts.h"

#include "host.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#undef fastmm_normal_page
#undef fastmm_set_range

#define ROUNDS 200000u

static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A present leaf, at and around everything that is decided by comparing. */
static fastmm_pte_t some_leaf(uint64_t *rng, uint64_t highest)
{
    const uint64_t pfns[] = {
        0,           FASTMM_PFN_ZERO,      highest - 1,         highest,
        highest + 1, FASTMM_PFN_LIMIT - 1, next(rng) % highest, next(rng) % FASTMM_PFN_LIMIT};
    uint64_t bits = next(rng) & ~FASTMM_PTE_PFN_MASK;
    if (!(bits & FASTMM_PTE_PRESENT))
        bits |= FASTMM_PTE_PROTNONE;
    return fastmm_pte_make(pfns[next(rng) % 8], bits);
}

static bool lookups_equal(const struct fastmm_try *user, uint64_t seed)
{
    struct fastmm_frames ours = {.highest = 100000}, theirs = {.highest = 100000};
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct fastmm_vma vma = {.flags = (uint32_t)next(&seed)};
        fastmm_pte_t pte = some_leaf(&seed, ours.highest);
        uint64_t expected = fastmm_normal_page_call(&ours, &vma, i, pte);
        uint64_t got = user->normal_page(&theirs, &vma, i, pte);
        if (got != expected || memcmp(&ours.bad, &theirs.bad, sizeof(ours.bad)) != 0) {
            printf("normal_page: entry %#" PRIx64 " in a mapping with flags %#" PRIx32 ": %#" PRIx64
                   ", expected %#" PRIx64 "; bad entries %" PRIu64 ", expected %" PRIu64 "\n",
                   pte, vma.flags, got, expected, theirs.bad.count, ours.bad.count);
            return false;
        }
    }
    printf("normal_page: equal for %u entries\n", ROUNDS);
    return true;
}

/* A mapping and what a fault in it may find: no marker of tracking without registration. */
static void some_fault(uint64_t *rng, struct fastmm_vma *vma, unsigned *flags, fastmm_pte_t *orig)
{
    static const uint64_t prots[] = {FASTMM_PROT_SHARED, FASTMM_PROT_READONLY,
                                     FASTMM_PROT_READONLY & ~FASTMM_PTE_NX};
    *vma = (struct fastmm_vma){.flags = (uint32_t)next(rng), .page_prot = prots[next(rng) % 3]};
    *flags = (unsigned)next(rng) & (FASTMM_SET_WRITE | FASTMM_SET_ORIG_VALID);
    *orig = 0;
    if (!(*flags & FASTMM_SET_ORIG_VALID))
        *orig = next(rng); /* meaningless, and must not matter */
    else if ((vma->flags & FASTMM_VM_UFFD_WP) && next(rng) % 2)
        *orig = fastmm_marker_make(FASTMM_MARKER_UFFD_WP);
}

static bool setters_equal(const struct fastmm_try *user, uint64_t seed)
{
    for (unsigned i = 0; i < ROUNDS / 8; i++) {
        fastmm_pte_t ours[FASTMM_PTES + 2], theirs[FASTMM_PTES + 2], orig;
        struct fastmm_vma vma;
        unsigned flags;
        some_fault(&seed, &vma, &flags, &orig);
        uint64_t pfn = next(&seed) % (FASTMM_PFN_LIMIT - FASTMM_PTES);
        size_t n = i % 16 ? next(&seed) % 20 : next(&seed) % (FASTMM_PTES + 1);
        memset(ours, 0x5a, sizeof(ours));
        memset(theirs, 0x5a, sizeof(theirs));
        fastmm_set_range_call(&vma, ours + 1, pfn, n, flags, orig);
        user->set_range(&vma, theirs + 1, pfn, n, flags, orig);
        for (size_t j = 0; j < FASTMM_PTES + 2; j++)
            if (ours[j] != theirs[j]) {
                printf("set_range: %zu entries from frame %#" PRIx64 ", flags %u, found %#" PRIx64
                       ", in a mapping with flags %#" PRIx32 ": number %td is %#" PRIx64
                       ", expected %#" PRIx64 "\n",
                       n, pfn, flags, orig, vma.flags, (ptrdiff_t)j - 1, theirs[j], ours[j]);
                return false;
            }
    }
    printf("set_range: equal for %u ranges\n", ROUNDS / 8);
    return true;
}

bool try_equal(const struct fastmm_try *user, uint64_t seed)
{
    bool equal = true;
    if (user->normal_page)
        equal = lookups_equal(user, seed) && equal;
    if (user->set_range)
        equal = setters_equal(user, seed) && equal;
    return equal;
}
