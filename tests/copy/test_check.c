/* SPDX-License-Identifier: MIT */
/* The checking build: this file is compiled as one, whatever the library was. */
#ifndef FASTMM_CHECKED
#    define FASTMM_CHECKED
#endif
#include "arena.h"
#include "test_main.h"

#include <fastmm/copy.h>

#include <signal.h>
#include <string.h>

static struct {
    int calls;
    enum fastmm_copy_fault fault;
    const void *dst, *src;
    size_t n;
} seen;

static void remember(enum fastmm_copy_fault fault, const void *dst, const void *src, size_t n)
{
    seen.calls++;
    seen.fault = fault;
    seen.dst = dst;
    seen.src = src;
    seen.n = n;
}

static unsigned char buffer[4096], before[4096];

static void begin(void)
{
    arena_pattern(buffer, sizeof(buffer), 1);
    memcpy(before, buffer, sizeof(buffer));
    fastmm_copy_set_handler(remember);
    seen.calls = 0;
}

/* The compiler warns by itself of sizes that it knows to be too large. */
static size_t hidden(size_t n)
{
    __asm__("" : "+r"(n));
    return n;
}

/* `call` is refused with that fault, has touched nothing and has returned. */
#define REFUSES(expected, call)                           \
    do {                                                  \
        int calls = seen.calls;                           \
        (void)(call);                                     \
        ck_assert_int_eq(seen.calls, calls + 1);          \
        ck_assert_int_eq(seen.fault, expected);           \
        ck_assert_mem_eq(buffer, before, sizeof(buffer)); \
    } while (0)

START_TEST(overlap_is_refused_at_every_distance)
{
    begin();
    for (size_t n = 1; n <= 300; n += n < 70 ? 1 : 37)
        for (size_t by = 0; by < n; by++) {
            REFUSES(FASTMM_COPY_FAULT_OVERLAP, fastmm_copy(buffer + 500 + by, buffer + 500, n));
            REFUSES(FASTMM_COPY_FAULT_OVERLAP, fastmm_copy(buffer + 500, buffer + 500 + by, n));
            REFUSES(FASTMM_COPY_FAULT_OVERLAP,
                    fastmm_copy_masked(buffer + 500 + by, buffer + 500, n));
        }
    ck_assert_ptr_eq(seen.src, buffer + 500);
}
END_TEST

START_TEST(touching_blocks_and_moves_are_accepted)
{
    begin();
    for (size_t n = 0; n <= 500; n++) {
        fastmm_copy(buffer + n, buffer, n);
        ck_assert_mem_eq(buffer + n, buffer, n);
        fastmm_copy(buffer, buffer + n, n);
        fastmm_copy_masked(buffer + n, buffer, n);
        fastmm_move(buffer + 1, buffer, n);
        fastmm_clear(buffer, n);
    }
    /* Blocks may end with the last byte there is; 0 bytes may be anywhere. */
    ck_assert_int_eq(fastmm_copy_check(FASTMM_COPY_OP_FILL, (void *)-64, NULL, 64), 1);
    fastmm_copy((void *)-1, (void *)-1, 0);
    fastmm_clear(NULL, 0);
    ck_assert_int_eq(seen.calls, 0);
}
END_TEST

START_TEST(wrapped_ranges_and_absurd_sizes_are_refused)
{
    begin();
    void *top = (void *)-64;
    REFUSES(FASTMM_COPY_FAULT_WRAP, fastmm_copy(top, buffer, 65));
    REFUSES(FASTMM_COPY_FAULT_WRAP, fastmm_copy(buffer, top, 65));
    REFUSES(FASTMM_COPY_FAULT_WRAP, fastmm_move(top, buffer, 4096));
    REFUSES(FASTMM_COPY_FAULT_WRAP, fastmm_clear(top, 65));
    ck_assert_ptr_null(seen.src);
    REFUSES(FASTMM_COPY_FAULT_WRAP, fastmm_fill(top, 1, 65));
    for (size_t n = SIZE_MAX; n > PTRDIFF_MAX; n -= (size_t)PTRDIFF_MAX / 3) {
        REFUSES(FASTMM_COPY_FAULT_SIZE, fastmm_copy(buffer, before, hidden(n)));
        REFUSES(FASTMM_COPY_FAULT_SIZE, fastmm_move(buffer, before, hidden(n)));
        REFUSES(FASTMM_COPY_FAULT_SIZE, fastmm_clear(buffer, hidden(n)));
        ck_assert_uint_eq(seen.n, n);
    }
    ck_assert_ptr_eq(seen.dst, buffer);
}
END_TEST

START_TEST(handler_before_is_returned)
{
    ck_assert(fastmm_copy_set_handler(remember) == NULL);
    ck_assert(fastmm_copy_set_handler(NULL) == remember);
    ck_assert(fastmm_copy_set_handler(remember) == NULL);
}
END_TEST

/* Without a handler the process ends by SIGILL or SIGTRAP, as the architecture has it. */
START_TEST(default_is_a_trap)
{
    fastmm_copy(buffer, buffer + 1, hidden(2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.check");
    TCase *tc = tcase_create("check");
    tcase_add_test(tc, overlap_is_refused_at_every_distance);
    tcase_add_test(tc, touching_blocks_and_moves_are_accepted);
    tcase_add_test(tc, wrapped_ranges_and_absurd_sizes_are_refused);
    tcase_add_test(tc, handler_before_is_returned);
#ifdef __x86_64__
    tcase_add_test_raise_signal(tc, default_is_a_trap, SIGILL);
#else
    tcase_add_test_raise_signal(tc, default_is_a_trap, SIGTRAP);
#endif
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
