/* SPDX-License-Identifier: MIT */
#include "support.h"

_Thread_local struct fastmm_counter_area simulated_area;

/* Tests of wrong use look at what calls return. In a checking build they would trap instead. */
static void go_on(enum fastmm_counter_fault fault, const struct fastmm_counter_group *g, unsigned i)
{
    (void)fault;
    (void)g;
    (void)i;
}

__attribute__((constructor)) static void let_misuse_return(void)
{
    fastmm_counter_set_handler(go_on);
}

static void *nothing(void *argument)
{
    return argument;
}

void become_threaded(void)
{
    pthread_t t;
    ck_assert_int_eq(pthread_create(&t, NULL, nothing, NULL), 0);
    pthread_join(t, NULL);
}

void simulate_cpus(unsigned rows)
{
    become_threaded();
    struct fastmm_counter_seam seam = {.rows = rows, .area = &simulated_area};
    ck_assert_int_eq(fastmm_counter_seam_set(&seam), 0);
    if (fastmm_counter_decide() == FASTMM_COUNTER_THREAD_SHARDS)
        test_skip("no rseq here: simulated CPUs need the per-CPU add");
}

struct start {
    pthread_barrier_t barrier;
    void *(*body)(void *);
    void *argument;
};

static void *started(void *argument)
{
    struct start *start = argument;
    pthread_barrier_wait(&start->barrier);
    return start->body(start->argument);
}

void run_threads(unsigned count, void *(*body)(void *), void *argument)
{
    struct start start = {.body = body, .argument = argument};
    pthread_t *threads = calloc(count, sizeof(*threads));
    pthread_barrier_init(&start.barrier, NULL, count);
    for (unsigned t = 0; t < count; t++)
        ck_assert_int_eq(pthread_create(&threads[t], NULL, started, &start), 0);
    for (unsigned t = 0; t < count; t++)
        pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&start.barrier);
    free(threads);
}

long scaled(long factor)
{
    return test_long() ? factor : 1;
}
