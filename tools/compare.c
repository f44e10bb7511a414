/* SPDX-License-Identifier: MIT */
/* fastmm compare: the cases that two result files have in common, and what tells the machines
 * apart. */
#include "effect_table.h"
#include "json.h"
#include "need.h"
#include "results.h"
#include "tool.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: fastmm compare [--json] A B\n"
    "\n"
    "Compares two result files of the benchmarks case by case: results.json of the\n"
    "scorecard, claims.json, or what Google Benchmark's --benchmark_out wrote. Both must\n"
    "be of one kind; the machines may differ. A gain is time that B saves, in per cent of A.\n"
    "  --json  the same for programs\n";

enum { SEED = 1 };

struct pair {
    const char *path[2];
    struct results results[2];
    struct effect_row *rows;
    unsigned count;
};

static unsigned common(const struct results *a, const struct results *b)
{
    unsigned count = 0;
    for (unsigned i = 0; i < a->series_count; i++)
        count += results_find(b, a->series[i].name) != NULL;
    return count;
}

static void fill_row(struct effect_row *row, const struct results_series *a,
                     const struct results_series *b, unsigned family)
{
    const struct effect_series base = results_effect_series(a), other = results_effect_series(b);
    row->title = a->name;
    row->label[0] = "A";
    row->label[1] = "B";
    sample_describe(a->value, a->count, &row->sample[0]);
    sample_describe(b->value, b->count, &row->sample[1]);
    effect_unpaired(&base, &other, family, SEED, &row->effect);
}

static void compare(struct pair *pair)
{
    const struct results *a = &pair->results[0], *b = &pair->results[1];
    unsigned family = common(a, b);
    pair->rows = need(calloc(family + 1, sizeof(*pair->rows)));
    struct effect **effects = need(calloc(family + 1, sizeof(struct effect *)));
    for (unsigned i = 0; i < a->series_count; i++) {
        const struct results_series *other = results_find(b, a->series[i].name);
        if (!other)
            continue;
        effects[pair->count] = &pair->rows[pair->count].effect;
        fill_row(&pair->rows[pair->count++], &a->series[i], other, family);
    }
    effect_judge(effects, pair->count);
    free(effects);
}

static const char *shown(const char *value)
{
    return value ? value : "-";
}

static void print_fact(const char *key, const char *a, const char *b)
{
    if (a && b && strcmp(a, b) == 0)
        printf("  %-14s %s\n", key, a);
    else
        printf("  %-14s A: %s\n  %-14s B: %s\n", key, shown(a), "", shown(b));
}

static void print_machines(const struct pair *pair)
{
    const struct results *a = &pair->results[0], *b = &pair->results[1];
    printf("A  %s\nB  %s\n", pair->path[0], pair->path[1]);
    for (unsigned i = 0; i < a->fact_count; i++)
        print_fact(a->facts[i].key, a->facts[i].value, results_fact(b, a->facts[i].key));
    for (unsigned i = 0; i < b->fact_count; i++)
        if (!results_fact(a, b->facts[i].key))
            print_fact(b->facts[i].key, NULL, b->facts[i].value);
}

static void print_alone(const char *which, const struct results *of, const struct results *other)
{
    for (unsigned i = 0; i < of->series_count; i++)
        if (!results_find(other, of->series[i].name))
            printf("only in %s: %s\n", which, of->series[i].name);
}

static void print_text(const struct pair *pair)
{
    unsigned verdicts[4] = {0};
    print_machines(pair);
    putchar('\n');
    effect_table(stdout, pair->rows, pair->count);
    print_alone("A", &pair->results[0], &pair->results[1]);
    print_alone("B", &pair->results[1], &pair->results[0]);
    for (unsigned i = 0; i < pair->count; i++)
        verdicts[pair->rows[i].effect.verdict]++;
    printf("\nB against A, %u cases: %u better, %u worse, %u none, %u undecided.\n", pair->count,
           verdicts[EFFECT_BETTER], verdicts[EFFECT_WORSE], verdicts[EFFECT_NONE],
           verdicts[EFFECT_UNDECIDED]);
    puts(
        "gain: time that B saves, in per cent of A. *: the 95 % interval of the bootstrap excludes "
        "none,\nby Holm's correction over this table. Two runs differ by more than their blocks "
        "show:\nplacement, neighbours and clock of the day are in the gain.");
}

static void json_side(struct json *json, const char *key, const struct sample *sample)
{
    json_object(json, key);
    json_uint(json, "n", sample->count);
    for (int i = 0; i < SAMPLE_FIGURES; i++)
        json_number(json, sample_name((enum sample_figure)i), sample->figure[i]);
    json_object_end(json);
}

static void json_row(struct json *json, const struct effect_row *row)
{
    const struct effect *e = &row->effect;
    json_object(json, NULL);
    json_string(json, "case", row->title);
    json_side(json, "a", &row->sample[0]);
    json_side(json, "b", &row->sample[1]);
    json_number(json, "gain_percent", e->gain);
    json_number(json, "low", e->low);
    json_number(json, "high", e->high);
    json_number(json, "p_holm", e->holm);
    json_bool(json, "star", e->star);
    json_number(json, "detectable_percent", e->detectable);
    json_string(json, "verdict", effect_verdict_name(e->verdict));
    json_object_end(json);
}

static void json_machine(struct json *json, const char *key, const struct results *results)
{
    json_object(json, key);
    for (unsigned i = 0; i < results->fact_count; i++)
        json_string(json, results->facts[i].key, results->facts[i].value);
    json_object_end(json);
}

static void print_json(const struct pair *pair)
{
    struct json json = {.out = stdout};
    json_object(&json, NULL);
    json_string(&json, "kind", pair->results[0].kind);
    json_machine(&json, "machine_a", &pair->results[0]);
    json_machine(&json, "machine_b", &pair->results[1]);
    json_array(&json, "cases");
    for (unsigned i = 0; i < pair->count; i++)
        json_row(&json, &pair->rows[i]);
    json_array_end(&json);
    json_object_end(&json);
}

static int compare_and_print(struct pair *pair, bool as_json)
{
    const struct results *a = &pair->results[0], *b = &pair->results[1];
    if (strcmp(a->kind, b->kind) != 0) {
        tool_complain("%s is of %s and %s of %s: their cases can't be compared", pair->path[0],
                      a->kind, pair->path[1], b->kind);
        return TOOL_FAILED;
    }
    compare(pair);
    int status = TOOL_OK;
    if (!pair->count) {
        tool_complain("%s and %s have no case in common", pair->path[0], pair->path[1]);
        status = TOOL_FAILED;
    } else if (as_json) {
        print_json(pair);
    } else {
        print_text(pair);
    }
    free(pair->rows);
    return status ? status : tool_finish();
}

int tool_compare(int argc, char **argv)
{
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool as_json = false;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        if (option == 'h') {
            fputs(usage, stdout);
            return tool_finish();
        }
        if (option != 'j')
            return tool_misused("compare", "unknown option");
        as_json = true;
    }
    if (argc - optind != 2)
        return tool_misused("compare", "two files are compared, and %d were named", argc - optind);
    struct pair pair = {.path = {argv[optind], argv[optind + 1]}};
    struct tool_error error;
    for (int side = 0; side < 2; side++)
        if (results_read(pair.path[side], &pair.results[side], &error)) {
            tool_complain("%s", error.text);
            results_free(&pair.results[0]);
            return TOOL_FAILED;
        }
    int status = compare_and_print(&pair, as_json);
    results_free(&pair.results[0]);
    results_free(&pair.results[1]);
    return status;
}
