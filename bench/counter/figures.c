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
#include <sys/mman.h>
#include <unistd.h>

/* What a chunk of slots holds, and what of it lies in the page of its head in row 0. */
enum { CHUNK_WORDS = 512, WORDS_BESIDE_THE_HEAD = 448 };

enum job { ADD, SWITCH, FIRST_TOUCH, JOBS };

/* So many that the caller loses its CPU in between. */
enum { MOST_SAMPLES = 1000000 };
static const int samples_of[JOBS] = {[ADD] = MOST_SAMPLES, [SWITCH] = 200000, [FIRST_TOUCH] = 4000};

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

static uint64_t time_add(struct fastmm_counter *counter)
{
    uint64_t start = bench_now();
    fastmm_counter_inc(counter);
    return bench_now() - start;
}

static uint64_t time_switch(void)
{
    struct fastmm_counter fresh = FASTMM_COUNTER_INIT;
    uint64_t start = bench_now();
    fastmm_counter_percpu(&fresh);
    uint64_t end = bench_now();
    fastmm_counter_destroy(&fresh);
    return end - start;
}

/* The others' chunk is full, so this counter gets a new one, and words in pages nobody has used. */
static uint64_t time_first_touch(void)
{
    struct fastmm_counter_group8 beside[WORDS_BESIDE_THE_HEAD / 8];
    struct fastmm_counter fresh = FASTMM_COUNTER_INIT;
    fastmm_counter_groups_init(&beside[0].group, 8, WORDS_BESIDE_THE_HEAD / 8);
    for (int k = 0; k < WORDS_BESIDE_THE_HEAD / 8; k++)
        fastmm_counter_group_percpu(&beside[k].group);
    fastmm_counter_percpu(&fresh);
    uint64_t took = time_add(&fresh);
    fastmm_counter_destroy(&fresh);
    fastmm_counter_groups_destroy(&beside[0].group, 8, WORDS_BESIDE_THE_HEAD / 8);
    fastmm_counter_trim();
    return took;
}

static uint64_t time_call(enum job job, struct crowd *crowd)
{
    if (job == ADD)
        return time_add(&crowd->counter);
    return job == SWITCH ? time_switch() : time_first_touch();
}

/* All words of the crowd's chunk but its own. */
static struct fastmm_counter fill[CHUNK_WORDS - 1];

static int fill_chunk(void)
{
    fastmm_counter_groups_init(&fill[0].group, 1, CHUNK_WORDS - 1);
    for (int k = 0; k < CHUNK_WORDS - 1; k++) {
        int error = fastmm_counter_percpu(&fill[k]);
        if (error)
            return error;
    }
    return 0;
}

/* args[0]: the job. Times include the two readings of the clock. */
static uint64_t spread(struct bench *b, uint64_t iterations)
{
    static uint64_t samples[MOST_SAMPLES];
    enum job job = (enum job)b->spec->args[0];
    int count = samples_of[job];
    struct crowd crowd = {.counter = FASTMM_COUNTER_INIT};
    uint64_t start = bench_now();
    fastmm_counter_trim();
    if (fastmm_counter_percpu(&crowd.counter) != 0 || gather(&crowd) != 0)
        return 0;
    if (job == FIRST_TOUCH && fill_chunk() != 0)
        return 0;
    for (int k = 0; k < count; k++)
        samples[k] = time_call(job, &crowd);
    disperse(&crowd);
    fastmm_counter_destroy(&crowd.counter);
    if (job == FIRST_TOUCH)
        fastmm_counter_groups_destroy(&fill[0].group, 1, CHUNK_WORDS - 1);
    uint64_t took = bench_now() - start;
    qsort(samples, (size_t)count, sizeof(samples[0]), ascending);
    bench_counter(b, "p50_ns", (double)samples[count / 2]);
    bench_counter(b, "p99.9_ns", (double)samples[count - count / 1000]);
    bench_counter(b, "worst_ns", (double)samples[count - 1]);
    return took * iterations;
}

/* Counted page by page: the kernel's other numbers are approximate. */
static double resident_bytes(void)
{
    char line[256];
    unsigned long kib = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Rss: %lu kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return 1024 * (double)kib;
}

/* args: how many counters, whether per-CPU, on how many simulated CPUs */
static uint64_t memory(struct bench *b, uint64_t iterations)
{
    size_t count = (size_t)b->spec->args[0];
    int percpu = (int)b->spec->args[1];
    double before = resident_bytes();
    /* Not from malloc(), which may hand out memory that is resident already. */
    struct fastmm_counter *counters = mmap(NULL, count * sizeof(*counters), PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (counters == MAP_FAILED)
        return 0;
    uint64_t start = bench_now();
    fastmm_counter_groups_init(&counters[0].group, 1, count);
    for (size_t k = 0; k < count; k++) {
        if (percpu)
            fastmm_counter_percpu(&counters[k]);
        fastmm_counter_inc(&counters[k]);
    }
    uint64_t took = bench_now() - start;
    double resident = resident_bytes() - before;
    bench_counter(b, "resident_bytes", resident);
    bench_counter(b, "address_space_bytes",
                  (double)(count * sizeof(*counters) + fastmm_counter_held()));
    bench_counter(b, "bytes_per_counter", resident / (double)count);
    fastmm_counter_groups_destroy(&counters[0].group, 1, count);
    munmap(counters, count * sizeof(*counters));
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
    static const char *const jobs[JOBS] = {"add", "switch", "first_touch"};
    for (int job = ADD; job < JOBS; job++) {
        const struct bench_case c = {.args = {job}, .figures = 1, .timed = spread};
        bench_add(&c, "counter/spread/fastmm/call:%s", jobs[job]);
    }
    const struct bench_case atomic = {.args = {1000000, 0, 512},
                                      .figures = 1,
                                      .setup = on_many_cpus,
                                      .timed = memory,
                                      .teardown = off_many_cpus};
    const struct bench_case percpu = {.args = {100000, 1, 512},
                                      .figures = 1,
                                      .setup = on_many_cpus,
                                      .timed = memory,
                                      .teardown = off_many_cpus};
    bench_add(&atomic, "counter/memory/fastmm/mode:atomic/counters:1000000");
    bench_add(&percpu, "counter/memory/fastmm/mode:percpu/counters:100000/cpus:512");
}
