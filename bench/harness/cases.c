/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include "names.h"
#include "pool.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *primitive;
    struct bench_case *cases;
    size_t count, room;
} registry;

/* A wrong case is a mistake in the source of the bench: it ends the process at once. */
static void refuse(const char *name, const char *what)
{
    fprintf(stderr, "fastmm-bench-%s: case '%s': %s\n", registry.primitive, name, what);
    exit(2);
}

static void *need(void *memory)
{
    if (!memory) {
        fputs("fastmm-bench: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

void cases_begin(const char *primitive)
{
    registry.primitive = primitive;
}

size_t cases_count(void)
{
    return registry.count;
}

const struct bench_case *cases_get(size_t i)
{
    size_t single = 0;
    for (size_t k = 0; k < registry.count; k++)
        single += registry.cases[k].threads == 1;
    bool threaded = i >= single;
    size_t left = threaded ? i - single : i;
    for (size_t k = 0; k < registry.count; k++)
        if ((registry.cases[k].threads > 1) == threaded && left-- == 0)
            return &registry.cases[k];
    return NULL;
}

const struct bench_case *cases_find(const char *name)
{
    for (size_t k = 0; k < registry.count; k++)
        if (strcmp(registry.cases[k].name, name) == 0)
            return &registry.cases[k];
    return NULL;
}

static void check_case(const struct bench_case *spec)
{
    const char *wrong = name_check(spec->name, registry.primitive);
    if (wrong)
        refuse(spec->name, wrong);
    if (cases_find(spec->name))
        refuse(spec->name, "added twice");
    if (!spec->loop == !spec->timed)
        refuse(spec->name, "needs either loop or timed");
    if (spec->timed && spec->threads > 1)
        refuse(spec->name, "a timed case has one thread");
}

void bench_add(const struct bench_case *spec, const char *name, ...)
{
    char full[512];
    va_list args;
    va_start(args, name);
    int length = vsnprintf(full, sizeof(full), name, args);
    va_end(args);

    struct bench_case added = *spec;
    added.threads = spec->threads ? spec->threads : 1;
    if (added.threads > 1 && length >= 0 && (size_t)length < sizeof(full))
        length +=
            snprintf(full + length, sizeof(full) - (size_t)length, "/threads:%u", added.threads);
    added.name = full;
    if (length < 0 || (size_t)length >= sizeof(full))
        refuse(full, "the name is too long");
    check_case(&added);
    added.name = need(strdup(full));

    if (registry.count == registry.room) {
        registry.room = registry.room ? 2 * registry.room : 64;
        registry.cases = need(realloc(registry.cases, registry.room * sizeof(*registry.cases)));
    }
    registry.cases[registry.count++] = added;
}

/* instance_open() lays the instances of struct bench right behind it. */
static struct instance *instance_of(struct bench *b)
{
    return (struct instance *)(void *)(b - b->thread) - 1;
}

int bench_skip(struct bench *b, const char *reason, ...)
{
    struct instance *instance = instance_of(b);
    va_list args;
    va_start(args, reason);
    vsnprintf(instance->skipped, sizeof(instance->skipped), reason, args);
    va_end(args);
    for (char *c = instance->skipped; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return -1;
}

void bench_counter(struct bench *b, const char *name, double value)
{
    struct instance *instance = instance_of(b);
    unsigned i = 0;
    while (i < instance->counters && strcmp(instance->counter[i].name, name) != 0)
        i++;
    if (i == INSTANCE_COUNTERS)
        refuse(instance->spec->name, "too many counters");
    if (i == instance->counters) {
        snprintf(instance->counter[i].name, sizeof(instance->counter[i].name), "%s", name);
        instance->counters++;
    }
    instance->counter[i].value = value;
}

struct instance *instance_open(const struct bench_case *spec)
{
    unsigned threads = spec->threads;
    struct instance *instance = need(calloc(1, sizeof(*instance) + threads * sizeof(struct bench)));
    instance->spec = spec;
    instance->bench = (struct bench *)(void *)(instance + 1);
    instance->threads = threads;
    struct bench *first = &instance->bench[0];
    *first = (struct bench){.spec = spec, .threads = threads, .items = 1};

    int status = spec->setup ? spec->setup(first) : 0;
    if (status && !instance->skipped[0]) {
        bench_skip(first, "setup failed and gave no reason (%d)", status);
        instance->failed = status;
    }
    for (unsigned t = 1; t < threads; t++) {
        instance->bench[t] = *first;
        instance->bench[t].thread = t;
    }
    return instance;
}

void instance_close(struct instance *instance)
{
    if (!instance->skipped[0] && instance->spec->teardown)
        instance->spec->teardown(&instance->bench[0]);
    free(instance);
}

struct span {
    uint64_t start, end;
    uint64_t waited; /* ns without a CPU */
    uint64_t done;   /* iterations */
};

struct threaded_batch {
    struct instance *instance;
    uint64_t iterations;
    atomic_bool stop;
    struct span *span;
};

/*
 * A contended line is handed out unfairly, so equal work would leave the slower thread alone at the
 * end, and uncontended. The first to be done stops the others instead, at the end of a small part.
 */
static void run_thread(void *context, unsigned thread)
{
    enum { PARTS = 64 };
    struct threaded_batch *batch = context;
    struct bench *b = &batch->instance->bench[thread];
    uint64_t part = (batch->iterations + PARTS - 1) / PARTS, left = batch->iterations;
    uint64_t waited = pool_waited(), start = bench_now();
    while (left && !atomic_load_explicit(&batch->stop, memory_order_relaxed)) {
        uint64_t next = part < left ? part : left;
        b->spec->loop(b, next);
        left -= next;
    }
    atomic_store_explicit(&batch->stop, true, memory_order_relaxed);
    uint64_t end = bench_now();
    batch->span[thread] =
        (struct span){start, end, pool_waited() - waited, batch->iterations - left};
}

static struct batch sum_up(const struct span *span, unsigned threads, uint64_t iterations)
{
    struct span outer = span[0], inner = span[0];
    double rate = 0, apart = 0; /* iterations of all threads per ns; ns that any one was missing */
    for (unsigned t = 0; t < threads; t++) {
        struct span s = span[t];
        outer.start = s.start < outer.start ? s.start : outer.start;
        outer.end = s.end > outer.end ? s.end : outer.end;
        inner.start = s.start > inner.start ? s.start : inner.start;
        inner.end = s.end < inner.end ? s.end : inner.end;
        apart += (double)s.waited;
        rate += s.end > s.start ? (double)s.done / (double)(s.end - s.start) : 0;
    }
    double wall = (double)(outer.end - outer.start);
    double together = (double)inner.end - (double)inner.start - apart;
    if (together < 0)
        together = 0;
    return (struct batch){.ns = rate > 0 ? threads * (double)iterations / rate : wall,
                          .wall = wall,
                          .overlap = wall > 0 ? together / wall : 1};
}

static struct batch run_threads(struct instance *instance, uint64_t iterations)
{
    struct threaded_batch batch = {.instance = instance,
                                   .iterations = iterations,
                                   .span = need(calloc(instance->threads, sizeof(struct span)))};
    pool_run(instance->threads, run_thread, &batch);
    struct batch result = sum_up(batch.span, instance->threads, iterations);
    free(batch.span);
    return result;
}

static struct batch run_alone(struct bench *b, uint64_t iterations)
{
    struct batch batch = {0};
    uint64_t waited = pool_waited(), start = bench_now();
    if (b->spec->timed)
        batch.ns = (double)b->spec->timed(b, iterations);
    else
        b->spec->loop(b, iterations);
    batch.wall = (double)(bench_now() - start);
    if (b->spec->loop)
        batch.ns = batch.wall;
    double running = batch.wall - (double)(pool_waited() - waited);
    batch.overlap = running <= 0 ? 0 : batch.wall > 0 ? running / batch.wall : 1;
    return batch;
}

struct batch instance_run(struct instance *instance, uint64_t iterations)
{
    return instance->threads > 1 ? run_threads(instance, iterations)
                                 : run_alone(&instance->bench[0], iterations);
}

double instance_items(const struct instance *instance)
{
    return instance->bench[0].items * instance->threads;
}

double instance_bytes(const struct instance *instance)
{
    return instance->bench[0].bytes * instance->threads;
}
