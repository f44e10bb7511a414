/* SPDX-License-Identifier: MIT */
#include "results.h"

#include "json_read.h"
#include "need.h"
#include "text.h"

#include <math.h>
#include <string.h>

/* What went wrong is said once, with the name of the file before it. */
struct reading {
    struct results *results;
    const char *wrong;
    const char *where; /* a case's name, or NULL */
    unsigned group;    /* clusters of different ones are different, whatever their numbers */
};

static bool fail(struct reading *r, const char *where, const char *wrong)
{
    r->where = where;
    r->wrong = wrong;
    return false;
}

/* Files may come from anywhere, and terminals obey control characters. */
static char *copy_of(const char *text)
{
    char *copy = need(strdup(text));
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return copy;
}

static void add_fact(struct results *results, const char *key, const char *value)
{
    unsigned n = results->fact_count++;
    results->facts = need(realloc(results->facts, (n + 1) * sizeof(*results->facts)));
    results->facts[n] = (struct results_fact){copy_of(key), copy_of(value)};
}

static struct results_series *series_of(struct results *results, const char *name)
{
    struct results_series *found = (struct results_series *)results_find(results, name);
    if (found)
        return found;
    unsigned n = results->series_count++;
    results->series = need(realloc(results->series, (n + 1) * sizeof(*results->series)));
    results->series[n] = (struct results_series){.name = copy_of(name)};
    return &results->series[n];
}

static void add_time(struct results_series *series, double ns, unsigned cluster)
{
    if (series->count == series->room) {
        series->room = series->room ? 2 * series->room : 64;
        series->value = need(realloc(series->value, series->room * sizeof(*series->value)));
        series->cluster = need(realloc(series->cluster, series->room * sizeof(*series->cluster)));
    }
    series->value[series->count] = ns;
    series->cluster[series->count++] = cluster;
}

struct in_order {
    unsigned cluster, order;
    double value;
};

static int by_cluster(const void *a, const void *b)
{
    const struct in_order *x = a, *y = b;
    if (x->cluster != y->cluster)
        return x->cluster < y->cluster ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Times of a cluster come together, and clusters are numbered from 1. */
static void gather_clusters(struct results_series *series)
{
    struct in_order *times = need(malloc((series->count + 1) * sizeof(*times)));
    for (unsigned i = 0; i < series->count; i++)
        times[i] = (struct in_order){series->cluster[i], i, series->value[i]};
    qsort(times, series->count, sizeof(*times), by_cluster);
    for (unsigned i = 0; i < series->count; i++) {
        series->clusters += i == 0 || times[i].cluster != times[i - 1].cluster;
        series->value[i] = times[i].value;
        series->cluster[i] = series->clusters;
    }
    free(times);
}

static bool is_time(const struct json_value *value)
{
    return value && value->kind == JSON_NUMBER && value->number > 0;
}

static const struct json_value *item(const struct json_value *array, unsigned index)
{
    const struct json_value *value = array->kind == JSON_ARRAY ? array->first : NULL;
    while (value && index--)
        value = value->next;
    return value;
}

/*
 * Blocks are arrays whose first member is the cluster (a round, which is a process for each goal,
 * or a placement), and of which columns[] hold the times of the two sides.
 */
static bool read_blocks(struct reading *r, const struct json_value *blocks,
                        const char *const names[2], const unsigned columns[2])
{
    enum { CLUSTERS = 4096 };
    for (int side = 0; side < 2 && blocks->first; side++) {
        struct results_series *series = series_of(r->results, names[side]);
        for (const struct json_value *block = blocks->first; block; block = block->next) {
            const struct json_value *of = item(block, 0), *time = item(block, columns[side]);
            if (!of || of->kind != JSON_NUMBER || !(of->number >= 0 && of->number < CLUSTERS) ||
                !is_time(time))
                return fail(r, names[side], "a block without a number of its cluster or a time");
            add_time(series, time->number, r->group * CLUSTERS + (unsigned)of->number);
        }
    }
    return true;
}

static bool read_pairs(struct reading *r, const struct json_value *cell)
{
    const char *ours = json_get_string(cell, "ours");
    const struct json_value *pairs = json_get_kind(cell, "pairs", JSON_ARRAY);
    if (!ours || !pairs)
        return fail(r, ours, "a cell without 'ours' or 'pairs'");
    for (const struct json_value *pair = pairs->first; pair; pair = pair->next) {
        const char *rival = json_get_string(pair, "rival");
        const struct json_value *blocks = json_get_kind(pair, "blocks", JSON_ARRAY);
        if (!rival || !blocks)
            return fail(r, ours, "a pair without 'rival' or 'blocks'");
        if (!read_blocks(r, blocks, (const char *const[]){ours, rival}, (const unsigned[]){2, 3}))
            return false;
    }
    return true;
}

static bool read_scorecard(struct reading *r, const struct json_value *root)
{
    for (const struct json_value *goal = json_get(root, "goals")->first; goal; goal = goal->next) {
        const struct json_value *cells = json_get_kind(goal, "cells", JSON_ARRAY);
        if (!cells)
            return fail(r, json_get_string(goal, "id"), "a goal without 'cells'");
        for (const struct json_value *cell = cells->first; cell; cell = cell->next)
            if (!read_pairs(r, cell))
                return false;
        r->group++;
    }
    return true;
}

static bool read_claims(struct reading *r, const struct json_value *root)
{
    for (const struct json_value *row = json_get(root, "comparisons")->first; row;
         row = row->next) {
        const char *name = json_get_string(row, "name");
        const char *base = json_get_string(row, "base"), *other = json_get_string(row, "other");
        const struct json_value *blocks = json_get_kind(row, "blocks", JSON_ARRAY);
        if (!name || !base || !other || !blocks)
            return fail(r, name, "a comparison without 'name', 'base', 'other' or 'blocks'");
        size_t size = strlen(name) + strlen(base) + strlen(other) + 2;
        char *names[2] = {need(malloc(size)), need(malloc(size))};
        snprintf(names[0], size, "%s/%s", name, base);
        snprintf(names[1], size, "%s/%s", name, other);
        bool read = read_blocks(r, blocks, (const char *const[]){names[0], names[1]},
                                (const unsigned[]){1, 2});
        if (!read)
            r->where = NULL; /* it points into what is freed here */
        free(names[0]);
        free(names[1]);
        if (!read)
            return false;
    }
    return true;
}

/* Nanoseconds in a unit of Google Benchmark; 0 if it is none. */
static double unit_of(const char *name)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (name && strcmp(units[i].name, name) == 0)
            return units[i].ns;
    return 0;
}

static bool read_google(struct reading *r, const struct json_value *root)
{
    for (const struct json_value *run = json_get(root, "benchmarks")->first; run; run = run->next) {
        const char *name = json_get_string(run, "run_name"),
                   *type = json_get_string(run, "run_type");
        const struct json_value *time = json_get(run, "real_time");
        double unit = unit_of(json_get_string(run, "time_unit"));
        if (!name || !type)
            return fail(r, name, "a run without 'run_name' or 'run_type'");
        if (strcmp(type, "iteration") != 0 || json_get(run, "error_occurred"))
            continue;
        if (!is_time(time) || unit <= 0)
            return fail(r, name, "a run without 'real_time' or 'time_unit'");
        struct results_series *series = series_of(r->results, name);
        add_time(series, time->number * unit, series->count);
    }
    return true;
}

static void read_machine(struct results *results, const struct json_value *machine)
{
    for (const struct json_value *fact = machine ? machine->first : NULL; fact; fact = fact->next) {
        char number[32];
        if (!fact->key || strcmp(fact->key, "host_name") == 0)
            continue;
        snprintf(number, sizeof(number), "%.9g", fact->number);
        if (fact->kind == JSON_STRING)
            add_fact(results, fact->key, fact->string);
        else if (fact->kind == JSON_NUMBER)
            add_fact(results, fact->key, number);
    }
}

static const struct {
    const char *kind, *array, *machine;
    bool (*read)(struct reading *r, const struct json_value *root);
} formats[] = {
    {"scorecard", "goals", "machine", read_scorecard},
    {"claims", "comparisons", "machine", read_claims},
    {"Google Benchmark", "benchmarks", "context", read_google},
};

static bool read_format(struct reading *r, const struct json_value *root)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (!json_get_kind(root, formats[i].array, JSON_ARRAY))
            continue;
        r->results->kind = formats[i].kind;
        read_machine(r->results, json_get_kind(root, formats[i].machine, JSON_OBJECT));
        if (!formats[i].read(r, root))
            return false;
        for (unsigned k = 0; k < r->results->series_count; k++)
            gather_clusters(&r->results->series[k]);
        return r->results->series_count || fail(r, NULL, "there are no times in it");
    }
    return fail(r, NULL,
                "no result of our benches: neither 'goals', 'comparisons' nor 'benchmarks' "
                "is there");
}

int results_parse(const char *name, const char *text, size_t size, struct results *out,
                  struct tool_error *error)
{
    struct json_document document;
    *out = (struct results){0};
    if (json_parse(name, text, size, &document, error))
        return -1;
    struct reading reading = {.results = out};
    bool read = read_format(&reading, document.root);
    if (!read) {
        tool_fail(error, "%s: %s%s%s", name, reading.where ? reading.where : "",
                  reading.where ? ": " : "", reading.wrong);
        results_free(out);
    }
    json_free(&document);
    return read ? 0 : -1;
}

int results_read(const char *path, struct results *out, struct tool_error *error)
{
    struct text text;
    if (text_read_most(path, RESULTS_MAX, &text, error))
        return -1;
    int status = results_parse(path, text.bytes, text.size, out, error);
    free(text.bytes);
    return status;
}

void results_free(struct results *results)
{
    for (unsigned i = 0; i < results->fact_count; i++) {
        free(results->facts[i].key);
        free(results->facts[i].value);
    }
    for (unsigned i = 0; i < results->series_count; i++) {
        free(results->series[i].name);
        free(results->series[i].value);
        free(results->series[i].cluster);
    }
    free(results->facts);
    free(results->series);
    *results = (struct results){0};
}

const struct results_series *results_find(const struct results *results, const char *name)
{
    for (unsigned i = 0; i < results->series_count; i++)
        if (strcmp(results->series[i].name, name) == 0)
            return &results->series[i];
    return NULL;
}

const char *results_fact(const struct results *results, const char *key)
{
    for (unsigned i = 0; i < results->fact_count; i++)
        if (strcmp(results->facts[i].key, key) == 0)
            return results->facts[i].value;
    return NULL;
}

struct effect_series results_effect_series(const struct results_series *series)
{
    return (struct effect_series){series->count, series->value, series->cluster};
}
