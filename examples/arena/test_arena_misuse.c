/* SPDX-License-Identifier: MIT */
/*
 * Each misuse of the arena is named, with the address, and stops the process; what it counted until
 * then is still exact.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "classes.h"
#include "test_main.h"

static struct arena *a;
static struct arena_stats before;

/* All that a child does before what it must not do. */
static void about_to_misuse(void)
{
    arena_get_stats(a, &before);
}

/* At the end of a child, wherever in the arena it is. */
static void look_again(int signal)
{
    struct arena_stats now;
    arena_get_stats(a, &now);
    const char *words =
        memcmp(&now, &before, sizeof(now)) == 0 ? "figures: exact\n" : "figures: WRONG\n";
    if (write(STDERR_FILENO, words, strlen(words)) < 0)
        _exit(1);
    struct sigaction die = {.sa_handler = SIG_DFL};
    sigaction(signal, &die, NULL);
}

/* The last words of a child that does this to p. */
static void last_words(void (*misuse)(void *p), void *p, char *text, size_t room)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, look_again);
        dup2(ends[1], STDERR_FILENO);
        misuse(p);
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    ssize_t got;
    while (n + 1 < room && (got = read(ends[0], text + n, room - n - 1)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
                  "went on (status %#x, said \"%s\")", (unsigned)status, text);
}

static void stops(void (*misuse)(void *p), void *p, const char *why)
{
    char text[1024], address[32];
    last_words(misuse, p, text, sizeof(text));
    snprintf(address, sizeof(address), "0x%016llx", (unsigned long long)(uintptr_t)p);
    ck_assert_msg(strstr(text, why) != NULL, "\"%s\" does not say \"%s\"", text, why);
    ck_assert_msg(strstr(text, address) != NULL, "\"%s\" does not say %s", text, address);
    ck_assert_msg(strstr(text, "figures: exact") != NULL, "\"%s\": figures changed", text);
}

static void free_once(void *p)
{
    about_to_misuse();
    arena_free(a, p);
}

static void free_twice(void *p)
{
    arena_free(a, p);
    about_to_misuse();
    arena_free(a, p);
}

static void free_realloc(void *p)
{
    arena_free(a, p);
    about_to_misuse();
    arena_realloc(a, p, 10);
}

static void free_usable(void *p)
{
    arena_free(a, p);
    about_to_misuse();
    arena_usable(a, p);
}

static void free_twice_with_others_between(void *p)
{
    void *others[1000];
    for (unsigned i = 0; i < 1000; i++)
        others[i] = arena_alloc(a, i);
    arena_free(a, p);
    for (unsigned i = 0; i < 1000; i++)
        arena_free(a, others[i]);
    about_to_misuse();
    arena_free(a, p);
}

static const size_t sizes[] = {1,       48,      4096, CLASS_MAX_BYTES, CLASS_MAX_BYTES + 1,
                               1 << 20, 70 << 20};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

START_TEST(double_free)
{
    for (unsigned i = 0; i < SIZES; i++) {
        void *p = arena_alloc(a, sizes[i]);
        /* A huge block is unmapped when it is freed, so that the arena knows it no more. */
        const char *why = sizes[i] > 64 << 20 ? "never handed out" : "free already";
        stops(free_twice, p, why);
        stops(free_twice_with_others_between, p, why);
        stops(free_realloc, p, why);
        stops(free_usable, p, why);
        arena_free(a, p);
    }
}
END_TEST

START_TEST(inside_a_block)
{
    for (unsigned i = 0; i < SIZES; i++) {
        char *p = arena_alloc(a, sizes[i]);
        size_t last = arena_usable(a, p) - 1;
        if (last >= 64 << 20)
            last = (8 << 20) - 1;
        stops(free_once, p + 1, "inside a block");
        stops(free_once, p + last, "inside a block");
        stops(free_once, p + (last + 1) / 2, "inside a block");
        arena_free(a, p);
    }
}
END_TEST

START_TEST(never_handed_out)
{
    int on_stack = 0;
    static int in_data;
    struct arena *other;
    ck_assert_int_eq(arena_create(SIZE_MAX, &other), 0);
    char *ours = arena_alloc(a, 48);
    char *theirs = arena_alloc(other, 48);
    uintptr_t region = (uintptr_t)ours & ~(((uintptr_t)64 << 20) - 1);
    const char *why = "never handed out";
    stops(free_once, &on_stack, why);
    stops(free_once, &in_data, why);
    stops(free_once, theirs, why);
    stops(free_once, (void *)16, why);
    stops(free_once, (void *)~(uintptr_t)0, why);
    stops(free_once, (void *)((uintptr_t)1 << 47), why);
    stops(free_once, (void *)((uintptr_t)0x8000 << 48), why);
    stops(free_once, (void *)region, why);
    stops(free_once, (void *)(region + ((uintptr_t)64 << 20) - 64), why);
    stops(free_once, a, why);
    stops(free_once, ours + 48, "free already");
    uint64_t random = test_seed();
    for (unsigned i = 0; i < 50; i++)
        stops(free_once, (void *)(uintptr_t)(test_random(&random) | 1), "");
    arena_destroy(other);
}
END_TEST

START_TEST(null_is_no_misuse)
{
    arena_free(a, NULL);
    void *p = arena_realloc(a, NULL, 5);
    ck_assert_ptr_nonnull(p);
}
END_TEST

static void setup(void)
{
    ck_assert_int_eq(arena_create(SIZE_MAX, &a), 0);
}

static void teardown(void)
{
    arena_destroy(a);
}

int main(void)
{
    Suite *suite = suite_create("arena_misuse");
    TCase *tc = tcase_create("misuse");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, double_free);
    tcase_add_test(tc, inside_a_block);
    tcase_add_test(tc, never_handed_out);
    tcase_add_test(tc, null_is_no_misuse);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
