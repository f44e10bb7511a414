/* SPDX-License-Identifier: MIT */
/*
 * Code that inlines adds may be unloaded when no thread is inside it. The kernel looks at a
 * thread's critical-section pointer whenever it preempts the thread or delivers a signal, and kills
 * it if the pointer leads to nowhere; so the threads that added go on, preempted and interrupted,
 * after the code is gone.
 *
 * usage: unload MODULE ROUNDS [own]
 *   own: the module has the library in it, and counts in a counter of its own
 */
#include <dlfcn.h>
#include <fastmm/counter.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { THREADS = 6, TIMES = 20000 };

static struct fastmm_counter counter = FASTMM_COUNTER_INIT;
static void (*add)(struct fastmm_counter *c, long times);
static long (*own)(long times);
static pthread_barrier_t loaded, added, unloaded;
static unsigned rounds;
static unsigned long spun;

static void interrupted(int signal)
{
    (void)signal;
}

/* Long enough to be preempted: there are more threads than CPUs. */
static void spin(void)
{
    for (unsigned i = 0; i < 1000000; i++)
        __atomic_fetch_add(&spun, i & 1, __ATOMIC_RELAXED);
}

static void *work(void *unused)
{
    for (unsigned r = 0; r < rounds; r++) {
        pthread_barrier_wait(&loaded);
        if (add)
            add(&counter, TIMES);
        pthread_barrier_wait(&added);
        pthread_barrier_wait(&unloaded);
        spin();
    }
    return unused;
}

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, dlerror());
    exit(1);
}

static void *load(const char *path, int with_library)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        fail("dlopen");
    *(void **)(with_library ? (void *)&own : (void *)&add) =
        dlsym(module, with_library ? "module_own" : "module_add");
    if (!add && !own)
        fail("dlsym");
    return module;
}

static void unload(void *module, const char *path)
{
    dlclose(module);
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD))
        fail("the module is still there");
}

static void one_round(const char *path, int with_library)
{
    void *module = load(path, with_library);
    pthread_barrier_wait(&loaded);
    if (with_library && own(TIMES) != TIMES)
        fail("the module's own counter is wrong");
    pthread_barrier_wait(&added);
    unload(module, path);
    pthread_barrier_wait(&unloaded);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    struct itimerval often = {{0, 300}, {0, 300}};
    if (argc < 3)
        return 2;
    int with_library = argc > 3 && strcmp(argv[3], "own") == 0;
    rounds = (unsigned)atoi(argv[2]);
    signal(SIGALRM, interrupted);
    if (fastmm_counter_percpu(&counter) != 0)
        return 1;
    pthread_barrier_init(&loaded, NULL, THREADS + 1);
    pthread_barrier_init(&added, NULL, THREADS + 1);
    pthread_barrier_init(&unloaded, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned r = 0; r < rounds; r++)
        one_round(argv[1], with_library);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    long expected = with_library ? 0 : (long)rounds * THREADS * TIMES;
    if (fastmm_counter_sum(&counter) != expected) {
        fprintf(stderr, "sum %lld instead of %ld\n", (long long)fastmm_counter_sum(&counter),
                expected);
        return 1;
    }
    struct fastmm_counter_mechanism mechanism;
    fastmm_counter_get_mechanism(&mechanism);
    printf("%u times unloaded (%s)\n", rounds, mechanism.reason);
    return 0;
}
