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
        fprintf(out, "  noise        %s\n", machine->warning[i]);
}

void table_words(const struct goal_score *score, char *out, size_t size)
{
    if (score->measured)
        snprintf(out, size, "%s, %.2fx [%.2f, %.2f]", score_verdict(score), score->geomean,
                 score->interval.low, score->interval.high);
    else
        snprintf(out, size, "skipped: %s", score->reason);
}

/* "5.50/5.00" */
static void target_text(const struct goal *goal, char *out, size_t size)
{
    char part[2][16];
    double wanted[2] = {goal->target_geomean, goal->target_worst};
    for (int i = 0; i < 2; i++)
        snprintf(part[i], sizeof(part[i]), wanted[i] > 0 ? "%.4g" : "-", wanted[i]);
    snprintf(out, size, "%s / %s", part[0], part[1]);
}

/* What tells the worst cell from the others: its keys. */
static const char *cell_text(const struct goal_score *score)
{
    const char *keys = name_keys(score->worst_cell->cell->ours);
    return *keys ? keys : score->worst_cell->cell->ours;
}

static void print_row(FILE *out, const struct goal_score *score, int width)
{
    char cells[32], target[64];
    if (!score->measured) {
        fprintf(out, "%-*s  skipped: %s\n", width, score->goal->id, score->reason);
        return;
    }
    snprintf(cells, sizeof(cells), "%u of %u", score->measured, score->total);
    target_text(score->goal, target, sizeof(target));
    fprintf(out, "%-*s %7.2f  [%6.2f, %6.2f] %7.2f  %-9s  %-6s  %-13s  %-8s  %s\n", width,
            score->goal->id, score->geomean, score->interval.low, score->interval.high,
            score->worst, score_verdict(score), score_target(score),
            score_target(score)[0] == '-' ? "" : target, cells, cell_text(score));
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
    fprintf(out, "%u targets met, %u missed. %.0f s.\n", targets[TARGET_MET],
            targets[TARGET_MISSED], report->seconds);
}

void table_print(FILE *out, const struct report *report)
{
    int width = (int)strlen("goal");
    for (unsigned i = 0; i < report->count; i++) {
        int length = (int)strlen(report->scores[i].goal->id);
        width = length > width ? length : width;
    }
    fprintf(out, "%-*s %7s  %-16s %7s  %-9s  %-6s  %-13s  %-8s  %s\n", width, "goal", "ratio",
            "95 % interval", "worst", "verdict", "target", "ratio / worst", "cells", "worst cell");
    for (unsigned i = 0; i < report->count; i++)
        print_row(out, &report->scores[i], width);
    fputs("\nratio: the rival's time over ours, geometric mean over the cells; above 1 we are "
          "ahead.\n",
          out);
    print_summary(out, report);
}
