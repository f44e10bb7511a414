/* SPDX-License-Identifier: MIT */
/*
 * M11: sizes past 2^31 and 2^32, with a few megabytes of memory: one small file mapped many times
 * in a row, so that what is written to one window of it shows in all. The block begins and ends
 * within windows of its own.
 */
#define _GNU_SOURCE
#include "test_main.h"
#include "ways.h"

#include <fastmm/copy.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WINDOW ((size_t)2 << 20)

static const size_t sizes[] = {65537, ((size_t)1 << 31) + 5, ((size_t)1 << 32) + 7};

/* A range of at least `bytes`: first and last window private to it, all between one and the same.
 */
static unsigned char *map_range(size_t bytes, size_t *mapped)
{
#ifdef __SANITIZE_THREAD__
    /* One thread, and sixteen bytes of shadow for each eight of the range. */
    if (bytes > 64 * WINDOW)
        test_skip("TSan would keep a shadow of %zu bytes", 2 * bytes);
#endif
    int file = memfd_create("copy", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 3 * (off_t)WINDOW) != 0)
        test_skip("no memfd of %zu bytes", 3 * WINDOW);
    *mapped = (bytes / WINDOW + 2) * WINDOW;
    unsigned char *base =
        mmap(NULL, *mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        test_skip("no %zu bytes of address space", *mapped);
    for (size_t at = 0; at < *mapped; at += WINDOW) {
        off_t part = at == 0 ? 0 : at + WINDOW < *mapped ? (off_t)WINDOW : 2 * (off_t)WINDOW;
        void *p = mmap(base + at, WINDOW, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, part);
        ck_assert_ptr_ne(p, MAP_FAILED);
    }
    close(file);
    return base;
}

/* The block ends in the last window, `n` bytes after it began in the first one. */
static unsigned char *place(unsigned char *base, size_t n)
{
    return base + WINDOW - 1 - (n % WINDOW) / 2;
}

static void check_edges(const unsigned char *dst, size_t n, int inside, int outside)
{
    ck_assert_int_eq(dst[-1], outside);
    ck_assert_int_eq(dst[0], inside);
    ck_assert_int_eq(dst[n / 2], inside);
    ck_assert_int_eq(dst[n - 1], inside);
    ck_assert_int_eq(dst[n], outside);
    if (n > (size_t)1 << 31)
        ck_assert_int_eq(dst[(size_t)1 << 31], inside);
    if (n > (size_t)1 << 32)
        ck_assert_int_eq(dst[(size_t)1 << 32], inside);
}

static void set_all(unsigned char *base, size_t mapped, int value)
{
    memset(base, value, WINDOW);
    memset(base + WINDOW, value, WINDOW);
    memset(base + mapped - WINDOW, value, WINDOW);
}

/* Mapping is most of the time: by default an eighth of the ways goes to each of the large sizes. */
static int in_this_run(int way, size_t size)
{
    return size == 0 || test_long() || ((uint64_t)way + size + test_seed()) % 8 == 0;
}

/* Sizes that show a count cut to 16 or 32 bits. */
START_TEST(counts_are_64_bits_wide)
{
    const struct way *way = way_or_skip(_i);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        size_t n = sizes[s], mapped;
        if (!in_this_run(_i, s))
            continue;
        unsigned char *to = map_range(n, &mapped), *from = map_range(n, &mapped);
        unsigned char *dst = place(to, n);
        if (way->fill) {
            set_all(to, mapped, 0x11);
            way->fill(dst, way->only_zero ? 0 : 0x22, n);
            check_edges(dst, n, way->only_zero ? 0 : 0x22, 0x11);
        }
        if (way->copy) {
            set_all(to, mapped, 0x11);
            set_all(from, mapped, 0x33);
            way->copy(dst, place(from, n), n);
            check_edges(dst, n, 0x33, 0x11);
        }
        munmap(to, mapped);
        munmap(from, mapped);
    }
}
END_TEST

/* A move by a few bytes, forward and backward, over a range of one value. */
START_TEST(moves_are_64_bits_wide)
{
    const struct way *way = way_or_skip(_i);
    size_t n = sizes[1], mapped;
    if (!way->move || !in_this_run(_i, 3))
        return;
    for (int by = -1; by <= 1; by += 2) {
        unsigned char *base = map_range(n, &mapped), *src = place(base, n);
        set_all(base, mapped, 0x44);
        src[0] = 1;
        src[n - 1] = 2;
        way->move(src + by, src, n);
        ck_assert_uint_eq(src[by], 1);
        ck_assert_uint_eq(src[by + (ptrdiff_t)n - 1], 2);
        ck_assert_int_eq(src[by - 1], by < 0 ? 0x44 : 1);
        munmap(base, mapped);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.size");
    const TTest *tests[] = {counts_are_64_bits_wide, moves_are_64_bits_wide};
    add_known_case(suite, "M11", tests, 2);
    return test_main(suite);
}
