/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Check runs each test in a forked child, so the tally must live in shared memory. */
static atomic_int *skipped;

static atomic_int *skip_tally(void)
{
    if (!skipped) {
        void *page =
            mmap(NULL, sizeof(*skipped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            perror("test_main: mmap");
            exit(EXIT_FAILURE);
        }
        skipped = page;
    }
    return skipped;
}

void test_skip(const char *reason, ...)
{
    va_list args;
    fputs("SKIP: ", stdout);
    va_start(args, reason);
    vprintf(reason, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    atomic_fetch_add(skip_tally(), 1);
    /* A test that exits by itself with 0 counts as passed in Check; the tally corrects that. */
    exit(EXIT_SUCCESS);
}

uint64_t test_seed(void)
{
    static uint64_t seed;
    if (seed)
        return seed;
    const char *given = getenv("FASTMM_TEST_SEED");
    if (given) {
        seed = strtoull(given, NULL, 0);
    } else {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid();
    }
    printf("seed: FASTMM_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

int test_long(void)
{
    const char *given = getenv("FASTMM_TEST_LONG");
    return given && strcmp(given, "1") == 0;
}

uint64_t test_seed_of_rates(void)
{
    return test_long() ? test_seed() : 1;
}

uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int test_main(Suite *suite)
{
    atomic_int *tally = skip_tally();
    test_seed(); /* before the forks, so that every test of the run shares one seed */

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int run = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);

    int skips = atomic_load(tally);
    printf("%d passed, %d failed, %d skipped\n", run - failed - skips, failed, skips);
    if (run == 0) {
        fputs("no test case matched the filter\n", stderr);
        return EXIT_FAILURE;
    }
    if (failed)
        return EXIT_FAILURE;
    return skips == run ? TEST_EXIT_SKIPPED : EXIT_SUCCESS;
}
