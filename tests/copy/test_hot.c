/* SPDX-License-Identifier: MIT */
/*
 * Which part of a huge range fastmm_clear_huge() leaves in the cache. The cache can't be asked, but
 * what decides can: each page is protected, so that the first store to it faults, and the handler
 * notes when that was and by which kind of instruction.
 */
#define _GNU_SOURCE
#include "arena.h"
#include "test_main.h"

#include <fastmm/copy.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define BYTES     ((size_t)2 << 20)
#define PAGES     (BYTES / ARENA_PAGE)
#define HOT_PAGES (FASTMM_CLEAR_HOT_BYTES / ARENA_PAGE)

static struct {
    unsigned char *data;
    size_t count;        /* pages stored to */
    size_t turn[PAGES];  /* from 1; 0: not stored to */
    int streamed[PAGES]; /* by a non-temporal store */
} seen;

#ifdef __x86_64__
#    define CAN_TELL !FASTMM_COPY_SANITIZED

/* movntdq in its legacy, VEX and EVEX encodings (Intel SDM volume 2). */
static int is_streaming(const void *context)
{
    const ucontext_t *at = context;
    const unsigned char *code = (const unsigned char *)at->uc_mcontext.gregs[REG_RIP];
    switch (code[0]) {
    case 0x62:
        return code[4] == 0xe7;
    case 0xc4:
        return code[3] == 0xe7;
    case 0xc5:
        return code[2] == 0xe7;
    case 0x66:
        code += 1 + ((code[1] & 0xf0) == 0x40);
        return code[0] == 0x0f && code[1] == 0xe7;
    default:
        return 0;
    }
}
#else
#    define CAN_TELL 0

static int is_streaming(const void *context)
{
    (void)context;
    return 0;
}
#endif

static void note(int number, siginfo_t *info, void *context)
{
    uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)seen.data;
    size_t page = offset / ARENA_PAGE;
    if (offset >= BYTES || seen.turn[page]) {
        signal(number, SIG_DFL); /* not ours: comes again and ends the test */
        return;
    }
    seen.turn[page] = ++seen.count;
    seen.streamed[page] = is_streaming(context);
    mprotect(seen.data + page * ARENA_PAGE, ARENA_PAGE, PROT_READ | PROT_WRITE);
}

static void prepare(void)
{
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    if (sysconf(_SC_PAGESIZE) != ARENA_PAGE)
        test_skip("pages of %ld bytes", sysconf(_SC_PAGESIZE));
    seen.data = arena_make(BYTES).data;
    ck_assert_int_eq(sigaction(SIGSEGV, &action, NULL), 0);
}

static void clear(size_t hot)
{
    seen.count = 0;
    memset(seen.turn, 0, sizeof(seen.turn));
    ck_assert_int_eq(mprotect(seen.data, BYTES, PROT_READ), 0);
    ck_assert_int_eq(fastmm_clear_huge(seen.data, BYTES, hot), 0);
    ck_assert_uint_eq(seen.count, PAGES);
}

/* The window around `hot`, as the header puts it. */
static size_t first_hot_page(size_t hot)
{
    size_t page = hot / ARENA_PAGE, before = HOT_PAGES / 2;
    if (page < before)
        return 0;
    return page - before < PAGES - HOT_PAGES ? page - before : PAGES - HOT_PAGES;
}

static void check_hot(size_t hot)
{
    size_t first = first_hot_page(hot);
    clear(hot);
    for (size_t page = 0; page < PAGES; page++) {
        int kept = page >= first && page < first + HOT_PAGES;
        if (kept != (seen.turn[page] > PAGES - HOT_PAGES))
            ck_abort_msg("hot %#zx: page %zu was written as number %zu", hot, page,
                         seen.turn[page]);
        if (CAN_TELL && kept == seen.streamed[page])
            ck_abort_msg("hot %#zx: page %zu was %sstreamed", hot, page, kept ? "" : "not ");
    }
}

static void check_every_place(void)
{
    for (size_t page = 0; page < PAGES; page += page < 20 || page > PAGES - 20 ? 1 : 17)
        check_hot(page * ARENA_PAGE);
}

START_TEST(hot_part_is_written_last_by_plain_stores)
{
    prepare();
    check_every_place();
}
END_TEST

/* Thresholds as low as the hot part is long, and each implementation forced. */
START_TEST(settings_do_not_move_it)
{
    prepare();
    struct fastmm_copy_settings low = {.fill_rep_min = FASTMM_COPY_REP_FLOOR,
                                       .fill_stream_min = FASTMM_COPY_STREAM_FLOOR};
    if (fastmm_copy_configure(&low, NULL) == 0)
        check_hot(BYTES / 2);
    low.fill_rep_min = FASTMM_COPY_NEVER;
    if (fastmm_copy_configure(&low, NULL) == 0)
        check_hot(BYTES / 2);
    for (uint32_t impl = 0; impl < FASTMM_COPY_IMPL_COUNT; impl++) {
        struct fastmm_copy_settings forced = {.implementation = fastmm_copy_impl_name(impl)};
        if (fastmm_copy_configure(&forced, NULL) == 0)
            check_hot(BYTES / 2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.hot");
    TCase *tc = tcase_create("hot");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, hot_part_is_written_last_by_plain_stores);
    tcase_add_test(tc, settings_do_not_move_it);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
