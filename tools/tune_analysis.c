/* SPDX-License-Identifier: MIT */
/* What the tables of `fastmm tune` mean. Nothing here measures or prints. */
#include "tune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A lead below this is never believed, however quiet the machine seems. */
#define LEAST_LEAD 0.05

/* Steps of one cycle in a time of a few nanoseconds are no knee. */
#define KNEE_STEP 1.3

static double noise_of(struct sample a, struct sample b)
{
    double noise = (a.spread + b.spread) / 2;
    return noise > LEAST_LEAD ? noise : LEAST_LEAD;
}

static bool clearly_ahead(struct sample a, struct sample b)
{
    return a.ns > 0 && (b.ns <= 0 || a.ns * (1 + noise_of(a, b)) < b.ns);
}

static enum tune_way best_way(const struct sample at[TUNE_WAYS])
{
    enum tune_way best = TUNE_VECTOR;
    for (int way = 0; way < TUNE_OWN_WAYS; way++)
        if (at[way].ns > 0 && at[way].ns < at[best].ns)
            best = (enum tune_way)way;
    return best;
}

static void compare(struct tune_band *band, const struct sample at[TUNE_WAYS])
{
    for (int way = 0; way < TUNE_WAYS; way++) {
        double behind = at[band->best].ns > 0 ? at[way].ns / at[band->best].ns : 0;
        if (behind > band->behind[way])
            band->behind[way] = behind;
    }
}

unsigned tune_bands(const struct tune_table *table, struct tune_band bands[TUNE_MAX_SIZES])
{
    unsigned count = 0;
    for (unsigned i = 0; i < table->count; i++) {
        const struct sample *at = table->at[i];
        /* Without a clear leader the simplest way, or the one of the band before, stays. */
        enum tune_way stay = count ? bands[count - 1].best : TUNE_VECTOR;
        enum tune_way best = best_way(at);
        if (!clearly_ahead(at[best], at[stay]))
            best = stay;
        if (count == 0 || best != stay)
            bands[count++] = (struct tune_band){.first = table->size[i], .best = best};
        bands[count - 1].last = table->size[i];
        compare(&bands[count - 1], at);
    }
    return count;
}

uint64_t tune_crossover(const struct tune_table *table, enum tune_way way, unsigned others,
                        size_t last)
{
    uint64_t from = UINT64_MAX;
    bool leads = false;
    for (unsigned i = table->count; i-- > 0;) {
        if (table->size[i] > last)
            continue;
        const struct sample *at = table->at[i];
        bool behind = at[way].ns <= 0, ahead = true;
        for (int other = 0; other < TUNE_WAYS; other++) {
            if (!(others >> other & 1) || at[other].ns <= 0)
                continue;
            behind = behind || clearly_ahead(at[other], at[way]);
            ahead = ahead && clearly_ahead(at[way], at[other]);
        }
        if (behind)
            break;
        /* It starts where it is clearly ahead, not where it is merely as good. */
        if (ahead) {
            leads = true;
            from = table->size[i];
        }
    }
    return leads ? from : UINT64_MAX;
}

double tune_map_usual(const struct tune_map *map)
{
    double times[TUNE_MAX_ALIASES];
    for (unsigned i = 0; i < map->count; i++)
        times[i] = map->at[i].ns;
    return measure_summary(times, map->count).ns;
}

unsigned tune_zones(const struct tune_map *map, struct tune_zone zones[TUNE_MAX_ZONES])
{
    double usual = tune_map_usual(map);
    unsigned count = 0;
    bool inside = false;
    for (unsigned i = 0; i < map->count && usual > 0; i++) {
        double times = map->at[i].ns / usual;
        if (times < TUNE_SLOW) {
            inside = false;
            continue;
        }
        if (!inside && count == TUNE_MAX_ZONES)
            break;
        if (!inside)
            zones[count++] = (struct tune_zone){.first = map->alias[i]};
        inside = true;
        struct tune_zone *zone = &zones[count - 1];
        zone->last = map->alias[i];
        if (times > zone->times) {
            zone->times = times;
            zone->worst = map->alias[i];
        }
    }
    return count;
}

struct tune_knee tune_find_knee(const struct tune_short *curve)
{
    struct tune_knee knee = {0, 0, 0};
    for (unsigned i = 0; i < curve->count; i++) {
        if (i > 0 && curve->at[i].ns > curve->at[0].ns * KNEE_STEP) {
            knee.beyond = curve->at[i].ns;
            break;
        }
        knee.size = curve->size[i];
        knee.level = curve->at[i].ns;
    }
    return knee;
}

/* Appends the spreads of what was measured. */
static size_t take_spreads(const struct sample *samples, size_t count, double *spreads)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++)
        if (samples[i].ns > 0)
            spreads[taken++] = samples[i].spread;
    return taken;
}

double tune_noise(const struct tune_results *r)
{
    static double spreads[2 * TUNE_MAX_SIZES * TUNE_WAYS + TUNE_MAPS * TUNE_MAX_ALIASES];
    size_t count = 0;
    for (unsigned i = 0; i < r->copy.count; i++)
        count += take_spreads(r->copy.at[i], TUNE_WAYS, spreads + count);
    for (unsigned i = 0; i < r->clear.count; i++)
        count += take_spreads(r->clear.at[i], TUNE_WAYS, spreads + count);
    for (unsigned m = 0; m < TUNE_MAPS; m++)
        count += take_spreads(r->maps[m].at, r->maps[m].count, spreads + count);
    return measure_summary(spreads, count).ns;
}

static uint64_t at_least(uint64_t floor, uint64_t bytes)
{
    return bytes < floor ? floor : bytes;
}

/* Streaming from where it beats both others to the end; rep from where it beats vectors below. */
static void thresholds(const struct tune_table *table, uint64_t *rep_min, uint64_t *stream_min)
{
    if (table->count == 0)
        return;
    size_t last = table->size[table->count - 1];
    *stream_min =
        at_least(FASTMM_COPY_STREAM_FLOOR,
                 tune_crossover(table, TUNE_STREAM, 1u << TUNE_VECTOR | 1u << TUNE_REP, last));
    *rep_min = at_least(FASTMM_COPY_REP_FLOOR,
                        tune_crossover(table, TUNE_REP, 1u << TUNE_VECTOR,
                                       *stream_min <= last ? (size_t)*stream_min - 1 : last));
}

struct tune_zone tune_worst_zone(const struct tune_results *r)
{
    struct tune_zone worst = {.worst = 8, .times = 1};
    for (unsigned m = 0; m < TUNE_MAPS; m++) {
        struct tune_zone zones[TUNE_MAX_ZONES];
        unsigned count = r->maps[m].size >= TUNE_TRAP_SIZE ? tune_zones(&r->maps[m], zones) : 0;
        for (unsigned z = 0; z < count; z++)
            if (zones[z].times > worst.times)
                worst = zones[z];
    }
    return worst;
}

/* Is there a trap that the library doesn't avoid by itself? */
static bool unknown_trap(const struct tune_results *r)
{
    for (unsigned m = 0; m < TUNE_MAPS; m++) {
        struct tune_zone zones[TUNE_MAX_ZONES];
        unsigned count = r->maps[m].size >= TUNE_TRAP_SIZE ? tune_zones(&r->maps[m], zones) : 0;
        for (unsigned z = 0; z < count; z++)
            if (zones[z].times >= TUNE_TRAP &&
                (zones[z].first < r->avoided_first || zones[z].last > r->avoided_last))
                return true;
    }
    return false;
}

struct fastmm_copy_settings tune_settings(const struct tune_results *r)
{
    struct fastmm_copy_settings s = {0};
    thresholds(&r->copy, &s.copy_rep_min, &s.copy_stream_min);
    thresholds(&r->clear, &s.fill_rep_min, &s.fill_stream_min);
    if (unknown_trap(r))
        s.copy_rep_min = FASTMM_COPY_NEVER;
    return s;
}

const char *tune_way_name(enum tune_way way, const char *job)
{
    bool copy = strcmp(job, "copy") == 0;
    switch (way) {
    case TUNE_VECTOR:
        return "vectors";
    case TUNE_REP:
        return copy ? "rep movsb" : "rep stosb";
    case TUNE_STREAM:
        return "streaming";
    default:
        return copy ? "memcpy" : "memset";
    }
}

static void name_candidate(struct tune_candidate *c, const char *tunable, uint64_t value)
{
    snprintf(c->tunable, sizeof(c->tunable), "glibc.cpu.%s=%#" PRIx64, tunable, value);
}

unsigned tune_candidates(const struct tune_results *r,
                         struct tune_candidate candidates[TUNE_CANDIDATES])
{
    struct fastmm_copy_settings s = tune_settings(r);
    unsigned count = 0;
    if (r->copy.count == 0)
        return 0;
    uint64_t stream =
        tune_crossover(&r->copy, TUNE_STREAM, 1u << TUNE_LIBC, r->copy.size[r->copy.count - 1]);
    if (stream != UINT64_MAX)
        name_candidate(&candidates[count++], "x86_non_temporal_threshold", stream);
    name_candidate(&candidates[count++], "x86_rep_movsb_threshold",
                   tune_worst_zone(r).times >= TUNE_TRAP ? UINT64_MAX : s.copy_rep_min);
    name_candidate(&candidates[count++], "x86_rep_stosb_threshold", s.fill_rep_min);
    return count;
}
