/* SPDX-License-Identifier: MIT */
/* Good snapshots: what is written is what is read, byte for byte as documented. */
#include "snapshot_model.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static struct model expected, got;
static unsigned char data[MODEL_BYTES], again[MODEL_BYTES];

START_TEST(random_spaces_survive_a_round_trip)
{
    uint64_t state = test_seed();
    unsigned rounds = test_long() ? 100000 : 1000;
    for (unsigned i = 0; i < rounds; i++) {
        struct fastmm_snapshot_summary sum;
        struct fastmm_snapshot_error error = {0};
        model_random(&expected, &state);
        size_t size = model_encode(&expected, data, sizeof(data));
        int rc = model_decode(data, size, &got, &sum, &error);
        ck_assert_msg(rc == 0, "round %u: %s at %llu", i, fastmm_snapshot_reason_text(error.reason),
                      (unsigned long long)error.offset);
        model_assert_equal(&expected, &got);
        size_t size_again = model_encode(&got, again, sizeof(again));
        ck_assert_uint_eq(size, size_again);
        ck_assert_mem_eq(data, again, size);
    }
}
END_TEST

/* Page by page is the recorder's way; it must give the same bytes. */
START_TEST(pages_added_one_by_one_are_joined)
{
    uint64_t state = test_seed() + 1;
    for (unsigned i = 0; i < 200; i++) {
        struct fastmm_snapshot_writer w;
        size_t size = 0;
        model_random(&expected, &state);
        size_t whole = model_encode(&expected, data, sizeof(data));
        ck_assert_int_eq(
            fastmm_snapshot_begin(again, sizeof(again), expected.seen, expected.levels, &w), 0);
        for (unsigned a = 0; a < expected.areas; a++) {
            ck_assert_int_eq(fastmm_snapshot_add_area(&w, &expected.area[a].area, NULL), 0);
            for (unsigned j = 0; j < expected.area[a].runs; j++) {
                struct fastmm_snapshot_run r = expected.area[a].run[j];
                uint64_t piece = r.flags & FASTMM_SNAPSHOT_PMD ? 512 : 1;
                uint64_t step = (expected.seen & FASTMM_SNAPSHOT_FRAMES) &&
                                r.kind != FASTMM_SNAPSHOT_RUN_ZERO &&
                                r.kind != FASTMM_SNAPSHOT_RUN_MARKER;
                for (uint64_t left = r.pages; left; left -= piece) {
                    r.pages = piece;
                    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &r, NULL), 0);
                    r.address += piece << 12;
                    r.value += step * piece;
                }
            }
        }
        ck_assert_int_eq(fastmm_snapshot_finish(&w, &size), 0);
        ck_assert_uint_eq(size, whole);
        ck_assert_mem_eq(data, again, size);
    }
}
END_TEST

/* Counts page by page what the library counts run by run. */
static void count_by_hand(const struct model *m, struct fastmm_snapshot_summary *sum)
{
    uint64_t last[5] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull};
    memset(sum, 0, sizeof(*sum));
    sum->seen = m->seen;
    sum->levels = m->levels;
    sum->areas = m->areas;
    for (unsigned i = 0; i < m->areas; i++) {
        const struct fastmm_snapshot_area *a = &m->area[i].area;
        sum->area_pages += (a->end - a->start) / 4096;
        if (a->file != FASTMM_SNAPSHOT_NO_FILE && a->file >= sum->files)
            sum->files = a->file + 1;
        sum->runs += m->area[i].runs;
        for (unsigned j = 0; j < m->area[i].runs; j++) {
            const struct fastmm_snapshot_run *r = &m->area[i].run[j];
            for (uint64_t p = 0; p < r->pages; p++) {
                uint64_t page = r->address / 4096 + p;
                sum->anon_pages += r->kind == FASTMM_SNAPSHOT_RUN_ANON;
                sum->file_pages += r->kind == FASTMM_SNAPSHOT_RUN_FILE;
                sum->zero_pages += r->kind == FASTMM_SNAPSHOT_RUN_ZERO;
                sum->swap_pages += r->kind == FASTMM_SNAPSHOT_RUN_SWAP;
                sum->marker_pages += r->kind == FASTMM_SNAPSHOT_RUN_MARKER;
                sum->exclusive_pages += !!(r->flags & FASTMM_SNAPSHOT_EXCLUSIVE);
                sum->uffd_wp_pages += !!(r->flags & FASTMM_SNAPSHOT_UFFD_WP);
                if (r->kind == FASTMM_SNAPSHOT_RUN_SWAP) {
                    bool numbered = m->seen & FASTMM_SNAPSHOT_FRAMES;
                    uint64_t slots = numbered ? r->value + p + 1 : sum->swap_pages;
                    if (slots > sum->swap_slots[r->swap_type])
                        sum->swap_slots[r->swap_type] = slots;
                }
                sum->soft_dirty_pages += !!(r->flags & FASTMM_SNAPSHOT_SOFT_DIRTY);
                sum->pmd_pages += !!(r->flags & FASTMM_SNAPSHOT_PMD);
                for (unsigned level = r->flags & FASTMM_SNAPSHOT_PMD ? 1 : 0; level < m->levels;
                     level++) {
                    uint64_t table = page >> (9 * level + 9);
                    sum->tables[level] += table != last[level];
                    last[level] = table;
                }
            }
            if (r->kind <= FASTMM_SNAPSHOT_RUN_FILE && (m->seen & FASTMM_SNAPSHOT_FRAMES) &&
                r->value + r->pages > sum->frames)
                sum->frames = r->value + r->pages;
        }
    }
}

START_TEST(summary_is_what_a_count_by_hand_gives)
{
    uint64_t state = test_seed() + 2;
    for (unsigned i = 0; i < 300; i++) {
        struct fastmm_snapshot_summary sum, by_hand;
        model_random(&expected, &state);
        size_t size = model_encode(&expected, data, sizeof(data));
        ck_assert_int_eq(model_decode(data, size, &got, &sum, NULL), 0);
        count_by_hand(&expected, &by_hand);
        ck_assert_mem_eq(&sum, &by_hand, sizeof(sum));
    }
}
END_TEST

/*
 * 0x10000 [heap  A A . S S ] two pages of frames 5 and 6, a gap, two swapped out at offset 9
 *         [file  F         ] touching it, of frame 2
 */
START_TEST(bytes_are_those_documented)
{
    struct bytes body = {0}, whole;
    bytes_add(&body, 3, 0x10, 4, 0x43);       /* 16 pages up, 5 pages, rw heap */
    bytes_add(&body, 4, 0x0a, 0x15, 0, 0);    /* exclusive anon: 5 forward, more than 1: 2; end */
    bytes_add(&body, 2, 1, 0);                /* gap of 1 */
    bytes_add(&body, 5, 0x05, 3, 0x25, 0, 0); /* swap of type 3: 9 forward, 2 pages; end */
    bytes_add(&body, 1, 0);                   /* end of the heap */
    bytes_add(&body, 5, 0, 0, 0x15, 0, 7);    /* at once, 1 page, r-x private file 0, offset 7 */
    bytes_add(&body, 3, 0x03, 0x12, 0);       /* file page: 5 back from 7; end */
    bytes_add(&body, 1, 0);
    bytes_snapshot(&whole, &body, FASTMM_SNAPSHOT_FRAMES, 2, 3, 7);

    memset(&expected, 0, sizeof(expected));
    expected.seen = FASTMM_SNAPSHOT_FRAMES;
    expected.levels = 4;
    expected.areas = 2;
    expected.area[0] = (struct model_area){
        .area = {.start = 0x10000,
                 .end = 0x15000,
                 .file = FASTMM_SNAPSHOT_NO_FILE,
                 .prot = 3,
                 .kind = FASTMM_SNAPSHOT_AREA_HEAP},
        .runs = 2,
        .run = {{0x10000, 2, 5, FASTMM_SNAPSHOT_RUN_ANON, FASTMM_SNAPSHOT_EXCLUSIVE, 0},
                {0x13000, 2, 9, FASTMM_SNAPSHOT_RUN_SWAP, 0, 3}}};
    expected.area[1] =
        (struct model_area){.area = {.start = 0x15000,
                                     .end = 0x16000,
                                     .offset = 7,
                                     .file = 0,
                                     .prot = 5,
                                     .kind = FASTMM_SNAPSHOT_AREA_FILE},
                            .runs = 1,
                            .run = {{0x15000, 1, 2, FASTMM_SNAPSHOT_RUN_FILE, 0, 0}}};

    size_t size = model_encode(&expected, data, sizeof(data));
    ck_assert_uint_eq(size, whole.size);
    ck_assert_mem_eq(data, whole.data, size);
}
END_TEST

START_TEST(reading_areas_alone_leaves_out_their_runs)
{
    uint64_t state = test_seed() + 3;
    for (unsigned i = 0; i < 100; i++) {
        struct fastmm_snapshot_cursor c;
        struct fastmm_snapshot_area area;
        struct fastmm_snapshot_run run;
        model_random(&expected, &state);
        size_t size = model_encode(&expected, data, sizeof(data));
        ck_assert_int_eq(fastmm_snapshot_open(data, size, NULL, NULL, &c), 0);
        ck_assert_int_eq(fastmm_snapshot_next_run(&c, &run), 0);
        for (unsigned a = 0; a < expected.areas; a++) {
            ck_assert_int_eq(fastmm_snapshot_next_area(&c, &area), 1);
            ck_assert_uint_eq(area.start, expected.area[a].area.start);
            if (a % 2 && expected.area[a].runs) {
                ck_assert_int_eq(fastmm_snapshot_next_run(&c, &run), 1);
                ck_assert_uint_eq(run.value, expected.area[a].run[0].value);
            }
        }
        ck_assert_int_eq(fastmm_snapshot_next_area(&c, &area), 0);
        ck_assert_int_eq(fastmm_snapshot_next_area(&c, &area), 0);
        ck_assert_int_eq(fastmm_snapshot_next_run(&c, &run), 0);
    }
}
END_TEST

/* A buffer of every size below the right one is refused, and not a byte past it is touched. */
START_TEST(a_buffer_too_small_is_refused_without_a_trace)
{
    uint64_t state = test_seed() + 4;
    do {
        model_random(&expected, &state);
    } while (expected.areas == 0 || expected.areas > 4);
    size_t whole = model_encode(&expected, data, sizeof(data));
    for (size_t capacity = 0; capacity < whole; capacity++) {
        struct fastmm_snapshot_writer w, before;
        size_t size = 1234;
        memset(again, 0xee, sizeof(again));
        int rc = fastmm_snapshot_begin(again, capacity, expected.seen, expected.levels, &w);
        for (unsigned a = 0; a < expected.areas && !rc; a++) {
            before = w;
            rc = fastmm_snapshot_add_area(&w, &expected.area[a].area, NULL);
            for (unsigned j = 0; j < expected.area[a].runs && !rc; j++) {
                before = w;
                rc = fastmm_snapshot_add_run(&w, &expected.area[a].run[j], NULL);
            }
        }
        if (!rc) {
            before = w;
            rc = fastmm_snapshot_finish(&w, &size);
        }
        ck_assert_int_eq(rc, -ENOSPC);
        ck_assert_uint_eq(size, 1234);
        if (capacity >= 52)
            ck_assert_mem_eq(&w, &before, sizeof(w));
        for (size_t i = capacity; i < whole + 16; i++)
            ck_assert_uint_eq(again[i], 0xee);
    }
}
END_TEST

/* --- what the writer must refuse ------------------------------------------------------------- */

#define NONE FASTMM_SNAPSHOT_NO_FILE
#define TOP  ((uint64_t)1 << 47)

static const struct {
    struct fastmm_snapshot_area area;
    enum fastmm_snapshot_reason reason;
} bad_areas[] = {
    {{0x1000, 0x3000, 0, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_OVERLAP},
    {{0x10000, 0x30000, 0, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_OVERLAP},
    {{0x1f000, 0x21000, 0, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_OVERLAP},
    {{0x20000, 0x20000, 0, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_EMPTY_AREA},
    {{0x30000, 0x20000, 0, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_EMPTY_AREA},
    {{0x20001, 0x21000, 0, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_UNALIGNED},
    {{0x20000, 0x20fff, 0, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_UNALIGNED},
    {{0x20000, TOP + 0x1000, 0, NONE, 3, 0, 0}, FASTMM_SNAPSHOT_NON_CANONICAL},
    {{0x20000, TOP, 0, NONE, 3, 0, 0}, FASTMM_SNAPSHOT_NON_CANONICAL},
    {{TOP, TOP + 0x1000, 0, NONE, 3, 0, 0}, FASTMM_SNAPSHOT_NON_CANONICAL},
    {{~(uint64_t)0xfff, 0x1000, 0, NONE, 3, 0, 0}, FASTMM_SNAPSHOT_NON_CANONICAL},
    {{0x20000, 0x21000, 0, NONE, 8, 0, 0}, FASTMM_SNAPSHOT_BAD_AREA},
    {{0x20000, 0x21000, 0, NONE, 3, 2, 0}, FASTMM_SNAPSHOT_BAD_AREA},
    {{0x20000, 0x21000, 0, NONE, 3, 0, 8}, FASTMM_SNAPSHOT_BAD_AREA},
    {{0x20000, 0x21000, 0, NONE, 3, 1, FASTMM_SNAPSHOT_AREA_HEAP}, FASTMM_SNAPSHOT_BAD_AREA},
    {{0x20000, 0x21000, 0, 0, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_BAD_FILE},
    {{0x20000, 0x21000, 1, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_ANON}, FASTMM_SNAPSHOT_BAD_FILE},
    {{0x20000, 0x21000, 0, NONE, 3, 0, FASTMM_SNAPSHOT_AREA_FILE}, FASTMM_SNAPSHOT_BAD_FILE},
    {{0x20000, 0x21000, 0, 2, 3, 0, FASTMM_SNAPSHOT_AREA_FILE}, FASTMM_SNAPSHOT_BAD_FILE},
    {{0x20000, 0x21000, (uint64_t)1 << 51, 0, 3, 0, FASTMM_SNAPSHOT_AREA_FILE},
     FASTMM_SNAPSHOT_BAD_FILE},
    {{0x20000, 0x21000, UINT64_MAX, 0, 3, 0, FASTMM_SNAPSHOT_AREA_SHMEM}, FASTMM_SNAPSHOT_BAD_FILE},
};

/* In the area 0x10000 .. 0x20000, a private file, with a run over its first page. */
static const struct {
    struct fastmm_snapshot_run run;
    enum fastmm_snapshot_reason reason;
} bad_runs[] = {
    {{0x11000, 1, 0, 0, 0, 0}, FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 0, 1, 0, 0}, FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 0, 7, 0, 0}, FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 0, 200, 0, 0}, FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0x80, 0}, FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_SWAP, FASTMM_SNAPSHOT_EXCLUSIVE, 0},
     FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 1, FASTMM_SNAPSHOT_RUN_MARKER, FASTMM_SNAPSHOT_UFFD_WP, 0},
     FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_MARKER, 0, 0}, FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 8, FASTMM_SNAPSHOT_RUN_MARKER, 0, 0}, FASTMM_SNAPSHOT_BAD_RUN},
    {{0x11000, 1, 1, FASTMM_SNAPSHOT_RUN_ZERO, 0, 0}, FASTMM_SNAPSHOT_BAD_FRAME},
    {{0x11001, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}, FASTMM_SNAPSHOT_UNALIGNED},
    {{0x10000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}, FASTMM_SNAPSHOT_OVERLAP},
    {{0x11000, 0, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}, FASTMM_SNAPSHOT_EMPTY_RUN},
    {{0x20000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}, FASTMM_SNAPSHOT_RUN_BEYOND_AREA},
    {{0x11000, 16, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}, FASTMM_SNAPSHOT_RUN_BEYOND_AREA},
    {{0x11000, UINT64_MAX, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}, FASTMM_SNAPSHOT_RUN_BEYOND_AREA},
    {{~(uint64_t)0xfff, 2, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0}, FASTMM_SNAPSHOT_RUN_BEYOND_AREA},
    {{0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, FASTMM_SNAPSHOT_PMD, 0}, FASTMM_SNAPSHOT_UNALIGNED},
    {{0x11000, 2, ((uint64_t)1 << 40) - 1, FASTMM_SNAPSHOT_RUN_ANON, 0, 0},
     FASTMM_SNAPSHOT_BAD_FRAME},
    {{0x11000, 1, UINT64_MAX, FASTMM_SNAPSHOT_RUN_FILE, 0, 0}, FASTMM_SNAPSHOT_BAD_FRAME},
    {{0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 1}, FASTMM_SNAPSHOT_BAD_SWAP},
    {{0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_SWAP, 0, 31}, FASTMM_SNAPSHOT_BAD_SWAP},
    {{0x11000, 2, ((uint64_t)1 << 50) - 1, FASTMM_SNAPSHOT_RUN_SWAP, 0, 0},
     FASTMM_SNAPSHOT_BAD_SWAP},
};

static void begin_with_one_page(struct fastmm_snapshot_writer *w, unsigned kind, unsigned shared)
{
    const struct fastmm_snapshot_area area = {
        0x10000,         0x20000,      0, kind == FASTMM_SNAPSHOT_AREA_FILE ? 0 : NONE, 3,
        (uint8_t)shared, (uint8_t)kind};
    const struct fastmm_snapshot_run run = {0x10000, 1, 1, FASTMM_SNAPSHOT_RUN_SWAP, 0, 0};
    ck_assert_int_eq(fastmm_snapshot_begin(data, sizeof(data), 7, 4, w), 0);
    ck_assert_int_eq(fastmm_snapshot_add_area(w, &area, NULL), 0);
    ck_assert_int_eq(fastmm_snapshot_add_run(w, &run, NULL), 0);
}

START_TEST(writer_refuses_areas_that_break_a_rule)
{
    for (unsigned i = 0; i < sizeof(bad_areas) / sizeof(bad_areas[0]); i++) {
        struct fastmm_snapshot_writer w, before;
        enum fastmm_snapshot_reason reason = FASTMM_SNAPSHOT_OK;
        begin_with_one_page(&w, FASTMM_SNAPSHOT_AREA_FILE, 0);
        before = w;
        int rc = fastmm_snapshot_add_area(&w, &bad_areas[i].area, &reason);
        ck_assert_msg(rc == -EINVAL && reason == bad_areas[i].reason, "row %u: %d, %s", i, rc,
                      fastmm_snapshot_reason_text(reason));
        ck_assert_mem_eq(&w, &before, sizeof(w));
    }
}
END_TEST

START_TEST(writer_refuses_runs_that_break_a_rule)
{
    for (unsigned i = 0; i < sizeof(bad_runs) / sizeof(bad_runs[0]); i++) {
        struct fastmm_snapshot_writer w, before;
        enum fastmm_snapshot_reason reason = FASTMM_SNAPSHOT_OK;
        begin_with_one_page(&w, FASTMM_SNAPSHOT_AREA_FILE, 0);
        before = w;
        int rc = fastmm_snapshot_add_run(&w, &bad_runs[i].run, &reason);
        ck_assert_msg(rc == -EINVAL && reason == bad_runs[i].reason, "row %u: %d, %s", i, rc,
                      fastmm_snapshot_reason_text(reason));
        ck_assert_mem_eq(&w, &before, sizeof(w));
    }
}
END_TEST

START_TEST(writer_refuses_pages_that_the_area_cannot_hold)
{
    const struct fastmm_snapshot_run file = {0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_FILE, 0, 0};
    const struct fastmm_snapshot_run anon = {0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_ANON, 0, 0};
    struct fastmm_snapshot_writer w;
    enum fastmm_snapshot_reason reason = FASTMM_SNAPSHOT_OK;
    begin_with_one_page(&w, FASTMM_SNAPSHOT_AREA_STACK, 0);
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &file, &reason), -EINVAL);
    ck_assert_int_eq(reason, FASTMM_SNAPSHOT_WRONG_BACKING);
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &anon, NULL), 0);
    begin_with_one_page(&w, FASTMM_SNAPSHOT_AREA_FILE, 1);
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &anon, &reason), -EINVAL);
    ck_assert_int_eq(reason, FASTMM_SNAPSHOT_WRONG_BACKING);
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &file, NULL), 0);
}
END_TEST

START_TEST(writer_refuses_sparse_frames_and_calls_out_of_order)
{
    const struct fastmm_snapshot_run far = {0x11000, 1, 2000, FASTMM_SNAPSHOT_RUN_ANON, 0, 0};
    const struct fastmm_snapshot_run bad_mark = {0x11000, 1, 0, FASTMM_SNAPSHOT_RUN_ZERO, 0, 0};
    struct fastmm_snapshot_writer w;
    enum fastmm_snapshot_reason reason = FASTMM_SNAPSHOT_OK;
    size_t size;
    begin_with_one_page(&w, FASTMM_SNAPSHOT_AREA_ANON, 0);
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &far, NULL), 0);
    ck_assert_int_eq(fastmm_snapshot_finish(&w, &size), -EINVAL);

    ck_assert_int_eq(fastmm_snapshot_begin(data, sizeof(data), 0, 4, &w), 0);
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &far, &reason), -EINVAL);
    ck_assert_int_eq(reason, FASTMM_SNAPSHOT_RUN_BEYOND_AREA);
    ck_assert_int_eq(
        fastmm_snapshot_add_area(
            &w, &(struct fastmm_snapshot_area){0x10000, 0x20000, 0, NONE, 0, 0, 0}, NULL),
        0);
    /* What wasn't seen can't be said. */
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &far, &reason), -EINVAL);
    ck_assert_int_eq(reason, FASTMM_SNAPSHOT_BAD_FRAME);
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &bad_mark, &reason), -EINVAL);
    ck_assert_int_eq(reason, FASTMM_SNAPSHOT_BAD_RUN);
    ck_assert_int_eq(fastmm_snapshot_finish(&w, &size), 0);
    ck_assert_int_eq(fastmm_snapshot_finish(&w, &size), -EINVAL);
    ck_assert_int_eq(fastmm_snapshot_add_run(&w, &far, NULL), -EINVAL);

    ck_assert_int_eq(fastmm_snapshot_begin(NULL, 100, 0, 4, &w), -EINVAL);
    ck_assert_int_eq(fastmm_snapshot_begin(data, 100, 8, 4, &w), -EINVAL);
    ck_assert_int_eq(fastmm_snapshot_begin(data, 100, 0, 3, &w), -EINVAL);
    ck_assert_int_eq(fastmm_snapshot_begin(data, 100, 0, 4, NULL), -EINVAL);
    ck_assert_int_eq(fastmm_snapshot_begin(data, 51, 0, 4, &w), -ENOSPC);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.snapshot");
    TCase *trip = tcase_create("round trip");
    tcase_add_test(trip, random_spaces_survive_a_round_trip);
    tcase_add_test(trip, pages_added_one_by_one_are_joined);
    tcase_add_test(trip, summary_is_what_a_count_by_hand_gives);
    tcase_add_test(trip, bytes_are_those_documented);
    tcase_add_test(trip, reading_areas_alone_leaves_out_their_runs);
    tcase_set_timeout(trip, 600);
    suite_add_tcase(suite, trip);
    TCase *writer = tcase_create("writer");
    tcase_add_test(writer, a_buffer_too_small_is_refused_without_a_trace);
    tcase_add_test(writer, writer_refuses_areas_that_break_a_rule);
    tcase_add_test(writer, writer_refuses_runs_that_break_a_rule);
    tcase_add_test(writer, writer_refuses_pages_that_the_area_cannot_hold);
    tcase_add_test(writer, writer_refuses_sparse_frames_and_calls_out_of_order);
    tcase_set_timeout(writer, 60);
    suite_add_tcase(suite, writer);
    return test_main(suite);
}
