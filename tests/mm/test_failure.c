/* SPDX-License-Identifier: MIT */
/*
 * Allocation failure at every point: an operation is tried with 0, 1, 2, ... allocations allowed
 * until it succeeds. Each failure must say -ENOMEM, leave every page and counter as it was, break
 * no invariant, and lose no memory.
 */
#include "space.h"

#include "mm/frame.h"

#include <string.h>

struct scene {
    struct fastmm_machine *machine;
    struct fastmm_object *file, *shmem;
    struct fastmm_mm *mm;
};

/* One of everything, in leaf tables of their own. */
static struct scene set_scene(void)
{
    struct scene s = {.machine = new_machine(8192)};
    uint64_t pfn;
    EQUAL(fastmm_machine_swap_on(s.machine, 0, 64), 0);
    EQUAL(fastmm_object_create(s.machine, FASTMM_OBJECT_FILE, 5000, &s.file), 0);
    EQUAL(fastmm_object_create(s.machine, FASTMM_OBJECT_SHMEM, 5000, &s.shmem), 0);
    s.mm = new_mm(s.machine);
    map_at(s.mm, BASE, 1500, RW, NULL);
    map_at(s.mm, BASE + PAGES(4096), 600, RW, s.file);
    map_at(s.mm, BASE + PAGES(8192), 600, RW | FASTMM_VM_SHARED, s.shmem);
    EQUAL(
        fastmm_mm_uffd_register(s.mm, BASE + PAGES(8192), BASE + PAGES(8792), FASTMM_VM_UFFD_FORK),
        0);
    for (uint64_t i = 0; i < 1500; i += 50) {
        EQUAL(fastmm_mm_fault(s.mm, BASE + PAGES(i), i % 100 ? FASTMM_READ : FASTMM_WRITE), 0);
        EQUAL(populate(s.mm, BASE + PAGES(i + 1), 1, FASTMM_POPULATE_SWAP, i / 50, 0), 0);
    }
    for (uint64_t i = 0; i < 600; i += 40) {
        EQUAL(fastmm_mm_fault(s.mm, BASE + PAGES(4096 + i), i % 80 ? FASTMM_READ : FASTMM_WRITE),
              0);
        if (i < 400) /* leaves the second table of this mapping to be made */
            EQUAL(fastmm_mm_fault(s.mm, BASE + PAGES(8192 + i), FASTMM_READ), 0);
    }
    EQUAL(fastmm_mm_pin(s.mm, BASE + PAGES(7), &pfn), 0);
    check_machine(s.machine);
    return s;
}

static void end_scene(struct scene *s)
{
    const fastmm_pte_t pinned = pte_at(s->mm, BASE + PAGES(7));
    EQUAL(fastmm_machine_unpin(s->machine, fastmm_pte_pfn(pinned)), 0);
    end_mm(s->mm);
    fastmm_object_put(s->file);
    fastmm_object_put(s->shmem);
    end_machine(s->machine);
}

/* What no failure may change. The parent of a failed fork may be write-protected: see there. */
struct snapshot {
    int64_t rss[FASTMM_RSS_COUNTERS];
    struct fastmm_machine_stats stats;
};

static struct snapshot remember(const struct scene *s)
{
    struct snapshot snap = {.stats = stats_of(s->machine)};
    fastmm_mm_rss(s->mm, snap.rss);
    return snap;
}

static void same_as_before(const struct scene *s, const struct snapshot *before)
{
    struct snapshot now = remember(s);
    EQUAL(memcmp(now.rss, before->rss, sizeof(now.rss)), 0);
    EQUAL(now.stats.mms, before->stats.mms);
    EQUAL(now.stats.swap_used, before->stats.swap_used);
    EQUAL(fastmm_mm_vma(s->mm, 3) == NULL, true);
    check_machine(s->machine);
}

START_TEST(fork_fails)
{
    struct scene s = set_scene();
    struct snapshot before = remember(&s);
    struct fastmm_mm *child = NULL;
    uint64_t allowed = 0;
    int rc;
    do {
        fastmm_machine_fail_after(s.machine, allowed);
        rc = fastmm_mm_fork(s.mm, &child);
        fastmm_machine_fail_after(s.machine, UINT64_MAX);
        if (rc) {
            EQUAL(rc, -ENOMEM);
            HOLDS(child == NULL);
            same_as_before(&s, &before);
            EQUAL(stats_of(s.machine).blocks, before.stats.blocks);
            EQUAL(stats_of(s.machine).tables, before.stats.tables);
            EQUAL(stats_of(s.machine).frames_used, before.stats.frames_used);
        }
        allowed++;
    } while (rc);
    HOLDS(allowed > 10);
    check_machine(s.machine);
    end_mm(child);
    end_scene(&s);
}
END_TEST

static void fault_fails(uint64_t addr, enum fastmm_access access, int result)
{
    struct scene s = set_scene();
    struct snapshot before = remember(&s);
    fastmm_pte_t pte = pte_at(s.mm, addr);
    int rc;
    for (uint64_t allowed = 0;; allowed++) {
        fastmm_machine_fail_after(s.machine, allowed);
        rc = fastmm_mm_fault(s.mm, addr, access);
        fastmm_machine_fail_after(s.machine, UINT64_MAX);
        if (rc != -ENOMEM)
            break;
        EQUAL(pte_at(s.mm, addr), pte);
        same_as_before(&s, &before);
    }
    EQUAL(rc, result);
    check_machine(s.machine);
    end_scene(&s);
}

/* One page after the other, as the kernel does; those before the one that failed stay. */
START_TEST(prefault_fails)
{
    struct scene s = set_scene();
    int rc = -ENOMEM;
    uint64_t allowed = 0;
    for (; rc == -ENOMEM; allowed++) {
        fastmm_machine_fail_after(s.machine, allowed % 3);
        rc = fastmm_mm_prefault(s.mm, BASE + PAGES(1000), BASE + PAGES(1500), FASTMM_WRITE);
        fastmm_machine_fail_after(s.machine, UINT64_MAX);
        check_machine(s.machine);
    }
    EQUAL(rc, 0);
    HOLDS(allowed > 10);
    end_scene(&s);
}
END_TEST

START_TEST(faults_fail)
{
    fault_fails(BASE + PAGES(3), FASTMM_READ, 0);           /* zero page */
    fault_fails(BASE + PAGES(3), FASTMM_WRITE, 0);          /* new page */
    fault_fails(BASE + PAGES(50), FASTMM_WRITE, 0);         /* zero page copied */
    fault_fails(BASE + PAGES(51), FASTMM_WRITE, 0);         /* swap */
    fault_fails(BASE + PAGES(1400), FASTMM_WRITE, 0);       /* another table */
    fault_fails(BASE + PAGES(4096 + 599), FASTMM_READ, 0);  /* file */
    fault_fails(BASE + PAGES(4096 + 599), FASTMM_WRITE, 0); /* file, private copy */
    fault_fails(BASE + PAGES(4096 + 40), FASTMM_WRITE, 0);  /* mapped file page copied */
    fault_fails(BASE + PAGES(8192 + 599), FASTMM_WRITE, 0); /* shmem */
}
END_TEST

static int do_map(struct scene *s)
{
    const struct fastmm_map map = {BASE + PAGES(100000), BASE + PAGES(101000),
                                   RW | FASTMM_VM_PFNMAP, NULL, 5};
    return fastmm_mm_map(s->mm, &map);
}

static int do_unmap(struct scene *s)
{
    return fastmm_mm_unmap(s->mm, BASE + PAGES(10), BASE + PAGES(1490));
}

static int do_protect(struct scene *s)
{
    return fastmm_mm_protect(s->mm, BASE + PAGES(10), BASE + PAGES(1490), FASTMM_VM_READ);
}

static int do_uffd_protect(struct scene *s)
{
    return fastmm_mm_uffd_protect(s->mm, BASE + PAGES(8192), BASE + PAGES(8792));
}

static int do_register(struct scene *s)
{
    return fastmm_mm_uffd_register(s->mm, BASE + PAGES(10), BASE + PAGES(1490), 0);
}

static int do_populate(struct scene *s)
{
    return populate(s->mm, BASE + PAGES(8192 + 410), 150, FASTMM_POPULATE_CACHE, 0, 0);
}

static int do_guard(struct scene *s)
{
    return fastmm_mm_guard_install(s->mm, BASE + PAGES(8192 + 30), BASE + PAGES(8792));
}

static int do_poison(struct scene *s)
{
    return fastmm_mm_uffd_poison(s->mm, BASE + PAGES(8192 + 370), BASE + PAGES(8792));
}

static int do_move(struct scene *s)
{
    return fastmm_mm_move(s->mm, BASE + PAGES(10), BASE + PAGES(1490), BASE + PAGES(20000),
                          PAGES(1480));
}

static int do_advise(struct scene *s)
{
    return fastmm_mm_advise(s->mm, BASE + PAGES(10), BASE + PAGES(1490), FASTMM_ADVICE_DONTFORK);
}

START_TEST(others_fail)
{
    static int (*const operations[])(struct scene *) = {
        do_map,      do_unmap, do_protect, do_uffd_protect, do_register,
        do_populate, do_guard, do_poison,  do_move,         do_advise};
    struct scene s = set_scene();
    fastmm_pte_t before_ptes[1500], ptes[1500];
    EQUAL(fastmm_mm_read(s.mm, BASE, 1500, before_ptes), 0);
    struct snapshot before = remember(&s);
    end_scene(&s);
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        int rc = -ENOMEM;
        uint64_t allowed = 0;
        s = set_scene();
        while (rc) {
            fastmm_machine_fail_after(s.machine, allowed++);
            rc = operations[i](&s);
            fastmm_machine_fail_after(s.machine, UINT64_MAX);
            check_machine(s.machine);
            if (!rc)
                break;
            EQUAL(rc, -ENOMEM);
            same_as_before(&s, &before);
            EQUAL(fastmm_mm_read(s.mm, BASE, 1500, ptes), 0);
            EQUAL(memcmp(ptes, before_ptes, sizeof(ptes)), 0);
        }
        HOLDS(allowed > 1);
        end_scene(&s);
    }
}
END_TEST

START_TEST(creation_fails)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_machine_stats before = stats_of(machine);
    struct fastmm_mm *mm = NULL;
    struct fastmm_object *object = NULL;
    uint64_t pfn = 7;
    for (uint64_t allowed = 0; allowed < 2; allowed++) {
        fastmm_machine_fail_after(machine, allowed);
        EQUAL(fastmm_mm_create(machine, &mm), -ENOMEM);
        fastmm_machine_fail_after(machine, allowed);
        EQUAL(fastmm_object_create(machine, FASTMM_OBJECT_FILE, 10, &object), -ENOMEM);
    }
    fastmm_machine_fail_after(machine, 0);
    EQUAL(fastmm_machine_reserve(machine, 1, 1, &pfn), -ENOMEM);
    for (uint64_t allowed = 0; allowed < 3; allowed++) {
        fastmm_machine_fail_after(machine, allowed);
        EQUAL(fastmm_machine_swap_on(machine, 0, 5), -ENOMEM);
    }
    fastmm_machine_fail_after(machine, 0);
    EQUAL(fastmm_machine_check(machine, NULL, NULL), -ENOMEM);
    fastmm_machine_fail_after(machine, UINT64_MAX);
    HOLDS(!mm && !object && pfn == 7);
    EQUAL(stats_of(machine).blocks, before.blocks);
    end_machine(machine);
}
END_TEST

/* Frames run out, without any seam. */
START_TEST(frames_run_out)
{
    struct fastmm_machine *machine = new_machine(8);
    struct fastmm_mm *mm = new_mm(machine);
    map_at(mm, BASE, 16, RW, NULL);
    for (uint64_t i = 0; i < 8; i++)
        EQUAL(fastmm_mm_fault(mm, BASE + PAGES(i), FASTMM_WRITE), 0);
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(8), FASTMM_WRITE), -ENOMEM);
    EQUAL(pte_at(mm, BASE + PAGES(8)), 0);
    EQUAL(fastmm_mm_zap(mm, BASE, BASE + PAGES(1)), 0);
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(8), FASTMM_WRITE), 0);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* Without a free slot pages stay; what is lost of a slot comes back. */
START_TEST(slots_run_out)
{
    struct fastmm_machine *machine = new_machine(16);
    struct fastmm_mm *mm = new_mm(machine);
    EQUAL(fastmm_machine_swap_on(machine, 3, 2), 0);
    map_at(mm, BASE, 4, RW, NULL);
    for (uint64_t i = 0; i < 4; i++)
        EQUAL(fastmm_mm_fault(mm, BASE + PAGES(i), FASTMM_WRITE), 0);
    EQUAL(fastmm_mm_pageout(mm, BASE, BASE + PAGES(4)), 0);
    EQUAL(rss_of(mm, FASTMM_RSS_SWAP), 2);
    EQUAL(rss_of(mm, FASTMM_RSS_ANON), 2);
    EQUAL(fastmm_mm_zap(mm, BASE, BASE + PAGES(1)), 0);
    EQUAL(fastmm_mm_pageout(mm, BASE, BASE + PAGES(4)), 0);
    EQUAL(rss_of(mm, FASTMM_RSS_SWAP), 2);
    EQUAL(rss_of(mm, FASTMM_RSS_ANON), 1);
    EQUAL(fastmm_mm_pageout(mm, BASE, BASE + PAGES(5)), -ENOMEM);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* A page of shmem loses its entry all the same, and is found where it was, written. */
START_TEST(slots_run_out_for_objects)
{
    struct fastmm_machine *machine = new_machine(16);
    struct fastmm_mm *mm = new_mm(machine);
    struct fastmm_object *object;
    struct fastmm_frame_info info;
    EQUAL(fastmm_machine_swap_on(machine, 3, 1), 0);
    EQUAL(fastmm_object_create(machine, FASTMM_OBJECT_SHMEM, 4, &object), 0);
    map_at(mm, BASE, 4, RW | FASTMM_VM_SHARED, object);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), 0);
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(1), FASTMM_WRITE), 0);
    uint64_t pfn = fastmm_pte_pfn(pte_at(mm, BASE + PAGES(1)));
    EQUAL(fastmm_mm_pageout(mm, BASE, BASE + PAGES(4)), 0);
    EQUAL(pte_at(mm, BASE + PAGES(1)), 0);
    EQUAL(rss_of(mm, FASTMM_RSS_SHMEM) + rss_of(mm, FASTMM_RSS_SWAP), 0);
    EQUAL(stats_of(machine).frames_used, 1);
    EQUAL(fastmm_machine_frame(machine, pfn, &info), 0);
    HOLDS(info.dirty && info.refs == 1);
    check_machine(machine);
    end_mm(mm);
    EQUAL(stats_of(machine).swap_used, 1);
    fastmm_object_put(object);
    EQUAL(stats_of(machine).swap_used, 0);
    end_machine(machine);
}
END_TEST

/* A page that is mapped as often as its count can hold is refused, not miscounted. */
START_TEST(counts_run_full)
{
    struct fastmm_machine *machine = new_machine(8);
    struct fastmm_mm *mm = new_mm(machine), *child = NULL;
    map_at(mm, BASE, 2, RW, NULL);
    EQUAL(fastmm_mm_fault(mm, BASE, FASTMM_WRITE), 0);
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(1), FASTMM_WRITE), 0);
    uint64_t *word = &machine->frames.word[fastmm_pte_pfn(pte_at(mm, BASE + PAGES(1)))];
    uint64_t before = *word, blocks = stats_of(machine).blocks;
    *word = before - FRAME_MAPPED + FRAME_MAP_GUARD + (FRAME_REF * (FRAME_MAP_GUARD));
    EQUAL(fastmm_mm_fork(mm, &child), -EOVERFLOW);
    HOLDS(!child);
    EQUAL(*word, before - FRAME_MAPPED + FRAME_MAP_GUARD + (FRAME_REF * (FRAME_MAP_GUARD)));
    EQUAL(stats_of(machine).blocks, blocks);
    *word = before;
    check_machine(machine);
    EQUAL(fastmm_mm_fork(mm, &child), 0);
    end_mm(child);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* Destroy says what is left and by how much, if something went wrong. */
START_TEST(destroy_reports)
{
    struct fastmm_machine *machine = new_machine(8);
    struct fastmm_mm *mm = new_mm(machine);
    int64_t residue[FASTMM_RSS_COUNTERS + 1];
    rss_add(&mm->rss, FASTMM_RSS_SHMEM, -3);
    EQUAL(fastmm_machine_check(machine, NULL, NULL), -EUCLEAN);
    EQUAL(fastmm_machine_destroy(machine), -EBUSY);
    EQUAL(fastmm_mm_destroy(mm, residue), -EUCLEAN);
    EQUAL(residue[FASTMM_RSS_SHMEM], -3);
    EQUAL(residue[FASTMM_RSS_ANON], 0);
    end_machine(machine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.failure");
    TCase *tcase = tcase_create("allocations");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, fork_fails);
    tcase_add_test(tcase, faults_fail);
    tcase_add_test(tcase, prefault_fails);
    tcase_add_test(tcase, others_fail);
    tcase_add_test(tcase, creation_fails);
    tcase_add_test(tcase, frames_run_out);
    tcase_add_test(tcase, slots_run_out);
    tcase_add_test(tcase, slots_run_out_for_objects);
    tcase_add_test(tcase, counts_run_full);
    tcase_add_test(tcase, destroy_reports);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
