/* SPDX-License-Identifier: MIT */
/*
 * The frame around each Check suite. It adds what Check lacks: a filter that matches nothing is a
 * failure instead of a pass, and a case that can't run here is counted and named as skipped.
 */
#ifndef FASTMM_TESTS_TEST_MAIN_H
#define FASTMM_TESTS_TEST_MAIN_H

#include <check.h>
#include <stdint.h>

/*
 * Whether the tests run under a user-mode emulator. It can't start other programs of its kind, and
 * hands neither every limit nor every kind of memory on to the kernel.
 */
#ifndef TEST_EMULATED
#    define TEST_EMULATED 0
#endif

/* CTest's exit status for "every case was skipped". */
#define TEST_EXIT_SKIPPED 77

/*
 * Runs the suite (CK_RUN_CASE narrows it to one test case), prints
 * "<suite>: N passed, N failed, N skipped", and returns the exit status for main().
 */
int test_main(Suite *suite);

/*
 * Ends the running test as skipped, saying why. Never returns. The printf-style reason must say
 * what is missing on this machine.
 */
void test_skip(const char *reason, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * The seed of this run: FASTMM_TEST_SEED if set, else from the clock. Printed once, so that a
 * failure can be repeated.
 */
uint64_t test_seed(void);

/*
 * The seed of tests that hold rates to limits, which chance passes once in some thousand runs:
 * always the same, but in the long form.
 */
uint64_t test_seed_of_rates(void);

/* Whether FASTMM_TEST_LONG is 1: everything, or far more, instead of what takes seconds. */
int test_long(void);

/* A small, fast generator (SplitMix64): the next value of the sequence held in *state. */
uint64_t test_random(uint64_t *state);

#endif
