/* SPDX-License-Identifier: MIT */
/*
 * Figures that are no race: the spread of single calls with four threads a CPU, and what counters
 * cost in memory.
 */
#define _GNU_SOURCE
#include "counter/cases.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SAMPLES = 20000 };

enum job { ADD, SWITCH, FIRST_TOUCH };

struct crowd {
    struct fastmm_counter counter;
    int stop;
    long threads;
    pthread_t *handles;
};

static void *crowd_adds(void *argument)
{
    struct crowd *crowd = argument;
    while (!__atomic_load_n(&crowd->stop, __ATOMIC_RELAXED))
        fastmm_counter_inc(&crowd->counter);
    return NULL;
}

static int gather(struct crowd *crowd)
{
    crowd->threads = 4 * sysconf(_SC_NPROCESSORS_ONLN) - 1;
    crowd->handles = calloc((size_t)crowd->threads, sizeof(pthread_t));
    if (!crowd->handles)
        return -12;
    for (long t = 0; t < crowd->threads; t++) {
        if (pthread_create(&crowd->handles[t], NULL, crowd_adds, crowd) != 0) {
            crowd->threads = t;
            break;
        }
    }
    return 0;
}

static void disperse(struct crowd *crowd)
{
    __atomic_store_n(&crowd->stop, 1, __ATOMIC_RELAXED);
    for (long t = 0; t < crowd->threads; t++)
        pthread_join(crowd->handles[t], NULL);
    free(crowd->handles);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t one_call(enum job job, struct crowd *crowd)
{
    struct fastmm_counter fresh = FASTMM_COUNTER_INIT;
    /* A new chunk, so that its pages are touched for the first time. */
    if (job == FIRST_TOUCH) {
        fastmm_counter_trim();
        fastmm_counter_percpu(&fresh);
    }
    uint64_t start = bench_now();
    if (job == ADD)
        fastmm_counter_inc(&crowd->counter);
    else if (job == SWITCH)
        fastmm_counter_percpu(&fresh);
    else
        fastmm_counter_inc(&fresh);
    uint64_t end = bench_now();
    if (job != ADD)
        fastmm_counter_destroy(&fresh);
    return end - start;
}

/* args[0]: the job. Times include the two readings of the clock. */
static uint64_t spread(struct bench *b, uint64_t iterations)
{
    static uint64_t samples[SAMPLES];
    struct crowd crowd = {.counter = FASTMM_COUNTER_INIT};
    uint64_t start = bench_now();
    if (fastmm_counter_percpu(&crowd.counter) != 0 || gather(&crowd) != 0)
        return 0;
    for (int k = 0; k < SAMPLES; k++)
        samples[k] = one_call((enum job)b->spec->args[0], &crowd);
    disperse(&crowd);
    fastmm_counter_destroy(&crowd.counter);
    uint64_t took = bench_now() - start;
    qsort(samples, SAMPLES, sizeof(samples[0]), ascending);
    bench_counter(b, "p50_ns", (double)samples[SAMPLES / 2]);
    bench_counter(b, "p99.9_ns", (double)samples[SAMPLES - SAMPLES / 1000]);
    bench_counter(b, "worst_ns", (double)samples[SAMPLES - 1]);
    return took * iterations;
}

static double resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* args: how many counters, whether per-CPU, on how many simulated CPUs */
static uint64_t memory(struct bench *b, uint64_t iterations)
{
    size_t count = (size_t)b->spec->args[0];
    int percpu = (int)b->spec->args[1];
    double before = resident_bytes();
    struct fastmm_counter *counters = malloc(count * sizeof(*counters));
    if (!counters)
        return 0;
    uint64_t start = bench_now();
    fastmm_counter_groups_init(&counters[0].group, 1, count);
    for (size_t k = 0; k < count; k++) {
        if (percpu)
            fastmm_counter_percpu(&counters[k]);
        fastmm_counter_inc(&counters[k]);
    }
    uint64_t took = bench_now() - start;
    bench_counter(b, "resident_bytes", resident_bytes() - before);
    bench_counter(b, "address_space_bytes",
                  (double)(count * sizeof(*counters) + fastmm_counter_held()));
    bench_counter(b, "bytes_per_counter", (resident_bytes() - before) / (double)count);
    fastmm_counter_groups_destroy(&counters[0].group, 1, count);
    free(counters);
    fastmm_counter_trim();
    return took * iterations;
}

static int on_many_cpus(struct bench *b)
{
    struct machine many = {.rows = (unsigned)b->spec->args[2]};
    return machine_begin(&many) == 0 ? 0 : bench_skip(b, "other cases hold slots");
}

static void off_many_cpus(struct bench *b)
{
    (void)b;
    machine_end();
}

void add_cases_of_figures(void)
{
    static const char *const jobs[] = {"add", "switch", "first_touch"};
    for (int job = ADD; job <= FIRST_TOUCH; job++) {
        const struct bench_case c = {.args = {job}, .timed = spread};
        bench_add(&c, "counter/spread/fastmm/call:%s", jobs[job]);
    }
    const struct bench_case atomic = {.args = {1000000, 0, 512},
                                      .setup = on_many_cpus,
                                      .timed = memory,
                                      .teardown = off_many_cpus};
    const struct bench_case percpu = {.args = {100000, 1, 512},
                                      .setup = on_many_cpus,
                                      .timed = memory,
                                      .teardown = off_many_cpus};
    bench_add(&atomic, "counter/memory/fastmm/mode:atomic/counters:1000000");
    bench_add(&percpu, "counter/memory/fastmm/mode:percpu/counters:100000/cpus:512");
}
