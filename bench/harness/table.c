/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "names.h"

#include <string.h>

void table_machine(FILE *out, const struct machine *machine)
{
    static const char *const shown[] = {"cpu",  "cpu_flags",   "cpus",       "caches",  "kernel",
                                        "libc", "libc_memcpy", "huge_pages", "compiler"};
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        fprintf(out, "  %-12s %s\n", shown[i], machine_fact(machine, shown[i]));
    for (unsigned i = 0; i < machine->warnings; i++)
        fprintf(out, "  %-12s %s\n", i ? "" : "noise from", machine->warning[i]);
}

/* Near 1 a thousandth matters, at 30 a tenth doesn't. */
static int decimals(double ratio)
{
    return ratio < 2 ? 3 : ratio < 10 ? 2 : 1;
}

static void interval_text(const struct goal_score *score, char *out, size_t size)
{
    int places = decimals(score->geomean);
    snprintf(out, size, "[%.*f, %.*f]", places, score->interval.low, places, score->interval.high);
}

void table_words(const struct goal_score *score, char *out, size_t size)
{
    if (!score->measured) {
        snprintf(out, size, "skipped: %s", score->reason);
        return;
    }
    char interval[80];
    interval_text(score, interval, sizeof(interval));
    snprintf(out, size, "%-9s %.*f %s", score_verdict(score), decimals(score->geomean),
             score->geomean, interval);
}

enum { COLUMNS = 9, CELL = 160 };

/* Numbers stand to the right, words to the left; the last column is as wide as it likes. */
static const struct {
    const char *title;
    bool right;
} columns[COLUMNS] = {
    {"goal", false},         {"against", false}, {"ratio", true},
    {"95 % interval", true}, {"verdict", false}, {"target", false},
    {"cells", true},         {"worst", true},    {"in", false},
};

/* "met 5.5/5", "missed 5.5/-", or "-". */
static void target_text(const struct goal_score *score, char *out)
{
    double wanted[2] = {score->goal->target_geomean, score->goal->target_worst};
    size_t used = (size_t)snprintf(out, CELL, "%s", score_target(score));
    for (int i = 0; i < 2 && (wanted[0] > 0 || wanted[1] > 0); i++)
        used += (size_t)snprintf(out + used, CELL - used, wanted[i] > 0 ? "%s%.4g" : "%s-",
                                 i ? "/" : " ", wanted[i]);
}

static unsigned words_in(const char *text)
{
    unsigned words = 1;
    for (const char *p = text; *p; p++)
        words += *p == ' ';
    return words;
}

/* One rival by its name, several by their number; those that were left out don't count. */
static void against_text(const struct goal_score *score, char *out)
{
    char left_out[1024];
    score_baseline(score, out, CELL);
    score_left_out(score, left_out, sizeof(left_out));
    unsigned words = words_in(out);
    if (score->measured && strcmp(left_out, "-") != 0)
        snprintf(out, CELL, "best of %u, %u left out", words, words_in(left_out));
    else if (words > 1)
        snprintf(out, CELL, "best of %u", words);
}

/* What tells a cell from the others: its keys, if it has any. */
static const char *cell_text(const struct cell_score *cell)
{
    const char *keys = name_keys(cell->cell->ours);
    return *keys ? keys : cell->cell->ours;
}

static void fill_row(const struct goal_score *score, char row[COLUMNS][CELL])
{
    snprintf(row[0], CELL, "%s", score->goal->id);
    against_text(score, row[1]);
    snprintf(row[6], CELL, "%u of %u", score->measured, score->total);
    if (!score->measured) {
        const char *const rest[COLUMNS] = {
            [2] = "-", [3] = "-", [4] = "skipped", [5] = "-", [7] = "-", [8] = score->reason};
        for (int i = 2; i < COLUMNS; i++)
            if (rest[i])
                snprintf(row[i], CELL, "%s", rest[i]);
        return;
    }
    snprintf(row[2], CELL, "%.*f", decimals(score->geomean), score->geomean);
    interval_text(score, row[3], CELL);
    snprintf(row[4], CELL, "%s", score_verdict(score));
    target_text(score, row[5]);
    snprintf(row[7], CELL, "%.*f", decimals(score->worst), score->worst);
    snprintf(row[8], CELL, "%s", cell_text(score->worst_cell));
}

static void print_row(FILE *out, char row[COLUMNS][CELL], const int *width)
{
    for (int i = 0; i < COLUMNS - 1; i++)
        fprintf(out, "%*s  ", columns[i].right ? width[i] : -width[i], row[i]);
    fprintf(out, "%s\n", row[COLUMNS - 1]);
}

static void print_summary(FILE *out, const struct report *report)
{
    unsigned verdicts[4] = {0}, skipped = 0, targets[3] = {0};
    for (unsigned i = 0; i < report->count; i++) {
        const struct goal_score *score = &report->scores[i];
        if (score->measured) {
            verdicts[score->verdict]++;
            targets[score->target]++;
        } else {
            skipped++;
        }
    }
    fprintf(out, "%u goals: %u ahead, %u even, %u behind, %u undecided, %u skipped; ",
            report->count, verdicts[STATS_AHEAD], verdicts[STATS_EVEN], verdicts[STATS_BEHIND],
            verdicts[STATS_UNDECIDED], skipped);
    fprintf(out, "targets: %u met, %u missed. Measured in %.0f s.\n", targets[TARGET_MET],
            targets[TARGET_MISSED], report->seconds);
}

static void print_left_out(FILE *out, const struct report *report)
{
    for (unsigned g = 0; g < report->count; g++) {
        char left_out[1024];
        score_left_out(&report->scores[g], left_out, sizeof(left_out));
        if (report->scores[g].measured && strcmp(left_out, "-") != 0)
            fprintf(out, "%s: not compared with %s, which can't run here (results.json has why).\n",
                    report->scores[g].goal->id, left_out);
    }
}

static void print_unchecked(FILE *out, const struct report *report)
{
    for (unsigned g = 0; g < report->count; g++) {
        const struct goal_score *score = &report->scores[g];
        unsigned unchecked = 0;
        for (unsigned c = 0; c < score->count; c++)
            for (unsigned r = 0; r < score->cells[c].cell->rival_count; r++)
                unchecked += score->cells[c].pairs[r].unchecked;
        if (unchecked)
            fprintf(out, "%s: %u pairs were timed without a result to compare.\n", score->goal->id,
                    unchecked);
    }
}

/* What a case found that is no race, in one line. */
static void print_figures(FILE *out, const struct report *report)
{
    struct report_figure figure;
    char of[sizeof(figure.of)] = "";
    for (unsigned i = 0; i < report->figure_count; i++) {
        if (!report_figure(report, i, &figure))
            continue;
        if (!*of)
            fputs("\nAlso found:\n", out);
        if (strcmp(of, figure.of) != 0)
            fprintf(out, "%s  %s:", *of ? "\n" : "", figure.of);
        fprintf(out, "%s %.9g %s", strcmp(of, figure.of) != 0 ? "" : ",", figure.value,
                figure.name);
        memcpy(of, figure.of, sizeof(of));
    }
    if (*of)
        fputc('\n', out);
}

void table_print(FILE *out, const struct report *report)
{
    int width[COLUMNS];
    char row[COLUMNS][CELL];
    for (int i = 0; i < COLUMNS; i++)
        width[i] = (int)strlen(columns[i].title);
    for (unsigned g = 0; g < report->count; g++) {
        fill_row(&report->scores[g], row);
        for (int i = 0; i < COLUMNS; i++)
            width[i] = (int)strlen(row[i]) > width[i] ? (int)strlen(row[i]) : width[i];
    }
    for (int i = 0; i < COLUMNS; i++)
        snprintf(row[i], CELL, "%s", columns[i].title);
    print_row(out, row, width);
    for (unsigned g = 0; g < report->count; g++) {
        fill_row(&report->scores[g], row);
        print_row(out, row, width);
    }
    fputs("\nratio: the rival's time over ours, geometric mean over the cells, best rival in each; "
          "above 1 we are ahead.\n",
          out);
    print_summary(out, report);
    print_left_out(out, report);
    print_unchecked(out, report);
    print_figures(out, report);
}
