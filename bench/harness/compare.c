/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include "budget.h"
#include "cases.h"
#include "pool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A batch is long enough that the clock costs nothing, and short enough that a timer interrupt or
 * another process spoils one batch of many. Threads need longer: they start some 100 ns apart and
 * end within a 64th.
 */
static const double batch_ns = 250e3;
static const double threaded_batch_ns = 2e6;
/* A batch in which its threads were running for less of the time is measured again. */
static const double running_wanted = 0.8;
/* So often at most: threads that take turns are not what the case is about; one alone still is. */
enum { TRIES = 3, THREADED_TRIES = 200 };

static FILE *answers;

static void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void answer(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(answers, format, args);
    va_end(args);
    fputc('\n', answers);
    fflush(answers);
}

struct side {
    const struct bench_case *spec;
    struct instance *instance;
    uint64_t iterations; /* of a batch */
    double wall;         /* ns that a batch takes, untimed work included */
};

struct pair {
    struct side ours, rival;
    double target, limit; /* seconds */
    bool rival_first;     /* in set-up: who comes first may get the better memory */
};

/* Opens, or answers why not. */
static bool side_open(struct side *side)
{
    side->instance = instance_open(side->spec);
    if (!side->instance->skipped[0])
        return true;
    answer("skip\t%s: %s", side->spec->name, side->instance->skipped);
    instance_close(side->instance);
    side->instance = NULL;
    return false;
}

static void side_close(struct side *side)
{
    if (side->instance)
        instance_close(side->instance);
    side->instance = NULL;
}

static bool side_digest(struct side *side, uint64_t *digest)
{
    if (!side_open(side))
        return false;
    *digest = side->spec->digest(&side->instance->bench[0]);
    side_close(side);
    return true;
}

static bool same_result(struct pair *pair)
{
    if (!pair->ours.spec->digest || !pair->rival.spec->digest) {
        answer("unchecked");
        return true;
    }
    uint64_t ours, rival;
    if (!side_digest(&pair->ours, &ours) || !side_digest(&pair->rival, &rival))
        return false;
    if (ours != rival)
        answer("differ\t%016" PRIx64 ", %016" PRIx64, ours, rival);
    return ours == rival;
}

static void calibrate(struct side *side, double wall_limit)
{
    double wanted = side->spec->threads > 1 ? threaded_batch_ns : batch_ns;
    uint64_t n = 1;
    struct batch batch = instance_run(side->instance, n);
    while (batch.ns < wanted && batch.wall < wall_limit && n < UINT64_C(1) << 40) {
        n = budget_iterations(n, batch.ns, wanted);
        batch = instance_run(side->instance, n);
    }
    side->iterations = n;
    side->wall = batch.wall;
}

/*
 * ns per item, of the timed batch only: a sixteenth more goes before it to warm the caches that the
 * other side has just filled. *overlap falls to that of the batch.
 */
static double measure(struct side *side, double *overlap)
{
    unsigned tries = side->spec->threads > 1 ? THREADED_TRIES : TRIES;
    struct batch batch = {0};
    while (tries-- && batch.overlap < running_wanted) {
        if (side->iterations >= 16)
            instance_run(side->instance, side->iterations / 16);
        batch = instance_run(side->instance, side->iterations);
    }
    if (batch.overlap < *overlap)
        *overlap = batch.overlap;
    return batch.ns / ((double)side->iterations * side->instance->bench[0].items);
}

static void measure_blocks(struct pair *pair, unsigned blocks)
{
    bool threaded = pair->ours.spec->threads > 1 || pair->rival.spec->threads > 1;
    uint64_t start = bench_now();
    for (unsigned i = 0; i < blocks; i++) {
        double seconds = (double)(bench_now() - start) * 1e-9;
        if (i >= BUDGET_MIN_BLOCKS && seconds > pair->target)
            break;
        if (seconds > pair->limit) {
            answer("skip\ttook %.1f s for %u blocks, and had %.1f s", seconds, i, pair->limit);
            return;
        }
        bool ours_first = i % 2 == 0;
        double ours = 0, rival = 0, overlap = 1;
        for (unsigned k = 0; k < 4; k++) {
            bool outer = k == 0 || k == 3;
            if (outer == ours_first)
                ours += measure(&pair->ours, &overlap) / 2;
            else
                rival += measure(&pair->rival, &overlap) / 2;
        }
        if (threaded && overlap < running_wanted) {
            answer("skip\tthe threads did not run at the same time (overlap %.2f in spite of "
                   "%d tries)",
                   overlap, THREADED_TRIES);
            return;
        }
        answer("block\t%s\t%.9g\t%.9g\t%.3f", ours_first ? "ABBA" : "BAAB", ours, rival, overlap);
    }
    answer("end");
}

static void compare_open(struct pair *pair)
{
    double wall_limit = pair->target * 1e9 / (4 * BUDGET_MIN_BLOCKS);
    calibrate(&pair->ours, wall_limit);
    calibrate(&pair->rival, wall_limit);
    struct budget_blocks plan =
        budget_blocks(pair->ours.wall * 1e-9, pair->rival.wall * 1e-9, pair->target, pair->limit);
    if (plan.fits)
        measure_blocks(pair, plan.blocks);
    else
        answer("skip\tneeds %.1f s, and has %.1f s", plan.least, pair->limit);
}

static void compare(struct pair *pair)
{
    unsigned threads = pair->ours.spec->threads > pair->rival.spec->threads
                           ? pair->ours.spec->threads
                           : pair->rival.spec->threads;
    if (threads > 1 && pool_cpus() && threads > pool_cpus()) {
        answer("skip\tneeds %u CPUs, and this process may use %u", threads, pool_cpus());
        return;
    }
    if (!same_result(pair))
        return;
    struct side *first = pair->rival_first ? &pair->rival : &pair->ours;
    struct side *second = pair->rival_first ? &pair->ours : &pair->rival;
    if (side_open(first) && side_open(second))
        compare_open(pair);
    side_close(&pair->rival);
    side_close(&pair->ours);
}

/* Takes the request apart in place. */
static bool read_request(char *line, struct pair *pair)
{
    char *part[5];
    for (int i = 0; i < 5; i++)
        if (!(part[i] = strsep(&line, "\t\n")))
            return false;
    *pair = (struct pair){
        .ours.spec = cases_find(part[0]),
        .rival.spec = cases_find(part[1]),
        .target = strtod(part[2], NULL),
        .limit = strtod(part[3], NULL),
        .rival_first = strtoul(part[4], NULL, 10) % 2,
    };
    return pair->ours.spec && pair->rival.spec;
}

static void nothing(void *context, unsigned thread)
{
    (void)context;
    (void)thread;
}

int compare_serve(bool single)
{
    /* Cases may print; what they print must not end up among the answers. */
    int output = dup(STDOUT_FILENO);
    if (output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || !(answers = fdopen(output, "w"))) {
        perror("fastmm-bench: standard output");
        return 2;
    }
    if (!single)
        pool_run(2, nothing, NULL);

    char line[2048];
    while (fgets(line, sizeof(line), stdin)) {
        struct pair pair;
        if (!read_request(line, &pair)) {
            fputs("fastmm-bench: a request that is not understood\n", stderr);
            return 2;
        }
        if (single && (pair.ours.spec->threads > 1 || pair.rival.spec->threads > 1)) {
            fputs("fastmm-bench: a threaded case in a process without threads\n", stderr);
            return 2;
        }
        compare(&pair);
    }
    return 0;
}
