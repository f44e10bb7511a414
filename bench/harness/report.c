/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char csv_name[] = "scorecard.csv";
static const char json_name[] = "results.json";

static void csv_number(FILE *out, double value)
{
    if (value > 0)
        fprintf(out, ",%.3f", value);
    else
        fputs(",-", out);
}

static void csv_text(FILE *out, const char *text)
{
    fputc(',', out);
    text_csv(out, text);
}

static void csv_row(FILE *out, const struct goal_score *score)
{
    const struct goal *goal = score->goal;
    bool measured = score->measured;
    char text[1024];
    text_csv(out, goal->id);
    csv_text(out, goal->what);
    score_baseline(score, text, sizeof(text));
    csv_text(out, text);
    snprintf(text, sizeof(text), "%u of %u", score->measured, score->total);
    csv_text(out, text);
    csv_number(out, measured ? score->geomean : 0);
    csv_number(out, measured ? score->interval.low : 0);
    csv_number(out, measured ? score->interval.high : 0);
    csv_number(out, measured ? score->worst : 0);
    csv_text(out, measured ? score->worst_cell->cell->ours : "-");
    if (measured)
        snprintf(text, sizeof(text), "%s", score_verdict(score));
    else
        snprintf(text, sizeof(text), "skipped: %s", score->reason);
    csv_text(out, text);
    csv_number(out, goal->target_geomean);
    csv_number(out, goal->target_worst);
    csv_text(out, score_target(score));
    fputc('\n', out);
}

void report_csv(FILE *out, const struct report *report)
{
    fputs("id,what,baseline,cells,geomean,low,high,worst,worst_cell,verdict,target_geomean,"
          "target_worst,target\n",
          out);
    for (unsigned i = 0; i < report->count; i++)
        csv_row(out, &report->scores[i]);
}

static void json_string(FILE *out, const char *key, const char *value)
{
    fprintf(out, "\"%s\": ", key);
    text_json(out, value);
}

/* Zero stands for "none" wherever a ratio or a time is meant. */
static void json_number(FILE *out, const char *key, double value)
{
    fprintf(out, ", \"%s\": ", key);
    if (value > 0)
        text_json_number(out, value);
    else
        fputs("null", out);
}

static void json_pair(FILE *out, const struct plan_cell *cell, const struct pair_result *pair,
                      unsigned rival)
{
    static const char *const status[] = {"measured", "skipped", "different", "broken"};
    fputs("\n        {", out);
    json_string(out, "rival", cell->rivals[rival]);
    fputs(", ", out);
    json_string(out, "status", status[pair->status]);
    if (pair->status != PAIR_MEASURED) {
        fputs(", ", out);
        json_string(out, "reason", pair->reason);
    }
    fprintf(out, ", \"results_compared\": %s", pair->unchecked || !pair->count ? "false" : "true");
    if (pair->count) {
        json_number(out, "ours_ns", score_time(pair, true));
        json_number(out, "rival_ns", score_time(pair, false));
    }
    fputs(", \"blocks\": [", out);
    for (unsigned i = 0; i < pair->count; i++) {
        const struct block *block = &pair->blocks[i];
        fprintf(out, "%s[%u, \"%s\", %.6g, %.6g, %.3f]", i ? ", " : "", block->round,
                block->ours_first ? "ABBA" : "BAAB", block->ours, block->rival, block->overlap);
    }
    fputs("]}", out);
}

static void json_cell(FILE *out, const struct cell_score *cell)
{
    fputs("\n      {", out);
    json_string(out, "ours", cell->cell->ours);
    if (cell->measured) {
        fputs(", ", out);
        json_string(out, "best_rival", cell->cell->rivals[cell->best]);
        json_number(out, "ratio", cell->ratio);
        json_number(out, "low", cell->interval.low);
        json_number(out, "high", cell->interval.high);
    } else {
        fputs(", ", out);
        json_string(out, "skipped", cell->reason);
    }
    if (cell->again)
        json_number(out, "ratio_before_measured_again", cell->first_ratio);
    fputs(", \"pairs\": [", out);
    for (unsigned r = 0; r < cell->cell->rival_count; r++) {
        if (r)
            fputc(',', out);
        json_pair(out, cell->cell, &cell->pairs[r], r);
    }
    fputs("]}", out);
}

static void json_goal(FILE *out, const struct goal_score *score)
{
    bool measured = score->measured;
    fputs("\n    {", out);
    json_string(out, "id", score->goal->id);
    fputs(", ", out);
    json_string(out, "what", score->goal->what);
    fputs(", ", out);
    json_string(out, "verdict", score_verdict(score));
    fputs(", ", out);
    json_string(out, "target", score_target(score));
    if (!measured) {
        fputs(", ", out);
        json_string(out, "reason", score->reason);
    }
    fprintf(out, ", \"cells_measured\": %u, \"cells_total\": %u", score->measured, score->total);
    json_number(out, "geomean", measured ? score->geomean : 0);
    json_number(out, "low", measured ? score->interval.low : 0);
    json_number(out, "high", measured ? score->interval.high : 0);
    json_number(out, "worst", measured ? score->worst : 0);
    json_number(out, "target_geomean", score->goal->target_geomean);
    json_number(out, "target_worst", score->goal->target_worst);
    fputs(", \"cells\": [", out);
    for (unsigned c = 0; c < score->count; c++) {
        if (c)
            fputc(',', out);
        json_cell(out, &score->cells[c]);
    }
    fputs("]}", out);
}

void report_machine(FILE *out, const struct machine *machine)
{
    fputs("  \"machine\": {", out);
    for (unsigned i = 0; i < machine->facts; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        json_string(out, machine->fact[i].key, machine->fact[i].value);
    }
    fputs("\n  },\n  \"warnings\": [", out);
    for (unsigned i = 0; i < machine->warnings; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        text_json(out, machine->warning[i]);
    }
    fputs("\n  ],\n", out);
}

bool report_figure(const struct report *report, unsigned i, struct report_figure *figure)
{
    return sscanf(report->figures[i], "%511[^\t]\t%63[^\t]\t%lf", figure->of, figure->name,
                  &figure->value) == 3;
}

static void json_figures(FILE *out, const struct report *report)
{
    struct report_figure figure;
    const char *separator = "";
    for (unsigned i = 0; i < report->figure_count; i++) {
        if (!report_figure(report, i, &figure))
            continue;
        fprintf(out, "%s\n    {", separator);
        json_string(out, "case", figure.of);
        fputs(", ", out);
        json_string(out, "name", figure.name);
        json_number(out, "value", figure.value);
        fputc('}', out);
        separator = ",";
    }
}

void report_json(FILE *out, const struct report *report)
{
    fputs("{\n  \"format\": 1,\n", out);
    fputs("  \"ratio\": \"rival's time over ours: above 1 is ahead\",\n", out);
    fputs("  \"block\": [\"round\", \"order (A is ours)\", \"ours, ns per item\", \"rival, ns per "
          "item\", "
          "\"overlap of the threads\"],\n",
          out);
    fprintf(out, "  \"run\": \"%s\", \"seconds\": %.1f, \"bootstrap_seed\": %d,\n", report->run,
            report->seconds, SCORE_SEED);
    report_machine(out, report->machine);
    fputs("  \"goals\": [", out);
    for (unsigned i = 0; i < report->count; i++) {
        if (i)
            fputc(',', out);
        json_goal(out, &report->scores[i]);
    }
    fputs("\n  ],\n  \"figures\": [", out);
    json_figures(out, report);
    fputs("\n  ]\n}\n", out);
}

static int fail(char *error, size_t size, const char *directory, const char *name)
{
    int status = errno ? -errno : -EIO;
    snprintf(error, size, "%s/%s: %s", directory, name, strerror(-status));
    return status;
}

static int make_directories(const char *directory)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof(path), "%s", directory) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir(path, 0777) != 0 && errno != EEXIST ? -1 : 0;
}

int report_file(const char *directory, const char *name, report_writer *write, const void *content,
                char *error, size_t size)
{
    char path[4200], partial[4220];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    snprintf(partial, sizeof(partial), "%s.part", path);
    errno = 0;
    FILE *out = fopen(partial, "we");
    if (!out)
        return fail(error, size, directory, name);
    if (write)
        write(out, content);
    bool failed = ferror(out);
    failed |= fclose(out) != 0;
    if (!failed && (write ? rename(partial, path) : unlink(partial)) == 0)
        return 0;
    int status = fail(error, size, directory, name);
    unlink(partial);
    return status;
}

static void write_csv(FILE *out, const void *report)
{
    report_csv(out, report);
}

static void write_json(FILE *out, const void *report)
{
    report_json(out, report);
}

int report_directory(const char *directory, char *error, size_t size)
{
    return make_directories(directory) != 0 ? fail(error, size, directory, "") : 0;
}

int report_prepare(const char *directory, char *error, size_t size)
{
    int status = report_directory(directory, error, size);
    if (!status)
        status = report_file(directory, csv_name, NULL, NULL, error, size);
    return status ? status : report_file(directory, json_name, NULL, NULL, error, size);
}

int report_write(const char *directory, const struct report *report, char *error, size_t size)
{
    int status = report_file(directory, csv_name, write_csv, report, error, size);
    return status ? status : report_file(directory, json_name, write_json, report, error, size);
}
