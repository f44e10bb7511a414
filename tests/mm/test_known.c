/* SPDX-License-Identifier: MIT */
/* Failures that kernels, simulators and emulators really had with page tables; see known.csv. */
#include "space.h"

#include <fastmm/walk.h>

#include "mm/table.h"

/* --- P01: fork decides on tracking bits by the child's mapping -------------------------------- */

struct tracked {
    struct fastmm_machine *machine;
    struct fastmm_mm *parent, *child;
    uint64_t page, swap, pinned, pfn;
};

/* A page, a swap entry and a pinned page, all tracked, forked with or without the event. */
static struct tracked fork_tracked(uint32_t features)
{
    struct tracked t = {.machine = new_machine(64),
                        .page = BASE,
                        .swap = BASE + PAGES(1),
                        .pinned = BASE + PAGES(2)};
    EQUAL(fastmm_machine_swap_on(t.machine, 0, 8), 0);
    t.parent = new_mm(t.machine);
    map_at(t.parent, BASE, 4, RW, NULL);
    EQUAL(fastmm_mm_fault(t.parent, t.page, FASTMM_WRITE), 0);
    EQUAL(fastmm_mm_pin(t.parent, t.pinned, &t.pfn), 0);
    EQUAL(populate(t.parent, t.swap, 1, FASTMM_POPULATE_SWAP, 3, FASTMM_POPULATE_EXCLUSIVE), 0);
    EQUAL(fastmm_mm_uffd_register(t.parent, BASE, BASE + PAGES(4), features), 0);
    EQUAL(fastmm_mm_uffd_protect(t.parent, BASE, BASE + PAGES(3)), 0);
    EQUAL(fastmm_mm_fork(t.parent, &t.child), 0);
    check_machine(t.machine);
    return t;
}

static void end_tracked(struct tracked *t)
{
    HOLDS(fastmm_pte_uffd_wp(pte_at(t->parent, t->page)));
    HOLDS(fastmm_swp_uffd_wp(pte_at(t->parent, t->swap)));
    HOLDS(fastmm_pte_uffd_wp(pte_at(t->parent, t->pinned)));
    end_mm(t->child);
    EQUAL(fastmm_machine_unpin(t->machine, t->pfn), 0);
    end_mm(t->parent);
    end_machine(t->machine);
}

START_TEST(p01_child_without_tracking)
{
    struct tracked t = fork_tracked(0);
    HOLDS(!fastmm_pte_any_uffd_wp(pte_at(t.child, t.page)));
    HOLDS(!fastmm_pte_any_uffd_wp(pte_at(t.child, t.swap)));
    HOLDS(!fastmm_pte_any_uffd_wp(pte_at(t.child, t.pinned)));
    EQUAL(fastmm_swp_offset(pte_at(t.child, t.swap)), 3);
    end_tracked(&t);
}
END_TEST

START_TEST(p01_child_with_tracking)
{
    struct tracked t = fork_tracked(FASTMM_VM_UFFD_FORK);
    HOLDS(fastmm_pte_uffd_wp(pte_at(t.child, t.page)));
    EQUAL(pte_at(t.child, t.swap) & FASTMM_SWP_FLAGS, FASTMM_SWP_UFFD_WP);
    /* The pinned page was copied at once, and the copy is protected. */
    fastmm_pte_t copy = pte_at(t.child, t.pinned);
    HOLDS(fastmm_pte_uffd_wp(copy) && !fastmm_pte_write(copy));
    HOLDS(fastmm_pte_pfn(copy) != t.pfn);
    EQUAL(fastmm_pte_pfn(pte_at(t.parent, t.pinned)), t.pfn);
    end_tracked(&t);
}
END_TEST

/* --- P03: poison outranks everything -----------------------------------------------------------
 */

START_TEST(p03_poison_stays)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine), *child;
    map_at(mm, BASE, 2, RW, NULL);
    fastmm_pte_t poison = fastmm_marker_make(FASTMM_MARKER_POISON);
    EQUAL(populate(mm, BASE, 1, FASTMM_POPULATE_MARKER, FASTMM_MARKER_POISON, 0), 0);
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(1), FASTMM_WRITE), 0);
    EQUAL(fastmm_mm_fork(mm, &child), 0);
    EQUAL(fastmm_mm_fault(child, BASE, FASTMM_READ), FASTMM_FAULT_SIGBUS);
    EQUAL(pte_at(child, BASE), poison);
    end_mm(child);

    EQUAL(fastmm_mm_uffd_register(mm, BASE, BASE + PAGES(2), FASTMM_VM_UFFD_UNPOPULATED), 0);
    EQUAL(fastmm_mm_uffd_protect(mm, BASE, BASE + PAGES(2)), 0);
    EQUAL(pte_at(mm, BASE), poison);
    EQUAL(fastmm_mm_uffd_resolve(mm, BASE, BASE + PAGES(2)), 0);
    EQUAL(pte_at(mm, BASE), poison);
    EQUAL(fastmm_mm_protect(mm, BASE, BASE + PAGES(2), FASTMM_VM_READ), 0);
    EQUAL(fastmm_mm_protect(mm, BASE, BASE + PAGES(2), RW), 0);
    EQUAL(pte_at(mm, BASE), poison);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), FASTMM_FAULT_SIGBUS);
    EQUAL(rss_of(mm, FASTMM_RSS_ANON), 1);
    EQUAL(rss_of(mm, FASTMM_RSS_SWAP), 0);
    EQUAL(fastmm_mm_zap(mm, BASE, BASE + PAGES(1)), 0);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_READ), FASTMM_FAULT_OK);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* --- P05: swapped-out pages are protected too --------------------------------------------------
 */

START_TEST(p05_swap_is_tracked)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    EQUAL(fastmm_machine_swap_on(machine, 0, 8), 0);
    map_at(mm, BASE, 2, RW, NULL);
    EQUAL(fastmm_mm_uffd_register(mm, BASE, BASE + PAGES(2), 0), 0);
    EQUAL(populate(mm, BASE, 2, FASTMM_POPULATE_SWAP, 0, FASTMM_POPULATE_EXCLUSIVE), 0);
    EQUAL(fastmm_mm_uffd_protect(mm, BASE, BASE + PAGES(2)), 0);
    HOLDS(pte_at(mm, BASE) & (1 << 2));

    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_READ), FASTMM_FAULT_OK);
    HOLDS(fastmm_pte_uffd_wp(pte_at(mm, BASE)) && !fastmm_pte_write(pte_at(mm, BASE)));
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), FASTMM_FAULT_UFFD_WP);

    EQUAL(fastmm_mm_uffd_resolve(mm, BASE + PAGES(1), BASE + PAGES(2)), 0);
    HOLDS(!(pte_at(mm, BASE + PAGES(1)) & (1 << 2)));
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(1), FASTMM_WRITE), FASTMM_FAULT_OK);
    check_machine(machine);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* --- P07: no permission comes back that would hide a write -------------------------------------
 */

static bool soft_dirty_at(const struct fastmm_mm *mm, uint64_t addr)
{
    uint64_t word;
    EQUAL(fastmm_mm_pagemap(mm, addr, 1, &word), 0);
    return word & FASTMM_PAGEMAP_SOFT_DIRTY;
}

START_TEST(p07_soft_dirty)
{
    const struct fastmm_machine_config config = {.frames = 64, .soft_dirty = true};
    struct fastmm_machine *machine, *plain = new_machine(64);
    EQUAL(fastmm_machine_create(&config, &machine), 0);
    struct fastmm_mm *mm = new_mm(machine), *untracked = new_mm(plain);
    map_at(mm, BASE, 1, RW, NULL);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), 0);
    HOLDS(soft_dirty_at(mm, BASE));
    EQUAL(fastmm_mm_clear_refs(mm), 0);
    HOLDS(!soft_dirty_at(mm, BASE));
    EQUAL(fastmm_mm_protect(mm, BASE, BASE + PAGES(1), FASTMM_VM_READ), 0);
    HOLDS(!soft_dirty_at(mm, BASE));
    EQUAL(fastmm_mm_protect(mm, BASE, BASE + PAGES(1), RW), 0);
    HOLDS(!soft_dirty_at(mm, BASE));
    HOLDS(!fastmm_pte_write(pte_at(mm, BASE)));
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), 0);
    HOLDS(soft_dirty_at(mm, BASE));
    HOLDS(fastmm_pte_write(pte_at(mm, BASE)));
    EQUAL(fastmm_mm_clear_refs(untracked), -ENOTSUP);
    check_machine(machine);
    end_mm(mm);
    end_machine(machine);
    end_mm(untracked);
    end_machine(plain);
}
END_TEST

/* --- P09: the zero page is never counted -------------------------------------------------------
 */

#define ZEROS 100000

static void zero_page_round(struct fastmm_machine *machine)
{
    struct fastmm_mm *mm = new_mm(machine), *child;
    map_at(mm, BASE, ZEROS, RW, NULL);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), 0); /* so that fork copies the entries */
    for (uint64_t i = 1; i < ZEROS; i++)
        if (fastmm_mm_fault(mm, BASE + PAGES(i), FASTMM_READ))
            ck_abort_msg("a read fault failed");
    EQUAL(rss_of(mm, FASTMM_RSS_ANON), 1);
    EQUAL(fastmm_mm_fork(mm, &child), 0);
    for (uint64_t i = 0; i < ZEROS; i += 10)
        if (fastmm_mm_fault(child, BASE + PAGES(i), FASTMM_WRITE))
            ck_abort_msg("a write fault failed");
    EQUAL(rss_of(child, FASTMM_RSS_ANON), ZEROS / 10);
    const struct fastmm_vma *vma = fastmm_mm_find(mm, BASE);
    EQUAL(fastmm_normal_page(fastmm_machine_frames(machine), vma, BASE + PAGES(7),
                             pte_at(mm, BASE + PAGES(7))),
          FASTMM_PFN_NONE);
    EQUAL(fastmm_mm_zap(mm, BASE, BASE + PAGES(ZEROS)), 0);
    EQUAL(fastmm_mm_zap(child, BASE, BASE + PAGES(ZEROS)), 0);
    EQUAL(rss_of(mm, FASTMM_RSS_ANON), 0);
    end_mm(child);
    end_mm(mm);
}

START_TEST(p09_zero_page)
{
    struct fastmm_machine *machine = new_machine(2 * ZEROS);
    struct fastmm_frame_info before, after;
    EQUAL(fastmm_machine_frame(machine, FASTMM_PFN_ZERO, &before), 0);
    for (int round = 0; round < 10; round++) {
        zero_page_round(machine);
        EQUAL(fastmm_machine_frame(machine, FASTMM_PFN_ZERO, &after), 0);
        EQUAL(after.refs, before.refs);
        EQUAL(after.mapcount, before.mapcount);
    }
    end_machine(machine);
}
END_TEST

/* --- P13: a fork of raw frames that fails midway -----------------------------------------------
 */

START_TEST(p13_failed_fork_of_raw_frames)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine), *child = NULL;
    const struct fastmm_map raw = {BASE, BASE + PAGES(3 * 512), RW | FASTMM_VM_PFNMAP, NULL,
                                   0x7000};
    EQUAL(fastmm_mm_map(mm, &raw), 0);
    struct fastmm_machine_stats before = stats_of(machine);
    fastmm_pte_t first = pte_at(mm, BASE), last = pte_at(mm, BASE + PAGES(3 * 512 - 1));
    EQUAL(before.pfn_reservations, 1);
    int rc = -ENOMEM;
    uint64_t tried = 0;
    while (rc) {
        fastmm_machine_fail_after(machine, tried++);
        rc = fastmm_mm_fork(mm, &child);
        fastmm_machine_fail_after(machine, UINT64_MAX);
        EQUAL(pte_at(mm, BASE) | FASTMM_PTE_RW, first | FASTMM_PTE_RW);
        EQUAL(pte_at(mm, BASE + PAGES(3 * 512 - 1)) | FASTMM_PTE_RW, last | FASTMM_PTE_RW);
        if (rc) {
            EQUAL(rc, -ENOMEM);
            EQUAL(stats_of(machine).pfn_reservations, 1);
            EQUAL(stats_of(machine).tables, before.tables);
            EQUAL(stats_of(machine).blocks, before.blocks);
        }
    }
    HOLDS(tried > 9); /* mm, root, array, mapping, three upper tables, three leaf tables */
    EQUAL(stats_of(machine).pfn_reservations, 2);
    EQUAL(fastmm_pte_pfn(pte_at(child, BASE + PAGES(600))), 0x7000 + 600);
    end_mm(child);
    EQUAL(stats_of(machine).pfn_reservations, 1);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* --- P17: the hole -----------------------------------------------------------------------------
 */

START_TEST(p17_non_canonical)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    uint64_t end = fastmm_va_user_end(4), where = 0;
    fastmm_pte_t pte = 42;
    map_at(mm, end - PAGES(2), 2, RW, NULL);
    EQUAL(fastmm_mm_lookup(mm, UINT64_C(0x0000800000000000), &pte), -EFAULT);
    EQUAL(fastmm_mm_lookup(mm, UINT64_C(0xffff7fffffffffff), &pte), -EFAULT);
    EQUAL(fastmm_mm_lookup(mm, UINT64_C(0xffff800000000000), &pte), -ERANGE);
    EQUAL(pte, 42);

    /* An access that begins in the last page ends at the first byte that can't be mapped. */
    EQUAL(fastmm_mm_access(mm, end - 4, 8, FASTMM_READ, &where), FASTMM_FAULT_SIGSEGV);
    EQUAL(where, end);
    EQUAL(fastmm_mm_access(mm, UINT64_C(0x00007ffffffffffc), 8, FASTMM_READ, &where),
          FASTMM_FAULT_SIGSEGV);
    EQUAL(where, UINT64_C(0x00007ffffffffffc));
    EQUAL(fastmm_mm_access(mm, UINT64_MAX - 3, 8, FASTMM_READ, &where), -ERANGE);
    EQUAL(fastmm_mm_access(mm, UINT64_MAX - 3, 4, FASTMM_READ, &where), FASTMM_FAULT_SIGSEGV);
    EQUAL(fastmm_mm_fault(mm, UINT64_C(0x0000800000000000), FASTMM_WRITE), FASTMM_FAULT_SIGSEGV);

    struct fastmm_scan scan;
    EQUAL(fastmm_mm_scan(mm, UINT64_C(0x00007ffffffff000), UINT64_C(0xffff800000001000), &scan),
          -ERANGE);
    EQUAL(fastmm_mm_unmap(mm, UINT64_C(0x00007ffffffff000), UINT64_C(0xffff800000001000)), -ERANGE);
    EQUAL(fastmm_mm_fault(mm, end - 1, FASTMM_WRITE), FASTMM_FAULT_OK);
    HOLDS(fastmm_pte_present(pte_at(mm, end - 1)));
    EQUAL(fastmm_mm_scan(mm, 0, UINT64_MAX, &scan), 0);
    EQUAL(scan.present, 1);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* --- P19: tables that lack user and write bits are tables ---------------------------------------
 */

START_TEST(p19_odd_middle_entries)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    map_at(mm, BASE, 1, RW, NULL);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), 0);
    fastmm_pte_t *top = &mm->root[0], usual = *top;
    const fastmm_pte_t odd = (usual & ~(FASTMM_PTE_USER | FASTMM_PTE_RW)) | FASTMM_PTE_NX;
    struct fastmm_scan scan;
    *top = odd;
    EQUAL(fastmm_mm_scan(mm, 0, UINT64_MAX, &scan), 0);
    EQUAL(scan.present, 1);
    HOLDS(fastmm_pte_present(pte_at(mm, BASE)));
    EQUAL(*top, odd); /* looking changes nothing */

    /* The same tables above the user half are out of reach of everything. */
    mm->root[256] = odd;
    *top = 0;
    EQUAL(fastmm_mm_scan(mm, 0, UINT64_MAX, &scan), 0);
    EQUAL(scan.present + scan.none, 0);
    EQUAL(mm->root[256], odd);
    mm->root[256] = 0;
    *top = usual;
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* --- P21: no two addresses share an entry -------------------------------------------------------
 */

START_TEST(p21_indices)
{
    EQUAL(fastmm_va_index(UINT64_C(0xdeadbeef000), 4), 27);
    EQUAL(fastmm_va_index(UINT64_C(0xdeadbeef000), 3), 427);
    EQUAL(fastmm_va_index(UINT64_C(0xdeadbeef000), 2), 223);
    EQUAL(fastmm_va_index(UINT64_C(0xdeadbeef000), 1), 239);

    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    uint64_t va = UINT64_C(0xdeadbeef000);
    const struct fastmm_map raw = {va, va + 4096, RW | FASTMM_VM_PFNMAP, NULL, 0x3382};
    EQUAL(fastmm_mm_map(mm, &raw), 0);
    EQUAL(fastmm_pte_pfn(pte_at(mm, va)) << 12, UINT64_C(0x3382000));
    EQUAL(pte_at(mm, UINT64_C(0x6adbeef000)), 0);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

#define SPREAD 20000

/* Pages at random addresses all over the user half, each with its own number in its entry. */
START_TEST(p21_random_pages)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    static uint64_t where[SPREAD];
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < SPREAD; i++) {
        fastmm_pte_t *pte;
        do {
            where[i] = test_random(&seed) % fastmm_va_user_end(4) & ~UINT64_C(4095);
            pte = fastmm_table_make(mm, where[i]);
            HOLDS(pte);
        } while (*pte);
        *pte = fastmm_pte_make(i, FASTMM_PROT_READONLY);
    }
    for (uint64_t i = 0; i < SPREAD; i++) {
        EQUAL(fastmm_pte_pfn(pte_at(mm, where[i])), i);
        *fastmm_table_find(mm, where[i]) = 0;
    }
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* --- P23: protecting what isn't there -----------------------------------------------------------
 */

START_TEST(p23_unpopulated)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    map_at(mm, BASE, 1, RW, NULL);
    EQUAL(fastmm_mm_uffd_register(mm, BASE, BASE + PAGES(1), 0), 0);
    EQUAL(fastmm_mm_uffd_protect(mm, BASE, BASE + PAGES(1)), 0);
    EQUAL(pte_at(mm, BASE), 0);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_READ), FASTMM_FAULT_OK);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), FASTMM_FAULT_OK);

    map_at(mm, BASE + PAGES(8), 1, RW, NULL);
    uint64_t at = BASE + PAGES(8);
    EQUAL(fastmm_mm_uffd_register(mm, at, at + PAGES(1), FASTMM_VM_UFFD_UNPOPULATED), 0);
    EQUAL(fastmm_mm_uffd_protect(mm, at, at + PAGES(1)), 0);
    EQUAL(pte_at(mm, at), fastmm_marker_make(FASTMM_MARKER_UFFD_WP));
    EQUAL(fastmm_mm_fault(mm, at, FASTMM_READ), FASTMM_FAULT_OK);
    EQUAL(fastmm_pte_pfn(pte_at(mm, at)), FASTMM_PFN_ZERO);
    HOLDS(fastmm_pte_uffd_wp(pte_at(mm, at)));
    EQUAL(fastmm_mm_fault(mm, at, FASTMM_WRITE), FASTMM_FAULT_UFFD_WP);
    check_machine(machine);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* --- P11, P25, P27: what huge pages had wrong, on the small pages of a whole table -------------
 */

#define TABLE PAGES(FASTMM_PTES)

static struct fastmm_mm *new_table_of_pages(struct fastmm_machine **machine, enum fastmm_access by)
{
    *machine = new_machine(2048);
    struct fastmm_mm *mm = new_mm(*machine);
    map_at(mm, BASE, FASTMM_PTES, RW, NULL);
    EQUAL(fastmm_mm_access(mm, BASE, TABLE, by, NULL), 0);
    return mm;
}

/* Pages without access are pages, wherever they are counted. */
START_TEST(p11_no_access_is_counted)
{
    struct fastmm_machine *machine;
    struct fastmm_mm *mm = new_table_of_pages(&machine, FASTMM_WRITE);
    const uint32_t prots[] = {0, RW};
    const uint64_t pfn = fastmm_pte_pfn(pte_at(mm, BASE));
    for (int i = 0; i < 2; i++) {
        int64_t rss[FASTMM_RSS_COUNTERS];
        EQUAL(fastmm_mm_protect(mm, BASE, BASE + TABLE, prots[i]), 0);
        EQUAL(fastmm_mm_resident(mm, BASE, BASE + TABLE, rss), 0);
        EQUAL(rss[FASTMM_RSS_ANON], FASTMM_PTES);
        EQUAL(rss_of(mm, FASTMM_RSS_ANON), FASTMM_PTES);
        EQUAL(fastmm_pte_pfn(pte_at(mm, BASE)), pfn);
        HOLDS(fastmm_pte_present(pte_at(mm, BASE)));
        EQUAL((pte_at(mm, BASE) & FASTMM_PTE_PRESENT) != 0, prots[i] != 0);
    }
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* A read makes nothing dirty, and being dirty doesn't open the zero page to a forced write. */
START_TEST(p25_zero_page_is_never_written)
{
    struct fastmm_machine *machine;
    struct fastmm_mm *mm = new_table_of_pages(&machine, FASTMM_READ);
    struct fastmm_frame_info before, after;
    EQUAL(fastmm_machine_frame(machine, FASTMM_PFN_ZERO, &before), 0);
    HOLDS(fastmm_pte_young(pte_at(mm, BASE)) && !fastmm_pte_dirty(pte_at(mm, BASE)));
    EQUAL(fastmm_mm_protect(mm, BASE, BASE + TABLE, FASTMM_VM_READ), 0);
    for (uint64_t i = 0; i < FASTMM_PTES; i++) {
        EQUAL(fastmm_mm_force_write(mm, BASE + PAGES(i)), 0);
        HOLDS(fastmm_pte_pfn(pte_at(mm, BASE + PAGES(i))) != FASTMM_PFN_ZERO);
    }
    EQUAL(fastmm_machine_frame(machine, FASTMM_PFN_ZERO, &after), 0);
    HOLDS(!after.dirty && after.refs == before.refs && after.mapcount == before.mapcount);
    EQUAL(rss_of(mm, FASTMM_RSS_ANON), FASTMM_PTES);
    check_machine(machine);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* The one page that is pinned is copied, its 511 neighbours are shared. */
START_TEST(p27_pinned_among_others)
{
    struct fastmm_machine *machine;
    struct fastmm_mm *mm = new_table_of_pages(&machine, FASTMM_WRITE), *child;
    const uint64_t pinned = BASE + PAGES(200);
    uint64_t pfn;
    EQUAL(fastmm_mm_pin(mm, pinned, &pfn), 0);
    EQUAL(fastmm_mm_fork(mm, &child), 0);
    for (uint64_t at = BASE; at < BASE + TABLE; at += PAGES(1)) {
        bool shared = fastmm_pte_pfn(pte_at(mm, at)) == fastmm_pte_pfn(pte_at(child, at));
        EQUAL(shared, at != pinned);
        EQUAL(fastmm_pte_write(pte_at(mm, at)), at == pinned);
    }
    EQUAL(rss_of(child, FASTMM_RSS_ANON), FASTMM_PTES);
    EQUAL(fastmm_mm_fault(child, pinned, FASTMM_WRITE), 0);
    EQUAL(fastmm_mm_fault(mm, pinned, FASTMM_WRITE), 0);
    EQUAL(fastmm_pte_pfn(pte_at(mm, pinned)), pfn);
    EQUAL(fastmm_machine_unpin(machine, pfn), 0);
    check_machine(machine);
    end_mm(child);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name, const TTest *test)
{
    TCase *tcase = tcase_create(name);
    tcase_add_test(tcase, test);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("mm.known");
    tcase_add_test(add_case(suite, "P01", p01_child_without_tracking), p01_child_with_tracking);
    add_case(suite, "P03", p03_poison_stays);
    add_case(suite, "P05", p05_swap_is_tracked);
    add_case(suite, "P07", p07_soft_dirty);
    add_case(suite, "P09", p09_zero_page);
    add_case(suite, "P11", p11_no_access_is_counted);
    add_case(suite, "P13", p13_failed_fork_of_raw_frames);
    add_case(suite, "P17", p17_non_canonical);
    add_case(suite, "P19", p19_odd_middle_entries);
    tcase_add_test(add_case(suite, "P21", p21_indices), p21_random_pages);
    add_case(suite, "P23", p23_unpopulated);
    add_case(suite, "P25", p25_zero_page_is_never_written);
    add_case(suite, "P27", p27_pinned_among_others);
    return test_main(suite);
}
