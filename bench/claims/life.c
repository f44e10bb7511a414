/* SPDX-License-Identifier: MIT */
/*
 * Claim 3: resident-set counters that stay atomic until a second thread comes make fork, exec, a
 * shell and faults faster. Here the counters live the lives that this kernel's processes lead, as
 * often as its faults and tables say, and the nanoseconds saved are set against what it takes.
 */
#include "claims.h"

#include "harness/bench.h"
#include "harness/pool.h"
#include "life_ways.h"

#include <inttypes.h>
#include <stdlib.h>

enum life { LIFE_FORK, LIFE_EXEC, LIFE_SHELL, LIVES };
static const char *const lives[LIVES] = {"fork", "exec", "shell"};
/* Address spaces made: the child's; with exec a second one; a shell forks once more for its
 * program. */
static const unsigned spaces[LIVES] = {1, 2, 4};
static struct life_job jobs[LIVES];

/* What other ways are compared with. */
static const enum life_way base_way = LIFE_PERCPU;

struct storm {
    unsigned threads;
    struct life_space *space[LIFE_WAYS];
    int64_t faults[LIFE_WAYS], error[LIFE_WAYS]; /* so far, and the worst error of a read */
};
enum { STORMS = 8 };
static struct storm storms[STORMS];
static unsigned storm_count;

static double time_life(void *context, const void *variant, unsigned placement, uint64_t times)
{
    double start = claims_clock();
    ((const struct life_methods *)variant)->live[placement](context, times);
    return claims_clock() - start;
}

static struct kernel_cost cost_of(const struct claims *claims, int life)
{
    const struct kernel_cost costs[LIVES] = {claims->kernel.fork, claims->kernel.exec,
                                             claims->kernel.shell};
    return costs[life];
}

static void add_life(struct claims *claims, int life, enum life_way way)
{
    struct claim_row *row =
        claims_add(claims, 3, "life", "life/%s/%s", lives[life], life_way_names[way]);
    row->aa = way == LIFE_PERCPU_AGAIN;
    row->headline = true;
    row->timed = time_life;
    row->context = &jobs[life];
    row->side[0] = (struct claim_side){"percpu", &life_ways[base_way], 0};
    row->side[1] = (struct claim_side){life_way_names[way], &life_ways[way], 0};
    row->wrong = life_ways[way].live[0](&jobs[life], 1) != 0 ||
                 life_ways[base_way].live[0](&jobs[life], 1) != 0;
}

void life_claim_add(struct claims *claims)
{
    for (int life = 0; life < LIVES; life++) {
        unsigned faults = (unsigned)(cost_of(claims, life).faults / spaces[life]);
        jobs[life] = (struct life_job){spaces[life], faults, (unsigned)claims->kernel.tables};
        for (int way = LIFE_PERCPU_AGAIN; way < LIFE_WAYS; way++)
            add_life(claims, life, (enum life_way)way);
    }
}

/* --- Storms ------------------------------------------------------------------------------------
 */

struct storm_work {
    const struct life_methods *methods;
    struct life_space *space;
    unsigned placement;
    uint64_t faults;
};

static void storm_in_thread(void *context, unsigned thread)
{
    const struct storm_work *work = context;
    work->methods->storm[work->placement](work->space, thread, work->faults);
}

static double time_storm(void *context, const void *variant, unsigned placement, uint64_t times)
{
    struct storm *storm = context;
    const struct life_methods *methods = variant;
    size_t way = (size_t)(methods - life_ways);
    struct storm_work work = {methods, storm->space[way], placement, times};
    uint64_t start = bench_now();
    if (storm->threads == 1)
        storm_in_thread(&work, 0);
    else
        pool_run(storm->threads, storm_in_thread, &work);
    double ns = (double)(bench_now() - start);
    storm->faults[way] += (int64_t)(times * storm->threads);
    int64_t error = llabs(methods->read(work.space) - storm->faults[way]);
    if (error > storm->error[way])
        storm->error[way] = error;
    return ns;
}

static void add_storm(struct claims *claims, struct storm *storm, enum life_way way)
{
    char family[32];
    snprintf(family, sizeof(family), "storm/threads:%u", storm->threads);
    struct claim_row *row =
        claims_add(claims, 3, family, "storm/%s/threads:%u", life_way_names[way], storm->threads);
    row->aa = way == LIFE_PERCPU_AGAIN;
    row->headline = true;
    row->timed = time_storm;
    row->context = storm;
    row->batch_ns = storm->threads > 1 ? 1e6 : 250e3;
    row->side[0] = (struct claim_side){"percpu", &life_ways[base_way], 0};
    row->side[1] = (struct claim_side){life_way_names[way], &life_ways[way], 0};
}

static void add_storms(struct claims *claims, unsigned threads)
{
    if (storm_count == STORMS)
        return;
    struct storm *storm = &storms[storm_count++];
    *storm = (struct storm){.threads = threads};
    for (int way = 0; way < LIFE_WAYS; way++) {
        storm->space[way] = life_ways[way].open(threads);
        if (!storm->space[way])
            claims_skip(claims, "claim 3, %s with %u threads: no memory", life_way_names[way],
                        threads);
    }
    for (int way = LIFE_PERCPU_AGAIN; way < LIFE_WAYS; way++)
        if (storm->space[way] && storm->space[base_way])
            add_storm(claims, storm, (enum life_way)way);
}

void life_claim_add_threads(struct claims *claims, bool threaded)
{
    if (!threaded) {
        add_storms(claims, 1);
        return;
    }
    if (claims->cpus < 2) {
        claims_skip(claims, "claim 3, storms with threads: only one CPU may be used");
        return;
    }
    unsigned most = claims->cpus < LIFE_THREADS ? claims->cpus : LIFE_THREADS;
    for (unsigned threads = 2; threads < most; threads *= 2)
        add_storms(claims, threads);
    add_storms(claims, most);
}

/* --- What it comes to ---------------------------------------------------------------------------
 */

static void note_life(struct claims *claims, struct claim_row *row, int life)
{
    double saved = claims_saved(row);
    struct kernel_cost cost = cost_of(claims, life);
    if (cost.ns > 0)
        snprintf(
            row->note, sizeof(row->note),
            "%u spaces, %u faults and %u tables in each: saves %.0f ns of a %s that takes %.0f "
            "ns here: %+.3f %% to expect",
            jobs[life].spaces, jobs[life].faults, jobs[life].tables, saved, lives[life], cost.ns,
            100 * saved / cost.ns);
    else
        snprintf(row->note, sizeof(row->note), "this kernel's %s could not be measured",
                 lives[life]);
}

static void note_storm(struct claims *claims, struct claim_row *row)
{
    const struct storm *storm = row->context;
    size_t way = (size_t)((const struct life_methods *)row->side[1].variant - life_ways);
    double saved = claims_saved(row);
    double fault = claims->kernel.anon_fault.ns;
    snprintf(
        row->note, sizeof(row->note),
        "saves %.2f ns of a fault's %.0f ns here: %+.3f %% to expect; reads off by at most %" PRId64
        " pages (percpu %" PRId64 "), seen %" PRId64 " (%" PRId64 ")",
        saved, fault, fault > 0 ? 100 * saved / fault : 0, life_ways[way].bound(storm->space[way]),
        life_ways[base_way].bound(storm->space[base_way]), storm->error[way],
        storm->error[base_way]);
}

void life_claim_note(struct claims *claims)
{
    for (unsigned i = 0; i < claims->count; i++) {
        struct claim_row *row = &claims->rows[i];
        if (!row->count)
            continue;
        if (row->timed == time_storm)
            note_storm(claims, row);
        for (int life = 0; life < LIVES && row->timed == time_life; life++)
            if (row->context == &jobs[life])
                note_life(claims, row, life);
    }
}

/* Nothing may have been lost. */
bool life_claim_exact(void)
{
    bool exact = true;
    for (unsigned i = 0; i < storm_count; i++)
        for (int way = 0; way < LIFE_WAYS; way++)
            if (storms[i].space[way])
                exact &= life_ways[way].exact(storms[i].space[way]) == storms[i].faults[way];
    return exact;
}

void life_claim_free(void)
{
    for (unsigned i = 0; i < storm_count; i++)
        for (int way = 0; way < LIFE_WAYS; way++)
            if (storms[i].space[way])
                life_ways[way].close(storms[i].space[way]);
}
