/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include "topology.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    unsigned made; /* threads of the pool, without the caller */
    const int *cpus;
    unsigned cpu_count;

    uint64_t turn; /* counts the jobs */
    unsigned threads, running;
    void (*job)(void *, unsigned);
    void *context;
    atomic_uint arrived;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

void pool_place(const int *cpus, unsigned count)
{
    pool.cpus = cpus;
    pool.cpu_count = count;
    if (count)
        topology_bind(cpus[0]);
}

unsigned pool_cpus(void)
{
    return pool.cpu_count;
}

/* Spins, since a wake-up takes longer than many a batch; yields when there are too few CPUs. */
static void start_together(unsigned threads)
{
    atomic_fetch_add(&pool.arrived, 1);
    for (unsigned spins = 0; atomic_load_explicit(&pool.arrived, memory_order_acquire) < threads;)
        if (++spins % 4096 == 0)
            sched_yield();
}

static void *serve(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    if (pool.cpu_count)
        topology_bind(pool.cpus[thread % pool.cpu_count]);

    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.turn == seen || thread >= pool.threads) {
            seen = pool.turn;
            pthread_cond_wait(&pool.work, &pool.lock);
        }
        seen = pool.turn;
        unsigned threads = pool.threads;
        pthread_mutex_unlock(&pool.lock);

        start_together(threads);
        pool.job(pool.context, thread);

        pthread_mutex_lock(&pool.lock);
        if (--pool.running == 0)
            pthread_cond_signal(&pool.done);
    }
    return NULL;
}

static void grow(unsigned threads)
{
    while (pool.made + 1 < threads) {
        pthread_t id;
        uintptr_t index = ++pool.made;
        int error = pthread_create(&id, NULL, serve, (void *)index);
        if (error) {
            fprintf(stderr, "fastmm-bench: can't make thread %u: %s\n", pool.made, strerror(error));
            exit(2);
        }
        pthread_detach(id);
    }
}

void pool_run(unsigned threads, void (*job)(void *, unsigned), void *context)
{
    pthread_mutex_lock(&pool.lock);
    grow(threads);
    pool.job = job;
    pool.context = context;
    pool.threads = threads;
    pool.running = threads - 1;
    atomic_store(&pool.arrived, 0);
    pool.turn++;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);

    start_together(threads);
    job(context, 0);

    pthread_mutex_lock(&pool.lock);
    while (pool.running)
        pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

uint64_t pool_waited(void)
{
    /* Kept open: the file is the thread's that opened it, and each batch reads it twice. */
    static _Thread_local int file = -1;
    char text[128];
    unsigned long long running, waiting;
    if (file < 0)
        file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : pread(file, text, sizeof(text) - 1, 0);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    return sscanf(text, "%llu %llu", &running, &waiting) == 2 ? waiting : 0;
}
