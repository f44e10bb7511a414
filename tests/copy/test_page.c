/* SPDX-License-Identifier: MIT */
/* Pages, and huge ranges with the part that stays cached. */
#define _GNU_SOURCE
#include "arena.h"
#include "test_main.h"

#include <fastmm/copy.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

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

#define PAGES   512
#define LARGEST ((size_t)PAGES * 4096)

/* Pages in the order in which they were first written, and whether past the cache. */
static struct {
    unsigned char *block;
    unsigned count;
    unsigned page[PAGES];
    int streamed[PAGES];
} writes;

#ifdef __x86_64__
/* movntdq and its longer forms (Intel SDM volume 2: 66 0F E7, VEX and EVEX alike); not movnti. */
static int is_streaming(const unsigned char *code)
{
    if (code[0] == 0x62)
        return code[4] == 0xe7;
    if (code[0] == 0xc5)
        return code[2] == 0xe7;
    if (code[0] == 0xc4)
        return code[3] == 0xe7;
    code += code[0] == 0x66;
    code += (code[0] & 0xf0) == 0x40;
    return code[0] == 0x0f && code[1] == 0xe7;
}
#endif

static void first_write(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    size_t page = ((uintptr_t)info->si_addr - (uintptr_t)writes.block) / 4096;
    if (page >= PAGES || writes.count == PAGES)
        _exit(99);
    writes.page[writes.count] = (unsigned)page;
#ifdef __x86_64__
    const ucontext_t *at = context;
    writes.streamed[writes.count] =
        is_streaming((const unsigned char *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP]);
#else
    (void)context;
#endif
    writes.count++;
    mprotect(writes.block + page * 4096, 4096, PROT_READ | PROT_WRITE);
}

/* Whole pages around `hot` come last, by plain stores; all that come before them are streamed. */
START_TEST(the_hot_part_is_written_last_and_stays_cached)
{
    static const size_t hots[] = {0, HOT / 2, LARGEST / 2, LARGEST - HOT / 2, LARGEST - 4096};
    size_t hot = hots[_i], low = hot < HOT / 2 ? 0 : hot - HOT / 2;
    size_t warm = (LARGEST - low < HOT ? LARGEST - low : HOT) / 4096;
    struct sigaction action = {.sa_sigaction = first_write, .sa_flags = SA_SIGINFO};
    writes.block = mmap(NULL, LARGEST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(writes.block, MAP_FAILED);
    sigaction(SIGSEGV, &action, NULL);
    ck_assert_int_eq(fastmm_clear_huge(writes.block, LARGEST, hot), 0);
    signal(SIGSEGV, SIG_DFL);
    ck_assert_uint_eq(writes.count, PAGES);
    for (size_t i = 0; i < PAGES; i++) {
        size_t page = writes.page[i];
        int last = i >= PAGES - warm;
        ck_assert_int_eq(last, page >= low / 4096 && page < low / 4096 + warm);
#if defined(__x86_64__) && !FASTMM_COPY_SANITIZED
        ck_assert_int_eq(writes.streamed[i], !last);
#endif
    }
    munmap(writes.block, LARGEST);
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
    tcase_add_loop_test(tc, the_hot_part_is_written_last_and_stays_cached, 0, 5);
    tcase_add_test(tc, hot_outside_is_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
