/* SPDX-License-Identifier: MIT */
/* Machines, mappings and loading: what is refused, and that refusing changes nothing. */
#include "space.h"

#include <stdlib.h>
#include <string.h>

/* --- Configurations -------------------------------------------------------------------------- */

START_TEST(bad_configurations)
{
    struct fastmm_machine *machine = NULL;
    struct fastmm_machine_config bad[] = {
        {.frames = 0},
        {.frames = UINT64_MAX},
        {.frames = (UINT64_C(1) << 32) + 1},
        {.frames = 10, .levels = 3},
        {.frames = 10, .levels = 6},
        {.frames = 10, .unmap = (void (*)(void *, void *, size_t))abort},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EQUAL(fastmm_machine_create(&bad[i], &machine), -EINVAL);
    HOLDS(!machine);
}
END_TEST

/* Memory of the embedder's own, which counts what it gave and may refuse. */
struct pool {
    int left; /* pieces that may still be had */
    size_t bytes;
};

static void *pool_map(void *context, size_t bytes, size_t align)
{
    struct pool *pool = context;
    if (pool->left == 0)
        return NULL;
    pool->left--;
    void *memory = aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
    HOLDS(memory);
    memset(memory, 0, bytes);
    pool->bytes += bytes;
    return memory;
}

static void pool_unmap(void *context, void *memory, size_t bytes)
{
    struct pool *pool = context;
    pool->bytes -= bytes;
    free(memory);
}

START_TEST(memory_of_the_embedder)
{
    struct pool pool = {.left = 0};
    const struct fastmm_machine_config config = {
        .frames = 1 << 19, .map = pool_map, .unmap = pool_unmap, .context = &pool};
    struct fastmm_machine *machine = NULL;
    int rc = -ENOMEM;
    for (int pieces = 0; rc; pieces++) {
        pool.left = pieces;
        rc = fastmm_machine_create(&config, &machine);
        if (rc) {
            EQUAL(rc, -ENOMEM);
            EQUAL(pool.bytes, 0);
        }
    }
    pool.left = 1000;
    struct fastmm_mm *mm = new_mm(machine);
    map_at(mm, BASE, 4096, RW, NULL);
    for (uint64_t i = 0; i < 4096; i++)
        EQUAL(fastmm_mm_fault(mm, BASE + PAGES(i), FASTMM_WRITE), 0);
    EQUAL(stats_of(machine).huge_arena_bytes, 0);
    end_mm(mm);
    end_machine(machine);
    EQUAL(pool.bytes, 0);
}
END_TEST

/* --- Ranges and mappings --------------------------------------------------------------------- */

START_TEST(bad_ranges)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    map_at(mm, BASE, 4, RW, NULL);
    uint64_t end = fastmm_va_user_end(4), blocks = stats_of(machine).blocks;
    const struct {
        uint64_t from, to;
        int rc;
    } bad[] = {
        {BASE + 1, BASE + PAGES(1), -EINVAL},
        {BASE, BASE + 100, -EINVAL},
        {BASE, BASE, -EINVAL},
        {BASE + PAGES(1), BASE, -ERANGE},
        {UINT64_C(0) - PAGES(1), PAGES(1), -ERANGE},
        {end - PAGES(1), end + PAGES(1), -ERANGE},
        {end, end + PAGES(1), -ERANGE},
        {UINT64_C(0x0000800000000000), UINT64_C(0x0000800000001000), -ERANGE},
        {UINT64_C(0xffff800000000000), UINT64_C(0xffff800000001000), -ERANGE},
        {0, UINT64_MAX - 4095, -ERANGE},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct fastmm_map map = {bad[i].from, bad[i].to, RW, NULL, 0};
        struct fastmm_scan scan;
        EQUAL(fastmm_mm_map(mm, &map), bad[i].rc);
        EQUAL(fastmm_mm_unmap(mm, bad[i].from, bad[i].to), bad[i].rc);
        EQUAL(fastmm_mm_protect(mm, bad[i].from, bad[i].to, RW), bad[i].rc);
        EQUAL(fastmm_mm_zap(mm, bad[i].from, bad[i].to), bad[i].rc);
        EQUAL(fastmm_mm_scan(mm, bad[i].from, bad[i].to, &scan), bad[i].rc);
        EQUAL(fastmm_mm_uffd_register(mm, bad[i].from, bad[i].to, 0), bad[i].rc);
        EQUAL(fastmm_mm_uffd_unregister(mm, bad[i].from, bad[i].to), bad[i].rc);
        EQUAL(fastmm_mm_uffd_protect(mm, bad[i].from, bad[i].to), bad[i].rc);
        EQUAL(fastmm_mm_uffd_resolve(mm, bad[i].from, bad[i].to), bad[i].rc);
    }
    EQUAL(fastmm_mm_read(mm, BASE, SIZE_MAX, NULL), -ERANGE);
    EQUAL(fastmm_mm_access(mm, BASE, 0, FASTMM_READ, NULL), -EINVAL);
    EQUAL(stats_of(machine).blocks, blocks);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

START_TEST(bad_mappings)
{
    struct fastmm_machine *machine = new_machine(64), *other = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    struct fastmm_object *file, *foreign;
    EQUAL(fastmm_object_create(machine, FASTMM_OBJECT_FILE, 8, &file), 0);
    EQUAL(fastmm_object_create(other, FASTMM_OBJECT_FILE, 8, &foreign), 0);
    map_at(mm, BASE + PAGES(8), 4, RW, NULL);
    const struct {
        struct fastmm_map map;
        int rc;
    } bad[] = {
        {{BASE, BASE + PAGES(1), RW | FASTMM_VM_UFFD_WP, NULL, 0}, -EINVAL},
        {{BASE, BASE + PAGES(1), RW | FASTMM_VM_SHARED, NULL, 0}, -EINVAL},
        {{BASE, BASE + PAGES(1), RW, NULL, 7}, -EINVAL},
        {{BASE, BASE + PAGES(1), RW | FASTMM_VM_PFNMAP, file, 0}, -EINVAL},
        {{BASE, BASE + PAGES(1), RW, foreign, 0}, -EINVAL},
        {{BASE, BASE + PAGES(1), RW | FASTMM_VM_WIPEONFORK, file, 0}, -EINVAL},
        {{BASE, BASE + PAGES(2), RW | FASTMM_VM_PFNMAP, NULL, FASTMM_PFN_LIMIT - 1}, -EOVERFLOW},
        {{BASE, BASE + PAGES(1), RW, file, UINT64_MAX}, -EOVERFLOW},
        {{BASE, BASE + PAGES(9), RW, NULL, 0}, -EEXIST},
        {{BASE + PAGES(9), BASE + PAGES(10), RW, NULL, 0}, -EEXIST},
        {{BASE + PAGES(11), BASE + PAGES(13), RW, NULL, 0}, -EEXIST},
        {{0, fastmm_va_user_end(4), RW, NULL, 0}, -EEXIST},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EQUAL(fastmm_mm_map(mm, &bad[i].map), bad[i].rc);
    HOLDS(fastmm_mm_vma(mm, 1) == NULL);
    EQUAL(fastmm_object_create(machine, FASTMM_OBJECT_FILE, 0, &file), -EINVAL);
    EQUAL(fastmm_object_create(machine, FASTMM_OBJECT_FILE, UINT64_MAX, &file), -EINVAL);
    EQUAL(fastmm_object_read(file, 4, 5), -EINVAL);
    EQUAL(fastmm_object_read(file, UINT64_MAX, 2), -EINVAL);
    EQUAL(fastmm_machine_destroy(other), -EBUSY);
    fastmm_object_put(foreign);
    end_machine(other);
    fastmm_object_put(file);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* A mapping keeps its object alive, and splitting it keeps offsets right. */
START_TEST(objects_and_splits)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine);
    struct fastmm_object *shmem;
    EQUAL(fastmm_object_create(machine, FASTMM_OBJECT_SHMEM, 8, &shmem), 0);
    const struct fastmm_map shared = {BASE, BASE + PAGES(6), RW | FASTMM_VM_SHARED, shmem, 1};
    const struct fastmm_map raw = {BASE + PAGES(16), BASE + PAGES(22), RW | FASTMM_VM_PFNMAP, NULL,
                                   0x9000};
    EQUAL(fastmm_mm_map(mm, &shared), 0);
    EQUAL(fastmm_mm_map(mm, &raw), 0);
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(4), FASTMM_WRITE), 0);
    fastmm_object_put(shmem);
    EQUAL(stats_of(machine).objects, 1);
    EQUAL(fastmm_mm_unmap(mm, BASE + PAGES(2), BASE + PAGES(3)), 0);
    EQUAL(fastmm_mm_unmap(mm, BASE + PAGES(18), BASE + PAGES(19)), 0);
    EQUAL(fastmm_mm_find(mm, BASE + PAGES(4))->start, BASE + PAGES(3));
    EQUAL(fastmm_mm_find(mm, BASE + PAGES(4))->pgoff, 4);
    EQUAL(fastmm_mm_find(mm, BASE + PAGES(20))->pgoff, 0x9003);
    HOLDS(!fastmm_mm_find(mm, BASE + PAGES(2)));
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(19), FASTMM_WRITE), 0);
    EQUAL(stats_of(machine).pfn_reservations, 2);
    uint64_t pfn;
    EQUAL(fastmm_mm_pin(mm, BASE + PAGES(19), &pfn), -EINVAL);
    EQUAL(fastmm_mm_zap(mm, BASE + PAGES(16), BASE + PAGES(18)), -EINVAL);
    check_machine(machine);
    EQUAL(fastmm_mm_unmap(mm, 0, fastmm_va_user_end(4)), 0);
    EQUAL(stats_of(machine).objects, 0);
    EQUAL(fastmm_mm_tables(mm), 1);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* What tells the middle two apart isn't inherited; they join what changes, and not each other. */
START_TEST(alike_and_apart)
{
    struct fastmm_machine *machine = new_machine(64);
    struct fastmm_mm *mm = new_mm(machine), *child;
    map_at(mm, BASE, 4, RW, NULL);
    EQUAL(fastmm_mm_protect(mm, BASE, BASE + PAGES(1), FASTMM_VM_READ), 0);
    EQUAL(fastmm_mm_protect(mm, BASE + PAGES(3), BASE + PAGES(4), FASTMM_VM_READ), 0);
    EQUAL(fastmm_mm_uffd_register(mm, BASE + PAGES(1), BASE + PAGES(2), FASTMM_VM_UFFD_ASYNC), 0);
    EQUAL(fastmm_mm_uffd_register(mm, BASE + PAGES(2), BASE + PAGES(3), 0), 0);
    EQUAL(fastmm_mm_fork(mm, &child), 0);
    EQUAL(fastmm_mm_protect(child, BASE, BASE + PAGES(4), RW), 0);
    EQUAL(fastmm_mm_vma(child, 0)->end, BASE + PAGES(2));
    EQUAL(fastmm_mm_vma(child, 1)->end, BASE + PAGES(4));
    end_mm(child);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* DONTNEED over whole tables frees those that end up empty, and no others. */
START_TEST(empty_tables_go)
{
    struct fastmm_machine *machine = new_machine(4096);
    struct fastmm_mm *mm = new_mm(machine);
    map_at(mm, BASE, 3 * 512, RW, NULL);
    uint64_t bare = fastmm_mm_tables(mm);
    EQUAL(populate(mm, BASE + PAGES(600), 1, FASTMM_POPULATE_MARKER, FASTMM_MARKER_GUARD, 0), 0);
    for (uint64_t i = 0; i < 3 * 512; i++)
        if (i != 600)
            EQUAL(fastmm_mm_fault(mm, BASE + PAGES(i), FASTMM_WRITE), 0);
    uint64_t full = fastmm_mm_tables(mm);
    EQUAL(full, bare + 5); /* two levels above three leaf tables */
    EQUAL(fastmm_mm_zap(mm, BASE, BASE + PAGES(512 - 1)), 0);
    EQUAL(fastmm_mm_tables(mm), full);
    EQUAL(fastmm_mm_zap(mm, BASE, BASE + PAGES(3 * 512)), 0);
    EQUAL(fastmm_mm_tables(mm), full - 2); /* the guard keeps its table */
    EQUAL(fastmm_mm_fault(mm, BASE + PAGES(600), FASTMM_READ), FASTMM_FAULT_SIGSEGV);
    check_machine(machine);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

/* --- Loading --------------------------------------------------------------------------------- */

START_TEST(loading_refuses)
{
    struct fastmm_machine *machine = new_machine(4096);
    struct fastmm_mm *mm = new_mm(machine), *second = new_mm(machine);
    struct fastmm_object *file;
    uint64_t frame;
    EQUAL(fastmm_object_create(machine, FASTMM_OBJECT_FILE, 8, &file), 0);
    EQUAL(fastmm_machine_swap_on(machine, 0, 8), 0);
    EQUAL(fastmm_machine_swap_on(machine, 0, 8), -EBUSY);
    EQUAL(fastmm_machine_swap_on(machine, 23, 8), -EINVAL);
    EQUAL(fastmm_machine_swap_on(machine, 1, 0), -EINVAL);
    EQUAL(fastmm_machine_reserve(machine, 64, 3, &frame), -EINVAL);
    EQUAL(fastmm_machine_reserve(machine, 0, 1, &frame), -EINVAL);
    EQUAL(fastmm_machine_reserve(machine, 5000, 1, &frame), -ENOMEM);
    EQUAL(fastmm_machine_reserve(machine, 64, 64, &frame), 0);
    map_at(mm, BASE, 8, RW, NULL);
    map_at(mm, BASE + PAGES(8), 8, RW, file);
    map_at(mm, BASE + PAGES(16), 8, FASTMM_VM_READ, NULL);
    map_at(second, BASE, 8, RW, NULL);
    const uint32_t owned = FASTMM_POPULATE_WRITE | FASTMM_POPULATE_EXCLUSIVE;
    const struct {
        uint64_t page, count;
        enum fastmm_populate_kind kind;
        uint64_t value;
        uint32_t flags;
        int rc;
    } bad[] = {
        {0, 0, FASTMM_POPULATE_ANON, frame, 0, -EINVAL},
        {0, UINT64_MAX, FASTMM_POPULATE_ANON, frame, 0, -EINVAL},
        {0, UINT64_C(1) << 52, FASTMM_POPULATE_ANON, frame, 0, -EINVAL},
        {0, 9, FASTMM_POPULATE_ANON, frame, 0, -EINVAL},  /* leaves the mapping */
        {40, 1, FASTMM_POPULATE_ANON, frame, 0, -EINVAL}, /* in none */
        {0, 1, FASTMM_POPULATE_ANON, 0, 0, -EINVAL},
        {0, 1, FASTMM_POPULATE_ANON, UINT64_MAX, 0, -EINVAL},
        {0, 1, FASTMM_POPULATE_ANON, frame + 64, 0, -EINVAL}, /* not reserved */
        {0, 1, FASTMM_POPULATE_ANON, frame, FASTMM_POPULATE_WRITE, -EINVAL},
        {16, 1, FASTMM_POPULATE_ANON, frame, owned, -EINVAL}, /* read-only mapping */
        {0, 1, FASTMM_POPULATE_ANON, frame, FASTMM_POPULATE_UFFD_WP, -EINVAL},
        {0, 1, FASTMM_POPULATE_ANON, frame, 1u << 31, -EINVAL},
        {0, 1, (enum fastmm_populate_kind)9, frame, 0, -EINVAL},
        {0, 1, FASTMM_POPULATE_CACHE, 0, 0, -EINVAL},
        {8, 1, FASTMM_POPULATE_CACHE, frame + 64, 0, -EINVAL},
        {8, 1, FASTMM_POPULATE_CACHE, 0, owned, -EINVAL},
        {8, 1, FASTMM_POPULATE_ZERO, 0, 0, -EINVAL},
        {0, 1, FASTMM_POPULATE_ZERO, 0, FASTMM_POPULATE_DIRTY, -EINVAL},
        {0, 1, FASTMM_POPULATE_SWAP, 8, 0, -EINVAL},
        {0, 2, FASTMM_POPULATE_SWAP, UINT64_MAX, 0, -EINVAL},
        {0, 1, FASTMM_POPULATE_SWAP, 0, FASTMM_POPULATE_WRITE, -EINVAL},
        {0, 1, FASTMM_POPULATE_MARKER, 0, 0, -EINVAL},
        {0, 1, FASTMM_POPULATE_MARKER, 8, 0, -EINVAL},
        {0, 1, FASTMM_POPULATE_MARKER, 6, 0, -EINVAL},
        {0, 1, FASTMM_POPULATE_MARKER, FASTMM_MARKER_UFFD_WP, 0, -EINVAL},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EQUAL(populate(mm, BASE + PAGES(bad[i].page), bad[i].count, bad[i].kind, bad[i].value,
                       bad[i].flags),
              bad[i].rc);
    EQUAL(populate(mm, BASE + 5, 1, FASTMM_POPULATE_ZERO, 0, 0), -EINVAL);
    EQUAL(stats_of(machine).frames_reserved, 64);
    EQUAL(stats_of(machine).frames_used, 0);

    /* What is right works, runs stop at the first that isn't, and sharing is what was asked for. */
    const struct fastmm_populate runs[] = {
        {BASE, 4, frame, FASTMM_POPULATE_ANON, 0, owned},
        {BASE + PAGES(4), 2, frame + 4, FASTMM_POPULATE_ANON, 0, 0},
        {BASE + PAGES(2), 1, frame + 9, FASTMM_POPULATE_ANON, 0, 0}};
    size_t done = 9;
    EQUAL(fastmm_mm_populate(mm, runs, 3, &done), -EEXIST);
    EQUAL(done, 2);
    EQUAL(populate(second, BASE, 1, FASTMM_POPULATE_ANON, frame, 0), -EINVAL); /* exclusive */
    EQUAL(populate(second, BASE, 2, FASTMM_POPULATE_ANON, frame + 4, 0), 0);
    EQUAL(populate(mm, BASE + PAGES(8), 8, FASTMM_POPULATE_CACHE, frame + 20, 0), 0);
    check_machine(machine);
    EQUAL(rss_of(mm, FASTMM_RSS_ANON), 6);
    EQUAL(rss_of(mm, FASTMM_RSS_FILE), 8);
    EQUAL(fastmm_pte_pfn(pte_at(mm, BASE + PAGES(9))), frame + 21);
    EQUAL(fastmm_machine_unreserve(machine, frame, 64), 0);
    EQUAL(fastmm_machine_unreserve(machine, 0, 1), -EINVAL);
    EQUAL(fastmm_machine_unreserve(machine, frame, UINT64_MAX), -EINVAL);
    EQUAL(stats_of(machine).frames_reserved, 0);
    check_machine(machine);
    fastmm_object_put(file);
    end_mm(second);
    end_mm(mm);
    end_machine(machine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.machine");
    TCase *tcase = tcase_create("limits");
    tcase_add_test(tcase, bad_configurations);
    tcase_add_test(tcase, memory_of_the_embedder);
    tcase_add_test(tcase, bad_ranges);
    tcase_add_test(tcase, bad_mappings);
    tcase_add_test(tcase, objects_and_splits);
    tcase_add_test(tcase, alike_and_apart);
    tcase_add_test(tcase, empty_tables_go);
    tcase_add_test(tcase, loading_refuses);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
