/* SPDX-License-Identifier: MIT */
/* Bad snapshots: each is refused with the right error, at the right place, and nothing is written.
 */
#include "snapshot_model.h"
#include "snapshot_recode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES FASTMM_SNAPSHOT_FRAMES
#define ALL    (FASTMM_SNAPSHOT_FRAMES | FASTMM_SNAPSHOT_ZERO | FASTMM_SNAPSHOT_HUGE)

/* A valid area to stand before or around what is wrong: 16 pages of heap at 0x10000. */
#define HEAP "\x10\x0f\x43"
/* 1024 pages of anonymous memory at 0x200000. */
#define BIG  "\x80\x04\xff\x07\x03"
#define MAX9 "\xff\xff\xff\xff\xff\xff\xff\xff\xff"

#define BODY(bytes) bytes, sizeof(bytes) - 1

static const struct {
    const char *what;
    const char *body;
    size_t size;
    uint32_t seen;
    uint64_t areas, runs, frames;
    enum fastmm_snapshot_reason reason;
    size_t offset; /* into the body */
} crafted[] = {
    {"number of 65 bits", BODY(MAX9 "\x02\x00\x03\x00"), 0, 1, 0, 0, FASTMM_SNAPSHOT_BAD_NUMBER, 0},
    {"number without end", BODY(MAX9 MAX9), 0, 1, 0, 0, FASTMM_SNAPSHOT_BAD_NUMBER, 0},
    {"number not in its shortest form", BODY("\x80\x00\x00\x03\x00"), 0, 1, 0, 0,
     FASTMM_SNAPSHOT_BAD_NUMBER, 0},
    {"count of 2^64", BODY("\x10" MAX9 "\x01\x03\x00"), 0, 1, 0, 0, FASTMM_SNAPSHOT_BAD_NUMBER, 1},
    {"gap past the user half", BODY(MAX9 "\x01\x00\x03\x00"), 0, 1, 0, 0,
     FASTMM_SNAPSHOT_NON_CANONICAL, 0},
    {"area of the last page below the hole", BODY("\xff\xff\xff\xff\x7f\x00\x03\x00"), 0, 1, 0, 0,
     FASTMM_SNAPSHOT_NON_CANONICAL, 0},
    {"area past the user half", BODY("\x10\xff\xff\xff\xff\x7f\x03\x00"), 0, 1, 0, 0,
     FASTMM_SNAPSHOT_NON_CANONICAL, 0},
    {"second area past the user half", BODY(HEAP "\x00\xff\xff\xff\xff\x7f\x00\x03\x00"), 0, 2, 0,
     0, FASTMM_SNAPSHOT_NON_CANONICAL, 4},
    {"unknown kind of area", BODY("\x10\x0f\x83\x00"), 0, 1, 0, 0, FASTMM_SNAPSHOT_BAD_AREA, 0},
    {"shared heap", BODY("\x10\x0f\x4b\x00"), 0, 1, 0, 0, FASTMM_SNAPSHOT_BAD_AREA, 0},
    {"file number out of order", BODY("\x10\x0f\x13\x01\x00\x00"), 0, 1, 0, 0,
     FASTMM_SNAPSHOT_BAD_FILE, 0},
    {"file number of 64 bits", BODY("\x10\x0f\x13" MAX9 "\x01\x00\x00"), 0, 1, 0, 0,
     FASTMM_SNAPSHOT_BAD_FILE, 3},
    {"file number that means none", BODY("\x10\x0f\x13\xff\xff\xff\xff\x0f\x00\x00"), 0, 1, 0, 0,
     FASTMM_SNAPSHOT_BAD_FILE, 3},
    {"file offset that overflows", BODY("\x10\x0f\x13\x00" MAX9 "\x01\x00"), 0, 1, 0, 0,
     FASTMM_SNAPSHOT_BAD_FILE, 0},
    {"area cut off", BODY("\x10\x0f"), 0, 1, 0, 0, FASTMM_SNAPSHOT_TRUNCATED, 2},
    {"area without end", BODY(HEAP), 0, 1, 0, 0, FASTMM_SNAPSHOT_TRUNCATED, 3},
    {"run cut off", BODY(HEAP "\x02\x01"), FRAMES, 1, 1, 2, FASTMM_SNAPSHOT_TRUNCATED, 5},
    {"group without end", BODY(HEAP "\x02\x00"), FRAMES, 1, 1, 1, FASTMM_SNAPSHOT_TRUNCATED, 5},
    {"unknown kind of run", BODY(HEAP "\x07\x00\x00"), FRAMES, 1, 1, 0, FASTMM_SNAPSHOT_BAD_RUN, 3},
    {"gap with flags", BODY(HEAP "\x09\x00\x00"), FRAMES, 1, 0, 0, FASTMM_SNAPSHOT_BAD_RUN, 3},
    {"end with flags", BODY(HEAP "\x08"), FRAMES, 1, 0, 0, FASTMM_SNAPSHOT_BAD_RUN, 3},
    {"unknown flag", BODY(HEAP "\x82\x00\x00\x00"), FRAMES, 1, 1, 1, FASTMM_SNAPSHOT_BAD_RUN, 3},
    {"exclusive swap", BODY(HEAP "\x0d\x00\x00\x00\x00"), FRAMES, 1, 1, 0, FASTMM_SNAPSHOT_BAD_RUN,
     3},
    {"zero page that couldn't be seen", BODY(HEAP "\x04\x00\x00"), FRAMES, 1, 1, 0,
     FASTMM_SNAPSHOT_BAD_RUN, 3},
    {"huge entry that couldn't be seen", BODY(BIG "\x42\x01\xfe\x03\x00\x00"), FRAMES, 1, 1, 512,
     FASTMM_SNAPSHOT_BAD_RUN, 5},
    {"huge entry of 511 pages", BODY(BIG "\x42\x01\xfd\x03\x00\x00"), ALL, 1, 1, 511,
     FASTMM_SNAPSHOT_UNALIGNED, 5},
    {"huge entry at 4 KiB past 2 MiB", BODY(BIG "\x01\x00\x42\x01\xfe\x03\x00\x00"), ALL, 1, 1, 512,
     FASTMM_SNAPSHOT_UNALIGNED, 5},
    {"huge entry of an unaligned frame", BODY(BIG "\x42\x05\xfe\x03\x00\x00"), ALL, 1, 1, 513,
     FASTMM_SNAPSHOT_BAD_FRAME, 5},
    {"run past its area", BODY(HEAP "\x02\x01\x0f\x00\x00"), FRAMES, 1, 1, 17,
     FASTMM_SNAPSHOT_RUN_BEYOND_AREA, 3},
    {"run of nearly 2^64 pages",
     BODY(HEAP "\x02\x01\xfd"
               "\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
     FRAMES, 1, 1, 17, FASTMM_SNAPSHOT_RUN_BEYOND_AREA, 3},
    {"run of 2^64 pages", BODY(HEAP "\x02\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"), FRAMES,
     1, 1, 17, FASTMM_SNAPSHOT_BAD_NUMBER, 4},
    {"second run past its area", BODY(HEAP "\x02\x01\x0d\x04\x04\x00\x00"), FRAMES, 1, 3, 19,
     FASTMM_SNAPSHOT_RUN_BEYOND_AREA, 7},
    {"gap past its area", BODY(HEAP "\x01\x0f\x02\x00\x00\x00"), FRAMES, 1, 1, 1,
     FASTMM_SNAPSHOT_RUN_BEYOND_AREA, 3},
    {"gap past the user half", BODY(HEAP "\x01\xff\xff\xff\xff\x7f\x02\x00\x00\x00"), FRAMES, 1, 1,
     1, FASTMM_SNAPSHOT_NON_CANONICAL, 3},
    {"gap before the end", BODY(HEAP "\x01\x00\x00"), FRAMES, 1, 0, 0, FASTMM_SNAPSHOT_BAD_RUN, 5},
    {"two gaps", BODY(HEAP "\x01\x00\x01\x00\x02\x00\x00\x00"), FRAMES, 1, 1, 1,
     FASTMM_SNAPSHOT_BAD_RUN, 5},
    {"frame before the first", BODY(HEAP "\x02\x02\x00\x00"), FRAMES, 1, 1, 1,
     FASTMM_SNAPSHOT_BAD_FRAME, 3},
    {"frame past 2^40", BODY(HEAP "\x02\x80\x80\x80\x80\x80\x80\x02\x00\x00"), FRAMES, 1, 1, 1,
     FASTMM_SNAPSHOT_BAD_FRAME, 3},
    {"frames too sparse", BODY(HEAP "\x02\x84\x10\x00\x00"), FRAMES, 1, 1, 514,
     FASTMM_SNAPSHOT_BAD_FRAME, SIZE_MAX},
    {"swap type of markers", BODY(HEAP "\x05\x1f\x00\x00\x00"), FRAMES, 1, 1, 0,
     FASTMM_SNAPSHOT_BAD_SWAP, 3},
    {"swap offset past 2^50", BODY(HEAP "\x05\x00\x80\x80\x80\x80\x80\x80\x80\x08\x00\x00"), FRAMES,
     1, 1, 0, FASTMM_SNAPSHOT_BAD_SWAP, 3},
    {"marker of nothing", BODY(HEAP "\x06\x00\x00\x00"), 0, 1, 1, 0, FASTMM_SNAPSHOT_BAD_RUN, 3},
    {"unknown marker", BODY(HEAP "\x06\x00\x08\x00"), 0, 1, 1, 0, FASTMM_SNAPSHOT_BAD_RUN, 3},
    {"file page in a heap", BODY(HEAP "\x03\x00\x00\x00"), FRAMES, 1, 1, 1,
     FASTMM_SNAPSHOT_WRONG_BACKING, 3},
    {"anonymous page in a shared file", BODY("\x10\x0f\x1b\x00\x00\x02\x00\x00\x00"), FRAMES, 1, 1,
     1, FASTMM_SNAPSHOT_WRONG_BACKING, 5},
    {"runs that continue, in a group", BODY(HEAP "\x02\x00\x01\x00\x00\x00"), FRAMES, 1, 2, 3,
     FASTMM_SNAPSHOT_NOT_JOINED, 5},
    {"runs that continue, in two groups", BODY(HEAP "\x02\x00\x00\x02\x00\x00\x00"), FRAMES, 1, 2,
     2, FASTMM_SNAPSHOT_NOT_JOINED, 7},
    {"group that continues", BODY(HEAP "\x02\x00\x00\x02\x04\x00\x00"), FRAMES, 1, 2, 3,
     FASTMM_SNAPSHOT_NOT_JOINED, 7},
    {"markers that continue", BODY(HEAP "\x06\x00\x04\x06\x00\x04\x00"), 0, 1, 2, 0,
     FASTMM_SNAPSHOT_NOT_JOINED, 6},
    {"one area claimed to be two", BODY(HEAP "\x00"), 0, 2, 0, 0, FASTMM_SNAPSHOT_WRONG_TOTALS,
     SIZE_MAX},
    {"absurd number of areas", BODY(HEAP "\x00"), 0, UINT64_MAX, 0, 0, FASTMM_SNAPSHOT_WRONG_TOTALS,
     SIZE_MAX},
    {"absurd number of runs", BODY(HEAP "\x00"), 0, 1, UINT64_MAX, 0, FASTMM_SNAPSHOT_WRONG_TOTALS,
     SIZE_MAX},
    {"absurd number of frames", BODY(HEAP "\x00"), FRAMES, 1, 0, UINT64_MAX,
     FASTMM_SNAPSHOT_WRONG_TOTALS, SIZE_MAX},
};

static void expect(const char *what, const unsigned char *data, size_t size, int rc,
                   enum fastmm_snapshot_reason reason, uint64_t offset)
{
    struct fastmm_snapshot_summary sum, sum_before;
    struct fastmm_snapshot_cursor c, c_before;
    struct fastmm_snapshot_error error = {0};
    memset(&sum, 0xa5, sizeof(sum));
    memset(&c, 0xa5, sizeof(c));
    sum_before = sum;
    c_before = c;
    int got = fastmm_snapshot_open(data, size, &sum, &error, &c);
    ck_assert_msg(got == rc && error.reason == reason && error.offset == offset,
                  "%s: %d, %s at %llu; expected %d, %s at %llu", what, got,
                  fastmm_snapshot_reason_text(error.reason), (unsigned long long)error.offset, rc,
                  fastmm_snapshot_reason_text(reason), (unsigned long long)offset);
    ck_assert_mem_eq(&sum, &sum_before, sizeof(sum));
    ck_assert_mem_eq(&c, &c_before, sizeof(c));
}

START_TEST(malformed_bodies_are_refused)
{
    static const uint64_t totals_at[] = {16, 24, 32};
    for (unsigned i = 0; i < sizeof(crafted) / sizeof(crafted[0]); i++) {
        struct bytes body = {0}, whole;
        memcpy(body.data, crafted[i].body, crafted[i].size);
        body.size = crafted[i].size;
        bytes_snapshot(&whole, &body, crafted[i].seen, crafted[i].areas, crafted[i].runs,
                       crafted[i].frames);
        uint64_t offset = 48 + crafted[i].offset;
        if (crafted[i].offset == SIZE_MAX) {
            const char *what = crafted[i].what;
            offset = totals_at[strstr(what, "area") ? 0 : strstr(what, "runs") ? 1 : 2];
        }
        expect(crafted[i].what, whole.data, whole.size, -EBADMSG, crafted[i].reason, offset);
    }
}
END_TEST

/* The good forms of the rows above, so that what is refused is what was meant. */
START_TEST(their_well_formed_neighbours_are_accepted)
{
    static const struct {
        const char *body;
        size_t size;
        uint64_t areas, runs, frames;
    } good[] = {
        {BODY(""), 0, 0, 0},
        {BODY(HEAP "\x00"), 1, 0, 0},
        {BODY("\xfe\xff\xff\xff\x7f\x00\x03\x00"), 1, 0, 0},
        {BODY(HEAP "\x02\x01\x0e\x00\x00"), 1, 1, 16},
        {BODY(HEAP "\x02\x80\x10\x00\x00"), 1, 1, 513},
        {BODY(BIG "\x42\x01\xfe\x03\x00\x00"), 1, 1, 512},
        {BODY(BIG "\x42\x81\x10\xfe\x03\x00\x00"), 1, 1, 1024},
        {BODY(HEAP "\x05\x1e\x00\x00\x00"), 1, 1, 0},
        {BODY(HEAP "\x04\x00\x06\x00\x04\x06\x00\x02\x00"), 1, 3, 0},
        {BODY(HEAP "\x01\x0e\x02\x00\x00\x00"), 1, 1, 1},
    };
    static unsigned char out[512];
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct bytes body = {0}, whole;
        memcpy(body.data, good[i].body, good[i].size);
        body.size = good[i].size;
        bytes_snapshot(&whole, &body, ALL, good[i].areas, good[i].runs, good[i].frames);
        const char *wrong = snapshot_recode(whole.data, whole.size, out);
        ck_assert_msg(!wrong, "row %u: %s", i, wrong);
    }
}
END_TEST

START_TEST(malformed_headers_are_refused)
{
    static const struct {
        const char *what;
        unsigned at;
        unsigned char value;
        int rc;
        enum fastmm_snapshot_reason reason;
    } rows[] = {
        {"magic", 0, 0x88, -EINVAL, FASTMM_SNAPSHOT_NOT_A_SNAPSHOT},
        {"line end made by a text transfer", 5, '\n', -EINVAL, FASTMM_SNAPSHOT_NOT_A_SNAPSHOT},
        {"version 0", 8, 0, -ENOTSUP, FASTMM_SNAPSHOT_BAD_VERSION},
        {"version 2", 8, 2, -ENOTSUP, FASTMM_SNAPSHOT_BAD_VERSION},
        {"version 257", 9, 1, -ENOTSUP, FASTMM_SNAPSHOT_BAD_VERSION},
        {"three levels", 10, 3, -EBADMSG, FASTMM_SNAPSHOT_BAD_HEADER},
        {"six levels", 10, 6, -EBADMSG, FASTMM_SNAPSHOT_BAD_HEADER},
        {"unknown sight", 11, 8, -EBADMSG, FASTMM_SNAPSHOT_BAD_HEADER},
        {"reserved byte", 15, 1, -EBADMSG, FASTMM_SNAPSHOT_BAD_HEADER},
        {"body longer than the file", 47, 0xff, -EBADMSG, FASTMM_SNAPSHOT_TRUNCATED},
        {"body one byte too long", 40, 5, -EBADMSG, FASTMM_SNAPSHOT_TRUNCATED},
        {"body one byte too short", 40, 3, -EBADMSG, FASTMM_SNAPSHOT_TRAILING_BYTES},
    };
    struct bytes body = {.size = 4, .data = HEAP}, good, bad;
    bytes_snapshot(&good, &body, 0, 1, 0, 0);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bad = good;
        bad.data[rows[i].at] = rows[i].value;
        bytes_fix_checksum(bad.data, bad.size);
        uint64_t offset = rows[i].at;
        if (rows[i].reason == FASTMM_SNAPSHOT_TRUNCATED)
            offset = bad.size;
        else if (rows[i].reason == FASTMM_SNAPSHOT_TRAILING_BYTES)
            offset = bad.size - 1;
        else if (rows[i].reason != FASTMM_SNAPSHOT_BAD_HEADER)
            offset = rows[i].at & ~7u;
        else if (rows[i].at > 12)
            offset = 12;
        expect(rows[i].what, bad.data, bad.size, rows[i].rc, rows[i].reason, offset);
    }
    expect("no data", NULL, 100, -EINVAL, FASTMM_SNAPSHOT_NOT_A_SNAPSHOT, 0);
    expect("empty", good.data, 0, -EINVAL, FASTMM_SNAPSHOT_NOT_A_SNAPSHOT, 0);
    ck_assert_int_eq(fastmm_snapshot_open(good.data, good.size, NULL, NULL, NULL), -EINVAL);
}
END_TEST

static struct model model;
static unsigned char data[MODEL_BYTES], bad[MODEL_BYTES], out[MODEL_BYTES];

/* A random snapshot that is small but has something of everything. */
static size_t small_snapshot(uint64_t *state)
{
    size_t size;
    do {
        model_random(&model, state);
        size = model_encode(&model, data, sizeof(data));
    } while (size < 120 || size > 260);
    return size;
}

START_TEST(every_truncation_is_refused)
{
    uint64_t state = test_seed();
    for (unsigned round = 0; round < 50; round++) {
        size_t size = small_snapshot(&state);
        for (size_t cut = 0; cut < size; cut++) {
            /* A copy of that very size, so that a sanitizer sees a read past it. */
            unsigned char *copy = malloc(cut ? cut : 1);
            memcpy(copy, data, cut);
            expect("cut", copy, cut, cut ? -EBADMSG : -EINVAL,
                   cut ? FASTMM_SNAPSHOT_TRUNCATED : FASTMM_SNAPSHOT_NOT_A_SNAPSHOT, cut);
            free(copy);
        }
        memcpy(bad, data, size);
        bad[size] = 0;
        expect("one more", bad, size + 1, -EBADMSG, FASTMM_SNAPSHOT_TRAILING_BYTES, size);
    }
}
END_TEST

START_TEST(every_corrupted_byte_is_refused)
{
    uint64_t state = test_seed() + 1;
    for (unsigned round = 0; round < 4; round++) {
        size_t size = small_snapshot(&state);
        for (size_t at = 0; at < size; at++) {
            for (unsigned mask = 1; mask < 256; mask++) {
                struct fastmm_snapshot_cursor c;
                struct fastmm_snapshot_error error = {0};
                memcpy(bad, data, size);
                bad[at] ^= (unsigned char)mask;
                ck_assert_int_lt(fastmm_snapshot_open(bad, size, NULL, &error, &c), 0);
                ck_assert_int_ne(error.reason, FASTMM_SNAPSHOT_OK);
                ck_assert_uint_le(error.offset, at >= 40 && at < 48 ? UINT64_MAX : size);
            }
        }
    }
}
END_TEST

/* With the checksum made right again the rules are all that stands: refused, or a sound snapshot.
 */
START_TEST(every_corrupted_byte_with_a_right_checksum_is_refused_or_sound)
{
    uint64_t state = test_seed() + 2;
    for (unsigned round = 0; round < 4; round++) {
        size_t size = small_snapshot(&state);
        unsigned accepted = 0;
        for (size_t at = 0; at < size - 4; at++) {
            for (unsigned mask = 1; mask < 256; mask++) {
                struct fastmm_snapshot_cursor c;
                memcpy(bad, data, size);
                bad[at] ^= (unsigned char)mask;
                bytes_fix_checksum(bad, size);
                if (fastmm_snapshot_open(bad, size, NULL, NULL, &c))
                    continue;
                accepted++;
                const char *wrong = snapshot_recode(bad, size, out);
                ck_assert_msg(!wrong, "byte %zu ^ %02x: %s", at, mask, wrong);
            }
        }
        ck_assert_uint_gt(accepted, 0);
    }
}
END_TEST

/* Bytes that change under an open cursor end the stream; they never lead it astray. */
START_TEST(bytes_that_change_later_stop_the_cursor)
{
    uint64_t state = test_seed() + 3;
    for (unsigned round = 0; round < 2000; round++) {
        struct fastmm_snapshot_cursor c;
        struct fastmm_snapshot_area area;
        struct fastmm_snapshot_run run;
        size_t size = round % 50 ? 0 : small_snapshot(&state);
        static size_t last;
        last = size ? size : last;
        ck_assert_int_eq(fastmm_snapshot_open(data, last, NULL, NULL, &c), 0);
        memcpy(bad, data, last);
        c.data = bad;
        bad[48 + test_random(&state) % (last - 52)] ^=
            (unsigned char)(1 + test_random(&state) % 255);
        int rc;
        uint64_t steps = 0;
        while ((rc = fastmm_snapshot_next_area(&c, &area)) > 0)
            while (fastmm_snapshot_next_run(&c, &run) > 0)
                ck_assert_uint_lt(steps++, 4 * last);
        if (rc < 0) {
            ck_assert_int_eq(rc, -EBADMSG);
            ck_assert_int_eq(fastmm_snapshot_next_run(&c, &run), -EBADMSG);
            ck_assert_int_eq(fastmm_snapshot_next_area(&c, &area), -EBADMSG);
        }
    }
}
END_TEST

START_TEST(every_reason_has_a_text)
{
    for (int i = 0; i < FASTMM_SNAPSHOT_REASONS; i++) {
        const char *text = fastmm_snapshot_reason_text((enum fastmm_snapshot_reason)i);
        ck_assert_ptr_nonnull(text);
        ck_assert_str_ne(text, "unknown reason");
    }
    ck_assert_str_eq(fastmm_snapshot_reason_text(FASTMM_SNAPSHOT_REASONS), "unknown reason");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mm.snapshot_junk");
    TCase *tc = tcase_create("junk");
    tcase_add_test(tc, malformed_bodies_are_refused);
    tcase_add_test(tc, their_well_formed_neighbours_are_accepted);
    tcase_add_test(tc, malformed_headers_are_refused);
    tcase_add_test(tc, every_truncation_is_refused);
    tcase_add_test(tc, every_corrupted_byte_is_refused);
    tcase_add_test(tc, every_corrupted_byte_with_a_right_checksum_is_refused_or_sound);
    tcase_add_test(tc, bytes_that_change_later_stop_the_cursor);
    tcase_add_test(tc, every_reason_has_a_text);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
