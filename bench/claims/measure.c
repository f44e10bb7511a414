/* SPDX-License-Identifier: MIT */
#include "claims.h"

#include "harness/bench.h"
#include "harness/progress.h"
#include "need.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A block is base, other, other, base or the other way round. Three or more blocks at a placement,
 * so that their median drops one that was disturbed, and 20 or more in all.
 */
enum { LEAST_BLOCKS = 3, MOST_BLOCKS = 24, LEAST_IN_ALL = 20, SEED = 1 };
/* A row whose rival says nothing at this precision gains nothing by more. */
static const double most_seconds = 1.5, full_seconds = 6;

double claims_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct claim_row *claims_add(struct claims *claims, unsigned claim, const char *family,
                             const char *name, ...)
{
    if (claims->count == claims->room) {
        claims->room = claims->room ? 2 * claims->room : 64;
        claims->rows = need(realloc(claims->rows, claims->room * sizeof(*claims->rows)));
    }
    struct claim_row *row = &claims->rows[claims->count++];
    *row =
        (struct claim_row){.claim = claim, .items = 1, .placements = PLACEMENTS, .batch_ns = 250e3};
    snprintf(row->family, sizeof(row->family), "%s", family);
    va_list args;
    va_start(args, name);
    vsnprintf(row->name, sizeof(row->name), name, args);
    va_end(args);
    return row;
}

void claims_explain(struct claims *claims, unsigned claim, const char *format, ...)
{
    char *about = claims->about[claim];
    size_t used = strlen(about);
    va_list args;
    va_start(args, format);
    vsnprintf(about + used, sizeof(claims->about[claim]) - used, format, args);
    va_end(args);
}

void claims_skip(struct claims *claims, const char *format, ...)
{
    const unsigned most = sizeof(claims->skipped) / sizeof(claims->skipped[0]);
    if (claims->skipped_count == most)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(claims->skipped[claims->skipped_count++], CLAIM_NOTE, format, args);
    va_end(args);
}

const struct claim_row *claims_find(const struct claims *claims, unsigned claim, const char *name)
{
    for (unsigned i = 0; i < claims->count; i++)
        if (claims->rows[i].claim == claim && strcmp(claims->rows[i].name, name) == 0)
            return &claims->rows[i];
    return NULL;
}

static double run(const struct claim_row *row, int side, unsigned placement, uint64_t iterations)
{
    return row->timed(row->context, row->side[side].variant, placement, iterations) /
           ((double)iterations * row->items);
}

/* So many that the base takes what a batch should, but no more than 2^24. */
static uint64_t calibrate(const struct claim_row *row)
{
    uint64_t n = 1;
    double ns = run(row, 0, 0, n) * row->items;
    while (ns < row->batch_ns && n < UINT64_C(1) << 24) {
        double factor = ns > 0 ? 1.2 * row->batch_ns / ns : 16;
        n = (uint64_t)((double)n * fmin(16, fmax(2, factor)));
        ns = run(row, 0, 0, n) * row->items * (double)n;
    }
    return n;
}

static void measure_block(struct claim_row *row, unsigned placement, unsigned at, bool base_first,
                          uint64_t iterations)
{
    double ns[2] = {0, 0};
    for (int k = 0; k < 4; k++) {
        int side = (k == 0 || k == 3) == base_first ? 0 : 1;
        ns[side] += run(row, side, placement, iterations) / 2;
    }
    row->placement[at] = placement;
    row->ns[0][at] = ns[0];
    row->ns[1][at] = ns[1];
}

static unsigned least_blocks(const struct claim_row *row)
{
    unsigned needed = (LEAST_IN_ALL + row->placements - 1) / row->placements;
    return needed > LEAST_BLOCKS || row->placements >= LEAST_IN_ALL ? needed : LEAST_BLOCKS;
}

static void measure_row(struct claim_row *row, double seconds, bool smoke)
{
    /* At this many clusters the order of measuring tells nothing: drift is shared out. */
    const unsigned least = smoke ? 1 : least_blocks(row);
    const unsigned most = row->placements >= LEAST_IN_ALL ? least : MOST_BLOCKS;
    const unsigned placements = row->placements;
    uint64_t start = bench_now(), iterations = smoke ? 1 : calibrate(row);
    unsigned done = 0;
    for (int side = 0; side < 2; side++)
        row->ns[side] = need(calloc((size_t)placements * most, sizeof(double)));
    row->placement = need(calloc((size_t)placements * most, sizeof(unsigned)));
    while (done < least ||
           (!smoke && done < most && (double)(bench_now() - start) * 1e-9 < seconds)) {
        for (unsigned p = 0; p < placements; p++)
            measure_block(row, p, p * most + done, (p + done) % 2 == 0, iterations);
        done++;
    }
    /* Without the room that was left. */
    for (unsigned p = 0; p < placements; p++)
        for (unsigned b = 0; b < done; b++, row->count++) {
            unsigned from = p * most + b;
            row->placement[row->count] = row->placement[from];
            row->ns[0][row->count] = row->ns[0][from];
            row->ns[1][row->count] = row->ns[1][from];
        }
}

static void measure_next(struct claims *claims, struct claim_row *row, unsigned rows_left,
                         double left)
{
    if (claims->full || claims->smoke || left > 0)
        measure_row(row, claims->full ? full_seconds : fmin(left / rows_left, most_seconds),
                    claims->smoke);
    else
        snprintf(row->note, sizeof(row->note), "no time was left for it");
}

void claims_measure(struct claims *claims, unsigned from, double seconds)
{
    struct progress progress;
    unsigned rows = claims->count - from, done = 0;
    progress_start(&progress, CLAIM_LAST);
    for (int headline = 1; headline >= 0; headline--)
        for (unsigned i = from; i < claims->count; i++) {
            struct claim_row *row = &claims->rows[i];
            if (row->headline != headline)
                continue;
            double left = seconds - progress_elapsed(&progress);
            double most = (rows - done) * (claims->full ? full_seconds : most_seconds);
            char label[32];
            snprintf(label, sizeof(label), "claim %u", row->claim);
            progress.goal = row->claim;
            progress_cell(&progress, label, done + 1, rows, false,
                          claims->full ? most : fmin(left, most));
            measure_next(claims, row, rows - done, left);
            done++;
        }
    if (progress.terminal)
        fputs("\r\033[K", stderr);
}

double claims_saved(const struct claim_row *row)
{
    return row->effect.gain / 100 * row->sample[0].figure[SAMPLE_BAMEAN_50];
}

/* The largest that an A/A of the family made out of nothing. */
static double floor_of(const struct claims *claims, const struct claim_row *row)
{
    double floor = 0;
    for (unsigned i = 0; i < claims->count; i++) {
        const struct claim_row *other = &claims->rows[i];
        if (other->aa && other != row && other->claim == row->claim &&
            strcmp(other->family, row->family) == 0)
            floor = fmax(floor, fabs(other->effect.gain));
    }
    return floor;
}

static void judge_claim(struct claims *claims, unsigned claim)
{
    struct effect **table = need(calloc(claims->count + 1, sizeof(struct effect *)));
    unsigned rows = 0;
    for (unsigned i = 0; i < claims->count; i++)
        if (claims->rows[i].claim == claim && claims->rows[i].count) /* else there was no time */
            table[rows++] = &claims->rows[i].effect;
    for (unsigned i = 0; i < claims->count; i++) {
        struct claim_row *row = &claims->rows[i];
        if (row->claim != claim)
            continue;
        const struct effect_series base = {row->count, row->ns[0], row->placement};
        effect_paired(&base, row->ns[1], rows, SEED, &row->effect);
        for (int side = 0; side < 2; side++)
            sample_describe(row->ns[side], row->count, &row->sample[side]);
    }
    for (unsigned i = 0; i < claims->count; i++)
        if (claims->rows[i].claim == claim)
            claims->rows[i].effect.floor = floor_of(claims, &claims->rows[i]);
    effect_judge(table, rows);
    free(table);
}

void claims_judge(struct claims *claims)
{
    for (unsigned claim = 1; claim <= CLAIM_LAST; claim++)
        judge_claim(claims, claim);
}

void claims_free(struct claims *claims)
{
    for (unsigned i = 0; i < claims->count; i++) {
        free(claims->rows[i].ns[0]);
        free(claims->rows[i].ns[1]);
        free(claims->rows[i].placement);
    }
    free(claims->rows);
    claims->rows = NULL;
    claims->count = 0;
}
