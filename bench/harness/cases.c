/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include "names.h"
#include "pool.h"

#include <stdarg.h>
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

struct threaded_batch {
    struct instance *instance;
    uint64_t iterations;
    struct span {
        uint64_t start, end;
    } * span;
};

static void run_thread(void *context, unsigned thread)
{
    struct threaded_batch *batch = context;
    struct bench *b = &batch->instance->bench[thread];
    uint64_t start = bench_now();
    b->spec->loop(b, batch->iterations);
    uint64_t end = bench_now();
    batch->span[thread] = (struct span){start, end};
}

static struct batch run_threads(struct instance *instance, uint64_t iterations)
{
    struct threaded_batch batch = {instance, iterations,
                                   need(calloc(instance->threads, sizeof(struct span)))};
    pool_run(instance->threads, run_thread, &batch);

    struct span outer = batch.span[0], inner = batch.span[0];
    for (unsigned t = 1; t < instance->threads; t++) {
        struct span s = batch.span[t];
        outer.start = s.start < outer.start ? s.start : outer.start;
        outer.end = s.end > outer.end ? s.end : outer.end;
        inner.start = s.start > inner.start ? s.start : inner.start;
        inner.end = s.end < inner.end ? s.end : inner.end;
    }
    free(batch.span);
    double wall = (double)(outer.end - outer.start);
    double together = inner.end > inner.start ? (double)(inner.end - inner.start) : 0;
    return (struct batch){.ns = wall, .wall = wall, .overlap = wall > 0 ? together / wall : 1};
}

struct batch instance_run(struct instance *instance, uint64_t iterations)
{
    struct bench *b = &instance->bench[0];
    if (instance->threads > 1)
        return run_threads(instance, iterations);

    struct batch batch = {.overlap = 1};
    uint64_t start = bench_now();
    if (b->spec->timed) {
        batch.ns = (double)b->spec->timed(b, iterations);
        batch.wall = (double)(bench_now() - start);
    } else {
        b->spec->loop(b, iterations);
        batch.wall = batch.ns = (double)(bench_now() - start);
    }
    return batch;
}

double instance_items(const struct instance *instance)
{
    return instance->bench[0].items * instance->threads;
}

double instance_bytes(const struct instance *instance)
{
    return instance->bench[0].bytes * instance->threads;
}
