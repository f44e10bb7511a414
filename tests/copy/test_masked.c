/* SPDX-License-Identifier: MIT */
/*
 * Where masked accesses may be used. One that reaches into an unmapped page takes hundreds of
 * nanoseconds although nothing there is selected, and so may one of no bytes at all; the bytes are
 * right either way, so that only the mask register tells: this code is compiled for a CPU that has
 * none, and nothing but the masked bodies touches it.
 */
#include "arena.h"
#include "test_main.h"

#include <fastmm/copy.h>

#include <string.h>

/* No mask of up to 64 bytes: its lowest bit is missing. */
#define UNTOUCHED 0x5555555555555554u

#if FASTMM_COPY_EVEX && !defined(__AVX512F__)
#    define HAS_WITNESS 1

static void set_mask(void)
{
    __asm__ volatile("kmovq %0, %%k1" : : "r"((uint64_t)UNTOUCHED) : "memory");
}

static int mask_was_set(void)
{
    uint64_t mask;
    __asm__ volatile("kmovq %%k1, %0" : "=r"(mask) : : "memory");
    return mask != UNTOUCHED;
}

#else
#    define HAS_WITNESS 0

static void set_mask(void)
{
}

static int mask_was_set(void)
{
    return 0;
}

#endif

static __attribute__((noinline)) int copy_is_masked(void *dst, const void *src, size_t n)
{
    set_mask();
    fastmm_copy_masked(dst, src, n);
    return mask_was_set();
}

static __attribute__((noinline)) int fill_is_masked(void *dst, int value, size_t n)
{
    set_mask();
    fastmm_fill(dst, value, n);
    return mask_was_set();
}

static __attribute__((noinline)) int clear_is_masked(void *dst, size_t n)
{
    set_mask();
    fastmm_clear(dst, n);
    return mask_was_set();
}

static struct arena source, target;

static void prepare(void)
{
    struct fastmm_copy_plan plan;
    fastmm_copy_plan_get(&plan);
    if (!HAS_WITNESS || plan.inline_level != FASTMM_COPY_LEVEL_EVEX)
        test_skip("no masked accesses in this build or on this CPU");
    source = arena_make(2 * ARENA_PAGE);
    target = arena_make(2 * ARENA_PAGE);
}

/* Whether a whole access of `n` bytes, rounded up to lines, from that offset leaves the page. */
static int leaves_page(size_t offset, size_t n)
{
    return offset + (n + 63) / 64 * 64 > ARENA_PAGE;
}

START_TEST(masks_stay_within_their_page)
{
    static const size_t sizes[] = {1, 15, 33, 63, 64, 65, 100, 127, 128};
    prepare();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t offset = 0; offset < ARENA_PAGE; offset++) {
            size_t n = sizes[i];
            unsigned char *dst = target.data + offset, *src = source.data + offset;
            int to = copy_is_masked(dst, source.data, n),
                from = copy_is_masked(target.data, src, n);
            int fill = fill_is_masked(dst, 3, n), clear = clear_is_masked(dst, n);
            if (leaves_page(offset, n))
                ck_assert_msg(!(to | from | fill | clear), "n=%zu at %zu", n, offset);
            /* And not for want of masks. */
            if (offset < ARENA_PAGE / 2)
                ck_assert(to && from && (n > 64 || (fill && clear)));
        }
}
END_TEST

START_TEST(nothing_is_masked_for_no_bytes)
{
    prepare();
    volatile size_t none = 0;
    ck_assert(!copy_is_masked(target.data, source.data, none));
    ck_assert(!copy_is_masked(NULL, NULL, none));
    ck_assert(!fill_is_masked(target.data, 1, none));
    ck_assert(!clear_is_masked(NULL, none));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.masked");
    TCase *tc = tcase_create("masked");
    tcase_add_test(tc, masks_stay_within_their_page);
    tcase_add_test(tc, nothing_is_masked_for_no_bytes);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
