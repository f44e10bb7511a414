/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate, pass blocks to each other and free what others made, under a limit that
 * they keep hitting. Each block carries its size, so that two owners of one block notice. At the
 * end nothing may be lost: statistics, tables and the kernel's mappings agree to the byte.
 */
#include <errno.h>
#include <fastmm/counter.h>
#include <pthread.h>
#include <string.h>

#include "arena.h"
#include "tally.h"
#include "test_main.h"

enum { THREADS = 6, EXCHANGE = 512, LIMIT = 8 << 20 };

static struct arena *a;
static void *exchange[EXCHANGE];
static unsigned steps;

struct worker {
    pthread_t thread;
    uint64_t random;
    uint64_t refused;
};

/* Written at both ends of a block. */
static void sign(char *p, size_t size)
{
    memcpy(p, &size, sizeof(size));
    memcpy(p + size - sizeof(size), &size, sizeof(size));
}

static size_t signed_size(const char *p)
{
    size_t size, again;
    memcpy(&size, p, sizeof(size));
    memcpy(&again, p + size - sizeof(size), sizeof(size));
    ck_assert_uint_eq(size, again);
    return size;
}

static char *get(uint64_t r, size_t size)
{
    char *p = r % 4 ? arena_alloc(a, size) : arena_calloc(a, 1, size);
    if (p && r % 4 == 0)
        for (size_t i = 0; i < size; i += 8)
            if (p[i] != 0)
                ck_abort_msg("calloc of %zu: byte %zu is not zero", size, i);
    return p;
}

static void step(struct worker *w)
{
    uint64_t r = test_random(&w->random);
    size_t size = 16 + (size_t)(r >> 20) % (r % 100 == 0 ? 300000 : 2000);
    char *p = get(r >> 8, size);
    if (!p) {
        ck_assert_int_eq(errno, ENOMEM);
        w->refused++;
    } else {
        memset(p, (int)r, size);
        sign(p, size);
    }
    p = __atomic_exchange_n(&exchange[(r >> 44) % EXCHANGE], p, __ATOMIC_ACQ_REL);
    if (!p)
        return;
    size_t old = signed_size(p);
    if (r % 8 == 1) {
        char *moved = arena_realloc(a, p, old + 1000);
        if (moved) {
            ck_assert_uint_eq(signed_size(moved), old);
            p = moved;
        }
    }
    arena_free(a, p);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    for (unsigned i = 0; i < steps; i++) {
        step(w);
        if (i % 4096 == 4095)
            arena_purge(a);
    }
    return NULL;
}

/* While they work, what is handed out never passes the limit. */
static void watch(const unsigned *running)
{
    while (__atomic_load_n(running, __ATOMIC_RELAXED)) {
        struct arena_stats walked;
        arena_audit(a, &walked);
        ck_assert_int_le(walked.live_bytes, LIMIT);
    }
}

static unsigned running;

static void *watcher(void *argument)
{
    watch(argument);
    return NULL;
}

START_TEST(threads)
{
    static struct worker workers[THREADS];
    pthread_t watching;
    steps = test_long() ? 10000000 : 60000;
    ck_assert_int_eq(arena_create(LIMIT, &a), 0);
    running = 1;
    pthread_create(&watching, NULL, watcher, &running);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].random = test_seed() + i;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    uint64_t refused = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        refused += workers[i].refused;
    }
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    pthread_join(watching, NULL);
    tally_check(a);
    for (unsigned i = 0; i < EXCHANGE; i++)
        arena_free(a, exchange[i]);

    struct arena_stats s;
    arena_get_stats(a, &s);
    ck_assert_int_eq(s.live_bytes, 0);
    ck_assert_int_eq(s.allocations, s.frees);
    ck_assert_uint_eq((uint64_t)s.allocations >= (uint64_t)THREADS * steps - refused, 1);
    tally_check(a);
    arena_destroy(a);
    fastmm_counter_trim();
    ck_assert_int_eq(tally_mapped(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_stress");
    TCase *tc = tcase_create("stress");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, threads);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
