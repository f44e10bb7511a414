/* SPDX-License-Identifier: MIT */
/*
 * M09: what was streamed is there for whoever saw a later store. On x86 the fence can hardly be
 * missed by chance, so code.sh checks it in the machine code as well.
 */
#include "arena.h"
#include "test_main.h"
#include "ways.h"

#include <fastmm/copy.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define BYTES ((size_t)1 << 20)

struct exchange {
    struct arena source, target;
    void (*stream)(struct exchange *x, uint64_t round);
    unsigned rounds;
    atomic_uint written, read;
    int wrong;
};

static uint64_t *words(struct arena *arena)
{
    return (uint64_t *)(void *)arena->data;
}

/* The rounds differ in every word of the last line and of a line in each page. */
static void stream_copy(struct exchange *x, uint64_t round)
{
    for (size_t i = 0; i < BYTES / 8; i += 512)
        words(&x->source)[i] = round;
    words(&x->source)[BYTES / 8 - 1] = round;
    fastmm_copy_stream(x->target.data, x->source.data, BYTES);
}

/* Dirtied by plain stores first, then cleared but for the round that is filled in. */
static void stream_fill(struct exchange *x, uint64_t round)
{
    fastmm_fill_with(FASTMM_COPY_STREAM, x->target.data, (int)(round & 0xff), BYTES);
}

static int is_stale_copy(struct exchange *x, uint64_t round)
{
    for (size_t i = 0; i < BYTES / 8; i += 512)
        if (words(&x->target)[i] != round)
            return 1;
    return words(&x->target)[BYTES / 8 - 1] != round;
}

static int is_stale_fill(struct exchange *x, uint64_t round)
{
    for (size_t i = 0; i < BYTES; i += 4096)
        if (x->target.data[i] != (unsigned char)round)
            return 1;
    return x->target.data[BYTES - 1] != (unsigned char)round;
}

static void wait_for(atomic_uint *value, unsigned wanted)
{
    while (atomic_load_explicit(value, memory_order_acquire) != wanted)
        sched_yield();
}

static void *read_rounds(void *arg)
{
    struct exchange *x = arg;
    for (unsigned round = 1; round <= x->rounds; round++) {
        wait_for(&x->written, round);
        x->wrong |= x->stream == stream_copy ? is_stale_copy(x, round) : is_stale_fill(x, round);
        atomic_store_explicit(&x->read, round, memory_order_release);
    }
    return NULL;
}

static void exchange(void (*stream)(struct exchange *, uint64_t))
{
    struct exchange x = {.source = arena_make(BYTES),
                         .target = arena_make(BYTES),
                         .stream = stream,
                         .rounds = test_long() ? 100000 : 1500};
    pthread_t reader;
    ck_assert_int_eq(pthread_create(&reader, NULL, read_rounds, &x), 0);
    for (unsigned round = 1; round <= x.rounds; round++) {
        x.stream(&x, round);
        atomic_store_explicit(&x.written, round, memory_order_release);
        wait_for(&x.read, round);
    }
    pthread_join(reader, NULL);
    ck_assert_int_eq(x.wrong, 0);
}

START_TEST(copies_are_seen)
{
    exchange(stream_copy);
}
END_TEST

START_TEST(fills_are_seen)
{
    if (!fastmm_copy_impl_usable(FASTMM_COPY_STREAM, fastmm_cpu_native()))
        test_skip("this architecture has no streaming implementation");
    exchange(stream_fill);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy.order");
    TCase *tc = tcase_create("M09");
    tcase_set_timeout(tc, 3600);
    tcase_add_test(tc, copies_are_seen);
    tcase_add_test(tc, fills_are_seen);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
