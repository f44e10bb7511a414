/* SPDX-License-Identifier: MIT */
/*
 * Entry formats: round trips over every type and random offsets, values read from a running
 * kernel (Linux 6.18, x86-64) as golden data, and the index arithmetic of addresses.
 */
#include "holds.h"

#include <fastmm/swp.h>

#include <errno.h>

#define ROUNDS 200000

/* --- Values that a running kernel had in its tables ------------------------------------------ */

START_TEST(golden_saved_dirty)
{
    /* A written page, write-protected by fork, mprotect or uffd-wp. */
    fastmm_pte_t written = UINT64_C(0x8000000123456067);
    fastmm_pte_t protect = fastmm_pte_wrprotect(written);
    EQUAL(protect, UINT64_C(0x8400000123456025));
    HOLDS(fastmm_pte_dirty(protect));
    HOLDS(!fastmm_pte_write(protect));
    EQUAL(fastmm_pte_mkwrite(protect), written);
}
END_TEST

START_TEST(golden_prot_none)
{
    fastmm_pte_t page = fastmm_pte_mkdirty(fastmm_pte_make(0x128ed4, FASTMM_PROT_SHARED));
    fastmm_pte_t none = fastmm_pte_modify(page, FASTMM_PROT_NONE);
    EQUAL(none, UINT64_C(0x040ffffed712b120));
    EQUAL(fastmm_pte_pfn(none), 0x128ed4);
    HOLDS(fastmm_pte_present(none));
    HOLDS(fastmm_pte_protnone(none));
    EQUAL(fastmm_pte_modify(none, FASTMM_PROT_SHARED), page);
}
END_TEST

START_TEST(golden_swap)
{
    static const struct {
        unsigned type;
        uint64_t offset, flags, raw;
    } seen[] = {
        {0, 1, FASTMM_SWP_UFFD_WP | FASTMM_SWP_EXCLUSIVE, UINT64_C(0x07fffffffffffc0c)},
        {0, 4, FASTMM_SWP_EXCLUSIVE, UINT64_C(0x07fffffffffff608)},
        {0, 4, 0, UINT64_C(0x07fffffffffff600)},
    };
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        fastmm_pte_t pte;
        EQUAL(fastmm_swp_encode(seen[i].type, seen[i].offset, seen[i].flags, &pte), 0);
        EQUAL(pte, seen[i].raw);
    }
}
END_TEST

START_TEST(golden_markers)
{
    EQUAL(fastmm_marker_make(FASTMM_MARKER_UFFD_WP), UINT64_C(0xfffffffffffffc00));
    EQUAL(fastmm_marker_make(FASTMM_MARKER_POISON), UINT64_C(0xfffffffffffffa00));
    EQUAL(fastmm_marker_make(FASTMM_MARKER_GUARD), UINT64_C(0xfffffffffffff600));
    EQUAL(fastmm_marker_make(0), 0);
}
END_TEST

START_TEST(golden_special)
{
    /* The vvar page: P|US|A|SPECIAL|NX. */
    fastmm_pte_t vvar = fastmm_pte_mkspecial(fastmm_pte_make(0x7000, FASTMM_PROT_READONLY));
    EQUAL(vvar, UINT64_C(0x8000000007000225));
}
END_TEST

/* --- Round trips ----------------------------------------------------------------------------- */

static void check_swap(unsigned type, uint64_t offset, uint64_t flags)
{
    fastmm_pte_t pte = 0;
    EQUAL(fastmm_swp_encode(type, offset, flags, &pte), 0);
    EQUAL(fastmm_swp_type(pte), type);
    EQUAL(fastmm_swp_offset(pte), offset);
    EQUAL(pte & FASTMM_SWP_FLAGS, flags);
    HOLDS(!fastmm_pte_none(pte));
    HOLDS(!fastmm_pte_present(pte));
    HOLDS(fastmm_pte_is_swp(pte));
    EQUAL(pte & (1u << 0 | 1u << 7 | 1u << 8), 0);
    HOLDS(!fastmm_pte_none(pte & ~FASTMM_SWP_FLAGS));
}

START_TEST(swap_round_trip)
{
    uint64_t rng = test_seed();
    for (unsigned type = 0; type <= FASTMM_SWP_TYPE_MAX; type++)
        for (uint64_t flags = 0; flags <= FASTMM_SWP_FLAGS; flags += 2) {
            check_swap(type, 0, flags);
            check_swap(type, FASTMM_SWP_OFFSET_MAX - 1, flags);
            for (int i = 0; i < 2000; i++)
                check_swap(type, test_random(&rng) & (FASTMM_SWP_OFFSET_MAX >> 1), flags);
        }
}
END_TEST

START_TEST(swap_refuses)
{
    fastmm_pte_t pte = 42;
    EQUAL(fastmm_swp_encode(32, 0, 0, &pte), -EINVAL);
    EQUAL(fastmm_swp_encode(0, FASTMM_SWP_OFFSET_MAX + 1, 0, &pte), -EINVAL);
    EQUAL(fastmm_swp_encode(0, 0, 1, &pte), -EINVAL);
    EQUAL(fastmm_swp_encode(0, 0, 16, &pte), -EINVAL);
    EQUAL(pte, 42);
}
END_TEST

START_TEST(frame_round_trip)
{
    uint64_t rng = test_seed();
    static const uint64_t prots[] = {FASTMM_PROT_SHARED, FASTMM_PROT_READONLY, FASTMM_PROT_NONE,
                                     FASTMM_PROT_TABLE};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t pfn = test_random(&rng) % FASTMM_PFN_LIMIT;
        uint64_t prot = prots[test_random(&rng) % 4];
        fastmm_pte_t pte = fastmm_pte_make(pfn, prot);
        EQUAL(fastmm_pte_pfn(pte), pfn);
        EQUAL(pte & ~FASTMM_PTE_PFN_MASK, prot);
        HOLDS(!fastmm_pte_none(pte));
        uint64_t n = test_random(&rng) % 512;
        if (pfn + n < FASTMM_PFN_LIMIT)
            EQUAL(fastmm_pte_advance(pte, n), fastmm_pte_make(pfn + n, prot));
    }
}
END_TEST

/* Every change keeps the frame, never loses dirtiness, and never leaves Dirty without RW. */
START_TEST(changes_keep_the_page)
{
    uint64_t rng = test_seed();
    static const uint64_t prots[] = {FASTMM_PROT_SHARED, FASTMM_PROT_READONLY, FASTMM_PROT_NONE};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t pfn = test_random(&rng) % FASTMM_PFN_LIMIT;
        fastmm_pte_t pte = fastmm_pte_make(pfn, prots[test_random(&rng) % 3]);
        bool dirty = false;
        for (int step = 0; step < 8; step++) {
            switch (test_random(&rng) % 8) {
            case 0:
                pte = fastmm_pte_wrprotect(pte);
                break;
            case 1:
                pte = fastmm_pte_present(pte) && (pte & 1) ? fastmm_pte_mkwrite(pte) : pte;
                break;
            case 2:
                pte = fastmm_pte_mkdirty(pte);
                dirty = true;
                break;
            case 3:
                pte = fastmm_pte_mkclean(pte);
                dirty = false;
                break;
            case 4:
                pte = fastmm_pte_mkuffd_wp(pte);
                HOLDS(!fastmm_pte_write(pte));
                break;
            case 5:
                pte = fastmm_pte_mkold(pte);
                break;
            default:
                pte = fastmm_pte_modify(pte, prots[test_random(&rng) % 3]);
            }
            EQUAL(fastmm_pte_pfn(pte), pfn);
            HOLDS(fastmm_pte_dirty(pte) == dirty);
            HOLDS((pte & FASTMM_PTE_RW) || !(pte & FASTMM_PTE_DIRTY));
            HOLDS(fastmm_pte_present(pte));
        }
    }
}
END_TEST

START_TEST(kinds)
{
    static const struct fastmm_swp_types types = FASTMM_SWP_TYPES_ALL;
    static const struct {
        unsigned type;
        enum fastmm_swp_kind kind;
    } table[] = {
        {0, FASTMM_SWP_SWAP},
        {22, FASTMM_SWP_SWAP},
        {23, FASTMM_SWP_HWPOISON},
        {24, FASTMM_SWP_MIGRATION_READ},
        {25, FASTMM_SWP_MIGRATION_READ_EXCLUSIVE},
        {26, FASTMM_SWP_MIGRATION_WRITE},
        {27, FASTMM_SWP_DEVICE},
        {30, FASTMM_SWP_DEVICE},
        {31, FASTMM_SWP_MARKER},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        fastmm_pte_t pte;
        EQUAL(fastmm_swp_encode(table[i].type, 5, 0, &pte), 0);
        EQUAL(fastmm_swp_kind(&types, pte), table[i].kind);
    }
    /* The frame of a migration entry lies below its young and dirty flags. */
    fastmm_pte_t pte;
    uint64_t offset = 0x123456 | FASTMM_SWP_MIGRATION_YOUNG | FASTMM_SWP_MIGRATION_DIRTY;
    EQUAL(fastmm_swp_encode(26, offset, 0, &pte), 0);
    EQUAL(fastmm_swp_pfn(pte), 0x123456);
}
END_TEST

START_TEST(markers)
{
    for (uint64_t flags = 1; flags <= FASTMM_MARKER_ALL; flags++) {
        fastmm_pte_t pte = fastmm_marker_make(flags);
        EQUAL(fastmm_marker_flags(pte), flags);
        HOLDS(!fastmm_swp_uffd_wp(pte));
        HOLDS(fastmm_pte_any_uffd_wp(pte) == ((flags & FASTMM_MARKER_UFFD_WP) != 0));
    }
    EQUAL(fastmm_marker_flags(0), 0);
    EQUAL(fastmm_marker_flags(fastmm_pte_make(1, FASTMM_PROT_SHARED)), 0);
    EQUAL(fastmm_marker_flags(UINT64_MAX), 0); /* present, though the type says 31 */
}
END_TEST

/* --- Addresses ------------------------------------------------------------------------------- */

START_TEST(canonical)
{
    static const struct {
        uint64_t va;
        bool four, five;
    } table[] = {
        {0, true, true},
        {UINT64_C(0x00007fffffffffff), true, true},
        {UINT64_C(0x0000800000000000), false, true},
        {UINT64_C(0x00ffffffffffffff), false, true},
        {UINT64_C(0x0100000000000000), false, false},
        {UINT64_C(0xfeffffffffffffff), false, false},
        {UINT64_C(0xff00000000000000), false, true},
        {UINT64_C(0xffff7fffffffffff), false, true},
        {UINT64_C(0xffff800000000000), true, true},
        {UINT64_MAX, true, true},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        HOLDS(fastmm_va_canonical(table[i].va, 4) == table[i].four);
        HOLDS(fastmm_va_canonical(table[i].va, 5) == table[i].five);
    }
    EQUAL(fastmm_va_user_end(4), UINT64_C(0x00007ffffffff000));
    EQUAL(fastmm_va_user_end(5), UINT64_C(0x00fffffffffff000));
}
END_TEST

START_TEST(next_boundary)
{
    for (unsigned level = 1; level <= 5; level++) {
        uint64_t size = FASTMM_LEVEL_SIZE(level);
        EQUAL(fastmm_va_next(0, 3 * size, level), size);
        EQUAL(fastmm_va_next(size - 1, 3 * size, level), size);
        EQUAL(fastmm_va_next(size, 3 * size, level), 2 * size);
        EQUAL(fastmm_va_next(2 * size, 3 * size - 1, level), 3 * size - 1);
        /* The last step of the address space, whose end is written as 0. */
        EQUAL(fastmm_va_next(0 - size, 0, level), 0);
        EQUAL(fastmm_va_next(0 - 2 * size, 0, level), 0 - size);
    }
}
END_TEST

static uint64_t rebuild(uint64_t va, unsigned levels)
{
    uint64_t out = va & (FASTMM_PAGE_SIZE - 1);
    for (unsigned level = 1; level <= levels; level++)
        out |= (uint64_t)fastmm_va_index(va, level) << FASTMM_LEVEL_SHIFT(level);
    return out;
}

START_TEST(p15_swap_layout)
{
    fastmm_pte_t pte;
    static const struct {
        unsigned type;
        uint64_t offset, raw;
    } table[] = {
        {0, 0, UINT64_C(0x07fffffffffffe00)},
        {1, 0, UINT64_C(0x0ffffffffffffe00)},
        {3, 0x12345, UINT64_C(0x1ffffffffdb97400)},
        {31, FASTMM_SWP_OFFSET_MAX, UINT64_C(0xf800000000000000)},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        EQUAL(fastmm_swp_encode(table[i].type, table[i].offset, 0, &pte), 0);
        EQUAL(pte, table[i].raw);
        /* Hardware may set Accessed and Dirty: nothing decoded may change. */
        pte |= FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY;
        EQUAL(fastmm_swp_type(pte), table[i].type);
        EQUAL(fastmm_swp_offset(pte), table[i].offset);
        HOLDS(fastmm_pte_is_swp(pte));
        EQUAL(pte & (1u << 0 | 1u << 7 | 1u << 8), 0);
    }
    for (uint64_t flags = 0; flags <= FASTMM_SWP_FLAGS; flags += 2)
        EQUAL(fastmm_swp_encode(0, FASTMM_SWP_OFFSET_MAX, flags, &pte), -ERANGE);
    HOLDS(fastmm_pte_none(FASTMM_PTE_ACCESSED | FASTMM_PTE_DIRTY));
}
END_TEST

START_TEST(indices)
{
    uint64_t rng = test_seed();
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t va = test_random(&rng);
        EQUAL(rebuild(va, 4), va & (UINT64_MAX >> 16));
        EQUAL(rebuild(va, 5), va & (UINT64_MAX >> 7));
    }
}
END_TEST

/* --- Twins ----------------------------------------------------------------------------------- */

START_TEST(twins_agree)
{
    static const struct fastmm_swp_types types = FASTMM_SWP_TYPES_ALL;
    uint64_t rng = test_seed();
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t v = test_random(&rng) & test_random(&rng);
#define SAME(name) EQUAL(fastmm_pte_##name(v), fastmm_pte_##name##_call(v));
        FASTMM_PTE_PREDICATES(SAME)
        FASTMM_PTE_CHANGES(SAME)
        SAME(pfn)
        SAME(any_uffd_wp)
#undef SAME
        uint64_t w = test_random(&rng) % FASTMM_PFN_LIMIT;
        uint64_t prot = v & ~FASTMM_PTE_PFN_MASK;
        unsigned level = (unsigned)(v % 5) + 1;
        EQUAL(fastmm_pte_make(w, prot), fastmm_pte_make_call(w, prot));
        EQUAL(fastmm_pte_advance(v, w), fastmm_pte_advance_call(v, w));
        EQUAL(fastmm_pte_modify(v, prot), fastmm_pte_modify_call(v, prot));
        EQUAL(fastmm_va_index(v, level), fastmm_va_index_call(v, level));
        EQUAL(fastmm_va_next(v, w, level), fastmm_va_next_call(v, w, level));
        HOLDS(fastmm_va_canonical(v, 4) == fastmm_va_canonical_call(v, 4));
        EQUAL(fastmm_va_user_end(level), fastmm_va_user_end_call(level));
        EQUAL(fastmm_va_bits(level), fastmm_va_bits_call(level));
        EQUAL(fastmm_swp_type(v), fastmm_swp_type_call(v));
        EQUAL(fastmm_swp_offset(v), fastmm_swp_offset_call(v));
        EQUAL(fastmm_swp_pfn(v), fastmm_swp_pfn_call(v));
        HOLDS(fastmm_swp_exclusive(v) == fastmm_swp_exclusive_call(v));
        HOLDS(fastmm_swp_uffd_wp(v) == fastmm_swp_uffd_wp_call(v));
        HOLDS(fastmm_swp_soft_dirty(v) == fastmm_swp_soft_dirty_call(v));
        EQUAL(fastmm_swp_kind(&types, v), fastmm_swp_kind_call(&types, v));
        EQUAL(fastmm_marker_make(v & 7), fastmm_marker_make_call(v & 7));
        EQUAL(fastmm_marker_flags(v), fastmm_marker_flags_call(v));
    }
}
END_TEST

static TCase *add_case(Suite *suite, const char *name, const TTest *test)
{
    TCase *tcase = tcase_create(name);
    tcase_add_test(tcase, test);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("mm.pte");
    TCase *golden = add_case(suite, "golden", golden_saved_dirty);
    tcase_add_test(golden, golden_prot_none);
    tcase_add_test(golden, golden_swap);
    tcase_add_test(golden, golden_markers);
    tcase_add_test(golden, golden_special);
    TCase *trips = add_case(suite, "round_trips", swap_round_trip);
    tcase_add_test(trips, swap_refuses);
    tcase_add_test(trips, frame_round_trip);
    tcase_add_test(trips, changes_keep_the_page);
    tcase_add_test(trips, kinds);
    tcase_add_test(trips, markers);
    TCase *addresses = add_case(suite, "addresses", canonical);
    tcase_add_test(addresses, next_boundary);
    tcase_add_test(addresses, indices);
    add_case(suite, "twins", twins_agree);
    add_case(suite, "P15", p15_swap_layout);
    return test_main(suite);
}
