/* SPDX-License-Identifier: MIT */
/* The layout that is built into the walk benchmarks is the committed file, and stands many forks.
 */
#include "layout_redis.h"
#include "test_main.h"

#include <stdio.h>
#include <string.h>

extern const unsigned char redis_snapshot[];
extern const size_t redis_snapshot_size;

START_TEST(built_in_bytes_are_those_of_the_file)
{
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(REDIS_SNAPSHOT, "rb");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    ck_assert_uint_eq(size, redis_snapshot_size);
    ck_assert_mem_eq(bytes, redis_snapshot, size);
}
END_TEST

START_TEST(space_is_forked_scanned_and_ended_again_and_again)
{
    struct fastmm_snapshot_summary sum;
    struct fastmm_machine *machine;
    struct fastmm_mm *mm, *child;
    struct fastmm_scan before = {0}, after = {0};
    ck_assert_int_eq(layout_redis(FASTMM_MM_BEST, &machine, &mm, &sum), 0);
    ck_assert_int_eq(fastmm_mm_scan(mm, 0, UINT64_MAX, &before), 0);
    ck_assert_uint_eq(before.present, sum.anon_pages + sum.file_pages + sum.zero_pages);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_int_eq(fastmm_mm_fork(mm, &child), 0);
        ck_assert_int_eq(fastmm_mm_destroy(child, NULL), 0);
    }
    ck_assert_int_eq(fastmm_mm_scan(mm, 0, UINT64_MAX, &after), 0);
    /* Fork takes away what only one owner may have, and nothing else. */
    ck_assert_uint_lt(after.writable, before.writable);
    after.writable = before.writable;
    ck_assert_mem_eq(&before, &after, sizeof(before));
    ck_assert_int_eq(fastmm_machine_check(machine, NULL, NULL), 0);
    ck_assert_int_eq(fastmm_mm_destroy(mm, NULL), 0);
    ck_assert_int_eq(fastmm_machine_destroy(machine), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench.layout_redis");
    TCase *tc = tcase_create("layout");
    tcase_add_test(tc, built_in_bytes_are_those_of_the_file);
    tcase_add_test(tc, space_is_forked_scanned_and_ended_again_and_again);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
