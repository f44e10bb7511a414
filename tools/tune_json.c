/* SPDX-License-Identifier: MIT */
/* Everything that was measured and concluded, for programs. Times are nanoseconds. */
#include "tune.h"

#include <fastmm/cpu.h>

static void put_sample(struct json *json, const char *key, struct sample s)
{
    json_object(json, key);
    json_number(json, "ns", s.ns);
    json_number(json, "spread", s.spread);
    json_object_end(json);
}

static void put_bands(struct json *json, const struct tune_table *table)
{
    struct tune_band bands[TUNE_MAX_SIZES];
    unsigned count = tune_bands(table, bands);
    json_array(json, "bands");
    for (unsigned i = 0; i < count; i++) {
        json_object(json, NULL);
        json_uint(json, "first", bands[i].first);
        json_uint(json, "last", bands[i].last);
        json_string(json, "use", tune_way_name(bands[i].best, table->job));
        json_object(json, "times_slower");
        for (int way = 0; way < TUNE_WAYS; way++)
            if (way != (int)bands[i].best && bands[i].behind[way] > 0)
                json_number(json, tune_way_name((enum tune_way)way, table->job),
                            bands[i].behind[way]);
        json_object_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_table(struct json *json, const struct tune_table *table)
{
    json_object(json, table->job);
    json_array(json, "sizes");
    for (unsigned i = 0; i < table->count; i++) {
        json_object(json, NULL);
        json_uint(json, "size", table->size[i]);
        for (int way = 0; way < TUNE_WAYS; way++)
            if (table->at[i][way].ns > 0)
                put_sample(json, tune_way_name((enum tune_way)way, table->job), table->at[i][way]);
        json_object_end(json);
    }
    json_array_end(json);
    put_bands(json, table);
    json_object_end(json);
}

static void put_map(struct json *json, const struct tune_map *map)
{
    struct tune_zone zones[TUNE_MAX_ZONES];
    unsigned count = tune_zones(map, zones);
    json_object(json, NULL);
    json_uint(json, "size", map->size);
    json_number(json, "usual_ns", tune_map_usual(map));
    json_array(json, "slow_zones");
    for (unsigned i = 0; i < count; i++) {
        json_object(json, NULL);
        json_uint(json, "first", zones[i].first);
        json_uint(json, "last", zones[i].last);
        json_uint(json, "worst", zones[i].worst);
        json_number(json, "times_slower", zones[i].times);
        json_object_end(json);
    }
    json_array_end(json);
    json_array(json, "aliases");
    for (unsigned i = 0; i < map->count; i++) {
        json_object(json, NULL);
        json_uint(json, "alias", map->alias[i]);
        json_number(json, "ns", map->at[i].ns);
        json_number(json, "spread", map->at[i].spread);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void put_short(struct json *json, const char *key, const struct tune_short *curve)
{
    struct tune_knee knee = tune_find_knee(curve);
    json_object(json, key);
    json_uint(json, "knee", knee.size);
    json_number(json, "ns_up_to_it", knee.level);
    json_number(json, "ns_beyond", knee.beyond);
    json_object_end(json);
}

static void put_edges(struct json *json, const struct tune_edges *e)
{
    if (!e->measured)
        return;
    json_object(json, "masked");
    put_sample(json, "store_inside", e->store_inside);
    put_sample(json, "store_edge", e->store_edge);
    put_sample(json, "load_inside", e->load_inside);
    put_sample(json, "load_edge", e->load_edge);
    put_sample(json, "store_nothing_beyond", e->store_nothing);
    json_object_end(json);
}

/* Thresholds as the settings file words them: bytes, or "never". */
static void put_threshold(struct json *json, const char *key, uint64_t bytes)
{
    if (bytes == FASTMM_COPY_NEVER)
        json_string(json, key, "never");
    else
        json_uint(json, key, bytes);
}

static void put_settings(struct json *json, const struct fastmm_copy_settings *s)
{
    json_object(json, "settings");
    put_threshold(json, "copy_rep_min", s->copy_rep_min);
    put_threshold(json, "copy_stream_min", s->copy_stream_min);
    put_threshold(json, "fill_rep_min", s->fill_rep_min);
    put_threshold(json, "fill_stream_min", s->fill_stream_min);
    json_object_end(json);
}

static void put_libc(struct json *json, const struct tune_libc *libc)
{
    json_object(json, "libc");
    json_string(json, "skipped", libc->skipped);
    json_string(json, "glibc_tunables", libc->line[0] ? libc->line : NULL);
    json_number(json, "gain", libc->line[0] ? libc->gain : 1);
    json_array(json, "cells");
    for (unsigned i = 0; i < libc->count; i++) {
        json_object(json, NULL);
        json_string(json, "name", libc->probes[i].name);
        put_sample(json, "without", libc->probes[i].plain);
        put_sample(json, "with", libc->probes[i].tuned);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

void tune_report_json(const struct tune_results *r, struct json *json)
{
    struct fastmm_copy_settings settings = tune_settings(r);
    json_object(json, NULL);
    json_string(json, "cpu", fastmm_cpu_native()->name);
    json_number(json, "seconds", r->seconds);
    json_number(json, "noise", tune_noise(r));
    json_string(json, "vectors", r->vector);
    put_table(json, &r->copy);
    put_table(json, &r->clear);
    json_array(json, "alias_maps");
    for (unsigned i = 0; i < TUNE_MAPS; i++)
        if (r->maps[i].count)
            put_map(json, &r->maps[i]);
    json_array_end(json);
    put_short(json, "rep_movsb_short", &r->rep_copy);
    put_short(json, "rep_stosb_short", &r->rep_clear);
    put_edges(json, &r->edges);
    put_settings(json, &settings);
    put_libc(json, &r->libc);
    json_object_end(json);
}
