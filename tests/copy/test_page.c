/* SPDX-License-Identifier: MIT */
/* Pages, and huge ranges with the part that stays cached. */
#include "arena.h"
#include "test_main.h"

#include <fastmm/copy.h>

#include <errno.h>
#include <string.h>

#define HOT FASTMM_CLEAR_HOT_BYTES

static int is_all(const unsigned char *p, size_t n, int value)
{
    return n == 0 || (p[0] == value && memcmp(p, p + 1, n - 1) == 0);
}

START_TEST(pages_are_whole)
{
    struct arena from = arena_make(4096), to = arena_make(4 * 4096);
    arena_pattern(from.data, from.size, 1);
    for (size_t offset = 0; offset <= 3 * 4096; offset += 4096 / 8 + 8) {
        memset(to.data, 7, to.size);
        unsigned char *page = to.data + offset;
        fastmm_page_copy(page, from.data);
        ck_assert_mem_eq(page, from.data, 4096);
        fastmm_page_clear(page);
        ck_assert(is_all(page, 4096, 0));
        ck_assert(is_all(to.data, offset, 7));
        ck_assert(is_all(page + 4096, to.size - offset - 4096, 7));
    }
}
END_TEST

/* The hot part at each end, in the middle, and as large as all. */
START_TEST(huge_clear_is_whole_wherever_the_hot_part_is)
{
    static const size_t sizes[] = {1, 63, 64, 4096, HOT - 1, HOT, HOT + 1, 3 * HOT + 17, 2 << 20};
    struct arena arena = arena_make((2 << 20) + 4096);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = sizes[i];
        size_t hots[] = {0, n / 2, n - 1, n > HOT ? HOT / 2 : 0, n > HOT ? n - HOT / 2 : 0};
        for (size_t h = 0; h < sizeof(hots) / sizeof(hots[0]); h++) {
            unsigned char *dst = arena.data + arena.size - n;
            memset(arena.data, 9, arena.size);
            ck_assert_int_eq(fastmm_clear_huge(dst, n, hots[h]), 0);
            ck_assert(is_all(dst, n, 0));
            ck_assert(is_all(arena.data, arena.size - n, 9));
        }
    }
}
END_TEST

START_TEST(hot_outside_is_refused)
{
    unsigned char block[100];
    memset(block, 1, sizeof(block));
    ck_assert_int_eq(fastmm_clear_huge(block, 100, 100), -EINVAL);
    ck_assert_int_eq(fastmm_clear_huge(block, 100, SIZE_MAX), -EINVAL);
    ck_assert(is_all(block, sizeof(block), 1));
    ck_assert_int_eq(fastmm_clear_huge(NULL, 0, 5), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.page");
    TCase *tc = tcase_create("page");
    tcase_add_test(tc, pages_are_whole);
    tcase_add_test(tc, huge_clear_is_whole_wherever_the_hot_part_is);
    tcase_add_test(tc, hot_outside_is_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
