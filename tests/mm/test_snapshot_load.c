/* SPDX-License-Identifier: MIT */
/*
 * Address spaces rebuilt from snapshots: entry by entry what the snapshot says, sound as a machine,
 * and nothing left of one that fails, wherever it fails.
 */
#include "snapshot_model.h"

#include <errno.h>
#include <fastmm/mm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 32768

static struct model model;
static unsigned char data[MODEL_BYTES];
static char breach[256];

static void note_breach(void *context, const struct fastmm_breach *b)
{
    (void)context;
    snprintf(breach, sizeof(breach), "%s at %llx", b->rule, (unsigned long long)b->addr);
}

static void assert_sound(struct fastmm_machine *machine)
{
    ck_assert_msg(fastmm_machine_check(machine, note_breach, NULL) == 0, "%s", breach);
}

static struct fastmm_machine *make_machine(const struct fastmm_snapshot_summary *sum)
{
    struct fastmm_machine_config config = {.frames = fastmm_snapshot_frames_needed(sum) + FRAMES,
                                           .levels = sum->levels};
    struct fastmm_machine *machine;
    ck_assert_int_eq(fastmm_machine_create(&config, &machine), 0);
    for (unsigned type = 0; type < FASTMM_SNAPSHOT_SWAP_TYPES; type++)
        if (sum->swap_slots[type])
            ck_assert_int_eq(fastmm_machine_swap_on(machine, type, sum->swap_slots[type]), 0);
    return machine;
}

static void drop(struct fastmm_machine *machine, struct fastmm_mm *mm)
{
    ck_assert_int_eq(fastmm_mm_destroy(mm, NULL), 0);
    assert_sound(machine);
    ck_assert_int_eq(fastmm_machine_destroy(machine), 0);
}

/*
 * Makes a random model one that a kernel could have had, which the format doesn't ask for: each
 * file of one kind, each page of a file in one frame, no anonymous frame twice, no zero page where
 * there is a file, one marker at a time, few swap slots.
 */
static void make_possible(struct model *m)
{
    uint64_t next_frame = 0, next_slot = 1;
    for (unsigned i = 0; i < m->areas; i++) {
        struct fastmm_snapshot_area *a = &m->area[i].area;
        unsigned kept = 0;
        if (a->kind == FASTMM_SNAPSHOT_AREA_FILE || a->kind == FASTMM_SNAPSHOT_AREA_SHMEM) {
            a->kind = a->file % 2 ? FASTMM_SNAPSHOT_AREA_FILE : FASTMM_SNAPSHOT_AREA_SHMEM;
            a->offset = 10000u * i; /* no two areas show the same page */
        }
        for (unsigned j = 0; j < m->area[i].runs; j++) {
            struct fastmm_snapshot_run *r = &m->area[i].run[j];
            if (r->kind == FASTMM_SNAPSHOT_RUN_ZERO && a->kind != FASTMM_SNAPSHOT_AREA_ANON)
                continue;
            if (r->kind == FASTMM_SNAPSHOT_RUN_SWAP && a->shared)
                continue;
            if (r->kind == FASTMM_SNAPSHOT_RUN_MARKER)
                r->value = r->value & 1 ? 1 : r->value & 2 ? 2 : 4;
            if (m->seen & FASTMM_SNAPSHOT_FRAMES && r->kind <= FASTMM_SNAPSHOT_RUN_FILE) {
                next_frame++;
                if (r->flags & FASTMM_SNAPSHOT_PMD)
                    next_frame = (next_frame + 511) & ~(uint64_t)511;
                r->value = next_frame;
                next_frame += r->pages;
            }
            if (m->seen & FASTMM_SNAPSHOT_FRAMES && r->kind == FASTMM_SNAPSHOT_RUN_SWAP) {
                r->swap_type %= 23;
                r->value = next_slot;
                next_slot += r->pages + 1;
            }
            m->area[i].run[kept++] = *r;
        }
        m->area[i].runs = kept;
    }
}

/* What the entry must look like for that page of the run. */
static void check_entry(const struct fastmm_snapshot_area *a, const struct fastmm_snapshot_run *r,
                        uint64_t i, fastmm_pte_t pte, uint64_t first_frame, uint32_t seen)
{
    bool wp = r->flags & FASTMM_SNAPSHOT_UFFD_WP;
    bool writable = a->prot & FASTMM_SNAPSHOT_WRITE && !wp;
    switch (r->kind) {
    case FASTMM_SNAPSHOT_RUN_SWAP:
        ck_assert(fastmm_pte_is_swp(pte));
        ck_assert_uint_eq(fastmm_swp_uffd_wp(pte), wp);
        if (seen & FASTMM_SNAPSHOT_FRAMES) {
            ck_assert_uint_eq(fastmm_swp_type(pte), r->swap_type);
            ck_assert_uint_eq(fastmm_swp_offset(pte), r->value + i);
        }
        return;
    case FASTMM_SNAPSHOT_RUN_MARKER:
        ck_assert_uint_eq(pte, fastmm_marker_make(r->value));
        return;
    default:
        break;
    }
    ck_assert(fastmm_pte_present(pte));
    ck_assert_uint_eq(!!(pte & FASTMM_PTE_UFFD_WP), wp);
    ck_assert_uint_eq(!!(pte & FASTMM_PTE_SPECIAL), r->kind == FASTMM_SNAPSHOT_RUN_ZERO);
    if (r->kind == FASTMM_SNAPSHOT_RUN_ZERO) {
        ck_assert_uint_eq(fastmm_pte_pfn(pte), FASTMM_PFN_ZERO);
        return;
    }
    if (seen & FASTMM_SNAPSHOT_FRAMES)
        ck_assert_uint_eq(fastmm_pte_pfn(pte), first_frame + r->value + i);
    if (r->kind == FASTMM_SNAPSHOT_RUN_ANON) {
        ck_assert(fastmm_pte_dirty(pte));
        ck_assert_uint_eq(fastmm_pte_write(pte), writable && r->flags & FASTMM_SNAPSHOT_EXCLUSIVE);
    } else {
        ck_assert_uint_eq(fastmm_pte_write(pte),
                          writable && a->shared && a->kind == FASTMM_SNAPSHOT_AREA_SHMEM);
    }
}

/* Every page of every area; empty ones must be empty. */
static void check_entries(const unsigned char *bytes, size_t size, const struct fastmm_mm *mm)
{
    struct fastmm_snapshot_summary sum;
    struct fastmm_snapshot_cursor c;
    struct fastmm_snapshot_area a;
    struct fastmm_snapshot_run r;
    uint64_t first_frame = UINT64_MAX, areas = 0;
    ck_assert_int_eq(fastmm_snapshot_open(bytes, size, &sum, NULL, &c), 0);
    for (; fastmm_snapshot_next_area(&c, &a) > 0; areas++) {
        const struct fastmm_vma *vma = fastmm_mm_vma(mm, areas);
        ck_assert_ptr_nonnull(vma);
        ck_assert_uint_eq(vma->start, a.start);
        ck_assert_uint_eq(vma->end, a.end);
        ck_assert_uint_eq(!!(vma->flags & FASTMM_VM_SHARED), a.shared);
        ck_assert_uint_eq(vma->flags & FASTMM_VM_PROT, a.prot);
        ck_assert_uint_eq(vma->pgoff, vma->object ? a.offset : a.start >> 12);
        uint64_t at = a.start;
        fastmm_pte_t pte;
        while (fastmm_snapshot_next_run(&c, &r) > 0) {
            for (; at < r.address; at += 4096) {
                ck_assert_int_eq(fastmm_mm_lookup(mm, at, &pte), 0);
                ck_assert_uint_eq(pte, 0);
            }
            for (uint64_t i = 0; i < r.pages; i++, at += 4096) {
                ck_assert_int_eq(fastmm_mm_lookup(mm, at, &pte), 0);
                if (first_frame == UINT64_MAX && r.kind <= FASTMM_SNAPSHOT_RUN_FILE)
                    first_frame = fastmm_pte_pfn(pte) - r.value;
                check_entry(&a, &r, i, pte, first_frame, sum.seen);
            }
        }
        for (; at < a.end; at += 4096) {
            ck_assert_int_eq(fastmm_mm_lookup(mm, at, &pte), 0);
            ck_assert_uint_eq(pte, 0);
        }
    }
    ck_assert_ptr_null(fastmm_mm_vma(mm, areas));
}

/* What a scan counts, and the resident set, must be what the summary counted. */
static void check_counts(const struct fastmm_snapshot_summary *sum, const struct fastmm_mm *mm)
{
    struct fastmm_scan scan = {0};
    int64_t rss[FASTMM_RSS_COUNTERS];
    ck_assert_int_eq(fastmm_mm_scan(mm, 0, UINT64_MAX, &scan), 0);
    ck_assert_uint_eq(scan.present, sum->anon_pages + sum->file_pages + sum->zero_pages);
    ck_assert_uint_eq(scan.special, sum->zero_pages);
    ck_assert_uint_eq(scan.swap, sum->swap_pages);
    ck_assert_uint_eq(scan.markers, sum->marker_pages);
    fastmm_mm_rss(mm, rss);
    ck_assert_int_eq(rss[FASTMM_RSS_ANON], (int64_t)sum->anon_pages);
    ck_assert_int_eq(rss[FASTMM_RSS_FILE] + rss[FASTMM_RSS_SHMEM], (int64_t)sum->file_pages);
    ck_assert_int_eq(rss[FASTMM_RSS_SWAP], (int64_t)sum->swap_pages);
    if (!sum->pmd_pages) {
        uint64_t tables = 0;
        for (unsigned i = 0; i < 5; i++)
            tables += sum->tables[i];
        ck_assert_uint_eq(fastmm_mm_tables(mm), tables ? tables : 1); /* the root always is */
    }
}

START_TEST(random_spaces_are_rebuilt_entry_by_entry)
{
    uint64_t state = test_seed();
    unsigned rounds = test_long() ? 1000 : 60;
    for (unsigned i = 0; i < rounds; i++) {
        struct fastmm_snapshot_summary sum;
        struct fastmm_snapshot_cursor c;
        struct fastmm_snapshot_error error = {0};
        struct fastmm_mm *mm;
        model_random(&model, &state);
        make_possible(&model);
        size_t size = model_encode(&model, data, sizeof(data));
        ck_assert_int_eq(fastmm_snapshot_open(data, size, &sum, NULL, &c), 0);
        struct fastmm_machine *machine = make_machine(&sum);
        int rc = fastmm_snapshot_load(data, size, machine, &error, &mm);
        ck_assert_msg(rc == 0, "round %u: %d, %s at %llu", i, rc,
                      fastmm_snapshot_reason_text(error.reason), (unsigned long long)error.offset);
        check_counts(&sum, mm);
        check_entries(data, size, mm);
        assert_sound(machine);
        drop(machine, mm);
    }
}
END_TEST

/* --- The recorded redis-server -----------------------------------------------------------------
 */

static unsigned char *read_redis(size_t *size)
{
    FILE *file = fopen(REDIS_SNAPSHOT, "rb");
    ck_assert_ptr_nonnull(file);
    unsigned char *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

START_TEST(redis_is_rebuilt_forked_and_ended)
{
    struct fastmm_snapshot_summary sum;
    struct fastmm_snapshot_cursor c;
    struct fastmm_mm *mm, *child;
    size_t size;
    unsigned char *bytes = read_redis(&size);
    ck_assert_int_eq(fastmm_snapshot_open(bytes, size, &sum, NULL, &c), 0);
    ck_assert_uint_eq(sum.seen & FASTMM_SNAPSHOT_FRAMES, FASTMM_SNAPSHOT_FRAMES);
    ck_assert_uint_ge(sum.anon_pages, 40000);
    struct fastmm_machine *machine = make_machine(&sum);
    ck_assert_int_eq(fastmm_snapshot_load(bytes, size, machine, NULL, &mm), 0);
    check_counts(&sum, mm);
    check_entries(bytes, size, mm);
    assert_sound(machine);
    ck_assert_int_eq(fastmm_mm_fork(mm, &child), 0);
    assert_sound(machine);
    ck_assert_int_eq(fastmm_mm_destroy(child, NULL), 0);
    check_counts(&sum, mm);
    drop(machine, mm);
    free(bytes);
}
END_TEST

/* --- Failures ------------------------------------------------------------------------------------
 */

static void assert_same_stats(const struct fastmm_machine *machine,
                              const struct fastmm_machine_stats *before)
{
    struct fastmm_machine_stats after;
    fastmm_machine_get_stats(machine, &after);
    ck_assert_uint_eq(after.frames_used, before->frames_used);
    ck_assert_uint_eq(after.frames_reserved, before->frames_reserved);
    ck_assert_uint_eq(after.frames_free, before->frames_free);
    ck_assert_uint_eq(after.mms, before->mms);
    ck_assert_uint_eq(after.objects, before->objects);
    ck_assert_uint_eq(after.tables, before->tables);
    ck_assert_uint_eq(after.blocks, before->blocks);
    ck_assert_uint_eq(after.swap_used, before->swap_used);
}

START_TEST(every_allocation_may_fail)
{
    uint64_t state = test_seed() + 1;
    struct fastmm_snapshot_summary sum;
    struct fastmm_snapshot_cursor c;
    size_t size;
    do {
        model_random(&model, &state);
        make_possible(&model);
        size = model_encode(&model, data, sizeof(data));
        ck_assert_int_eq(fastmm_snapshot_open(data, size, &sum, NULL, &c), 0);
    } while (sum.files < 2 || sum.runs < 20 || sum.frames < 20 || sum.frames > 2048);
    struct fastmm_machine_config config = {.frames = 1 << 21, .levels = sum.levels};
    struct fastmm_machine *machine;
    ck_assert_int_eq(fastmm_machine_create(&config, &machine), 0);
    for (unsigned type = 0; type < FASTMM_SNAPSHOT_SWAP_TYPES; type++)
        if (sum.swap_slots[type])
            ck_assert_int_eq(fastmm_machine_swap_on(machine, type, sum.swap_slots[type]), 0);
    struct fastmm_machine_stats before;
    struct fastmm_mm *const unset = (struct fastmm_mm *)&state;
    struct fastmm_mm *mm = unset;
    int rc = -ENOMEM;
    unsigned failures = 0;
    /* Frames that were reserved once can't be again: there are enough for this many rounds. */
    for (; rc; failures++) {
        struct fastmm_snapshot_error error = {0, FASTMM_SNAPSHOT_BAD_RUN};
        fastmm_machine_get_stats(machine, &before);
        fastmm_machine_fail_after(machine, failures);
        rc = fastmm_snapshot_load(data, size, machine, &error, &mm);
        fastmm_machine_fail_after(machine, UINT64_MAX);
        if (!rc)
            break;
        ck_assert_int_eq(rc, -ENOMEM);
        ck_assert_uint_lt(failures, 1000);
        ck_assert_int_eq(error.reason, FASTMM_SNAPSHOT_OK);
        ck_assert_ptr_eq(mm, unset);
        assert_same_stats(machine, &before);
    }
    ck_assert_uint_gt(failures, 10);
    assert_sound(machine);
    drop(machine, mm);
}
END_TEST

#define NONE FASTMM_SNAPSHOT_NO_FILE
#define ALL  7u

/* Contradictions that the format can't see: two areas of two runs each, up to kind 0. */
static const struct {
    const char *what;
    struct fastmm_snapshot_area area[2];
    struct fastmm_snapshot_run run[2];
    int rc;
    enum fastmm_snapshot_reason reason;
} contradictions[] = {
    {"exclusive frame twice",
     {{0x10000, 0x11000, 0, NONE, 3, 0, 0}, {0x20000, 0x21000, 0, NONE, 3, 0, 0}},
     {{0x10000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, FASTMM_SNAPSHOT_EXCLUSIVE, 0},
      {0x20000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}},
     -EBADMSG,
     FASTMM_SNAPSHOT_BAD_FRAME},
    {"frame that is anonymous and a file's",
     {{0x10000, 0x11000, 0, NONE, 3, 0, 0},
      {0x20000, 0x21000, 0, 0, 3, 0, FASTMM_SNAPSHOT_AREA_FILE}},
     {{0x10000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0},
      {0x20000, 1, 0, FASTMM_SNAPSHOT_RUN_FILE, 0, 0}},
     -EBADMSG,
     FASTMM_SNAPSHOT_BAD_FRAME},
    {"page of a file in two frames",
     {{0x10000, 0x11000, 0, 0, 3, 0, FASTMM_SNAPSHOT_AREA_FILE},
      {0x20000, 0x21000, 0, 0, 1, 1, FASTMM_SNAPSHOT_AREA_FILE}},
     {{0x10000, 1, 0, FASTMM_SNAPSHOT_RUN_FILE, 0, 0},
      {0x20000, 1, 1, FASTMM_SNAPSHOT_RUN_FILE, 0, 0}},
     -EBADMSG,
     FASTMM_SNAPSHOT_BAD_FRAME},
    {"file that is shared memory too",
     {{0x10000, 0x11000, 0, 0, 3, 0, FASTMM_SNAPSHOT_AREA_FILE},
      {0x20000, 0x21000, 0, 0, 3, 0, FASTMM_SNAPSHOT_AREA_SHMEM}},
     {{0}, {0}},
     -EBADMSG,
     FASTMM_SNAPSHOT_BAD_FILE},
    {"file of absurd size",
     {{0x10000, 0x11000, 0, NONE, 3, 0, 0},
      {0x20000, 0x21000, (uint64_t)1 << 50, 0, 3, 0, FASTMM_SNAPSHOT_AREA_FILE}},
     {{0}, {0}},
     -EBADMSG,
     FASTMM_SNAPSHOT_BAD_FILE},
    {"zero page of a file",
     {{0x10000, 0x11000, 0, 0, 3, 0, FASTMM_SNAPSHOT_AREA_FILE},
      {0x20000, 0x21000, 0, NONE, 3, 0, 0}},
     {{0x10000, 1, 0, FASTMM_SNAPSHOT_RUN_ZERO, 0, 0}, {0}},
     -EBADMSG,
     FASTMM_SNAPSHOT_WRONG_BACKING},
    {"swap area that the machine lacks",
     {{0x10000, 0x11000, 0, NONE, 3, 0, 0}, {0x20000, 0x21000, 0, NONE, 3, 0, 0}},
     {{0x10000, 1, 5, FASTMM_SNAPSHOT_RUN_SWAP, 0, 3}, {0}},
     -EBADMSG,
     FASTMM_SNAPSHOT_BAD_SWAP},
    {"two markers at once",
     {{0x10000, 0x11000, 0, NONE, 3, 0, 0}, {0x20000, 0x21000, 0, NONE, 3, 0, 0}},
     {{0x10000, 1, 6, FASTMM_SNAPSHOT_RUN_MARKER, 0, 0}, {0}},
     -EBADMSG,
     FASTMM_SNAPSHOT_BAD_RUN},
    {"more frames than the machine has",
     {{0x10000, 0x11000, 0, NONE, 3, 0, 0}, {0x40000000, 0x60000000, 0, NONE, 3, 0, 0}},
     {{0}, {0x40000000, 131072, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}},
     -ENOMEM,
     FASTMM_SNAPSHOT_OK},
};

static size_t encode_contradiction(unsigned row)
{
    struct fastmm_snapshot_writer w;
    size_t size = 0;
    ck_assert_int_eq(fastmm_snapshot_begin(data, sizeof(data), ALL, 4, &w), 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(fastmm_snapshot_add_area(&w, &contradictions[row].area[i], NULL), 0);
        if (contradictions[row].run[i].kind)
            ck_assert_int_eq(fastmm_snapshot_add_run(&w, &contradictions[row].run[i], NULL), 0);
    }
    ck_assert_int_eq(fastmm_snapshot_finish(&w, &size), 0);
    return size;
}

START_TEST(contradictions_are_refused_and_leave_nothing)
{
    struct fastmm_machine_config config = {.frames = FRAMES};
    struct fastmm_machine *machine;
    struct fastmm_machine_stats before;
    struct fastmm_mm *mm = NULL;
    ck_assert_int_eq(fastmm_machine_create(&config, &machine), 0);
    fastmm_machine_get_stats(machine, &before);
    for (unsigned i = 0; i < sizeof(contradictions) / sizeof(contradictions[0]); i++) {
        struct fastmm_snapshot_error error = {0, FASTMM_SNAPSHOT_REASONS};
        size_t size = encode_contradiction(i);
        int rc = fastmm_snapshot_load(data, size, machine, &error, &mm);
        ck_assert_msg(rc == contradictions[i].rc && error.reason == contradictions[i].reason,
                      "%s: %d, %s", contradictions[i].what, rc,
                      fastmm_snapshot_reason_text(error.reason));
        ck_assert_uint_le(error.offset, size);
        ck_assert_ptr_null(mm);
        assert_same_stats(machine, &before);
    }
    data[60] ^= 1;
    struct fastmm_snapshot_error error = {0};
    ck_assert_int_eq(fastmm_snapshot_load(data, 80, machine, &error, &mm), -EBADMSG);
    ck_assert_int_ne(error.reason, FASTMM_SNAPSHOT_OK);
    assert_sound(machine);
    ck_assert_int_eq(fastmm_machine_destroy(machine), 0);
}
END_TEST

START_TEST(five_levels_need_a_machine_of_five)
{
    struct fastmm_machine_config config = {.frames = FRAMES, .levels = 4};
    const struct fastmm_snapshot_area high = {
        (uint64_t)1 << 50, ((uint64_t)1 << 50) + 4096, 0, NONE, 3, 0, 0};
    struct fastmm_snapshot_writer w;
    struct fastmm_snapshot_error error = {0, FASTMM_SNAPSHOT_REASONS};
    struct fastmm_machine *machine;
    struct fastmm_mm *mm = NULL;
    size_t size;
    ck_assert_int_eq(fastmm_snapshot_begin(data, sizeof(data), ALL, 5, &w), 0);
    ck_assert_int_eq(fastmm_snapshot_add_area(&w, &high, NULL), 0);
    ck_assert_int_eq(fastmm_snapshot_finish(&w, &size), 0);
    ck_assert_int_eq(fastmm_machine_create(&config, &machine), 0);
    ck_assert_int_eq(fastmm_snapshot_load(data, size, machine, &error, &mm), -ERANGE);
    ck_assert_int_eq(error.reason, FASTMM_SNAPSHOT_OK);
    ck_assert_int_eq(fastmm_machine_destroy(machine), 0);
    config.levels = 5;
    ck_assert_int_eq(fastmm_machine_create(&config, &machine), 0);
    ck_assert_int_eq(fastmm_snapshot_load(data, size, machine, &error, &mm), 0);
    drop(machine, mm);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.snapshot_load");
    TCase *tc = tcase_create("load");
    tcase_add_test(tc, random_spaces_are_rebuilt_entry_by_entry);
    tcase_add_test(tc, redis_is_rebuilt_forked_and_ended);
    tcase_set_timeout(tc, 600);
    suite_add_tcase(suite, tc);
    TCase *failures = tcase_create("failures");
    tcase_add_test(failures, every_allocation_may_fail);
    tcase_add_test(failures, contradictions_are_refused_and_leave_nothing);
    tcase_add_test(failures, five_levels_need_a_machine_of_five);
    tcase_set_timeout(failures, 120);
    suite_add_tcase(suite, failures);
    return test_main(suite);
}
