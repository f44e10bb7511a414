/* SPDX-License-Identifier: MIT */
#include "score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fputs("fastmm-bench: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

/* The cell as stats.h wants it; stats_free() releases it. */
static struct stats_cell stats_of(const struct cell_score *cell)
{
    unsigned rivals = cell->cell->rival_count;
    struct stats_blocks *blocks = need(rivals, sizeof(*blocks));
    for (unsigned r = 0; r < rivals; r++) {
        const struct pair_result *pair = &cell->pairs[r];
        if (pair->status != PAIR_MEASURED)
            continue;
        double *ratios = need(pair->count, sizeof(*ratios));
        unsigned *rounds = need(pair->count, sizeof(*rounds));
        for (unsigned i = 0; i < pair->count; i++) {
            ratios[i] = pair->blocks[i].rival / pair->blocks[i].ours;
            rounds[i] = pair->blocks[i].round;
        }
        blocks[r] = (struct stats_blocks){pair->count, ratios, rounds};
    }
    return (struct stats_cell){rivals, blocks};
}

static void stats_free(struct stats_cell *cell)
{
    for (unsigned r = 0; r < cell->rivals; r++) {
        free((void *)cell->rival[r].ratios);
        free((void *)cell->rival[r].rounds);
    }
    free((void *)cell->rival);
}

void score_cell(struct cell_score *cell)
{
    cell->measured = false;
    for (unsigned r = 0; r < cell->cell->rival_count; r++) {
        const struct pair_result *pair = &cell->pairs[r];
        if (pair->status == PAIR_DIFFERENT || pair->status == PAIR_BROKEN) {
            cell->measured = false;
            cell->reason = pair->reason;
            return;
        }
        if (pair->status == PAIR_MEASURED && pair->count)
            cell->measured = true;
        else if (!cell->reason)
            cell->reason = pair->reason;
    }
    if (!cell->measured)
        return;
    struct stats_cell stats = stats_of(cell);
    cell->ratio = stats_cell_ratio(&stats, &cell->best);
    cell->interval = stats_bootstrap(&stats, 1, SCORE_SEED);
    stats_free(&stats);
}

static bool is_wrong(const struct cell_score *cell)
{
    for (unsigned r = 0; r < cell->cell->rival_count; r++)
        if (cell->pairs[r].status == PAIR_DIFFERENT || cell->pairs[r].status == PAIR_BROKEN)
            return true;
    return false;
}

static enum target reached(const struct goal_score *score)
{
    const struct goal *goal = score->goal;
    if (goal->target_geomean <= 0 && goal->target_worst <= 0)
        return TARGET_NONE;
    return score->geomean >= goal->target_geomean && score->worst >= goal->target_worst
               ? TARGET_MET
               : TARGET_MISSED;
}

void score_goal(struct goal_score *score)
{
    struct stats_cell *stats = need(score->count, sizeof(*stats));
    double *ratios = need(score->count, sizeof(*ratios));
    score->measured = 0;
    score->reason = score->count ? NULL : "no cell in the default run";
    for (unsigned c = 0; c < score->count; c++) {
        const struct cell_score *cell = &score->cells[c];
        if (is_wrong(cell)) {
            /* What gives another result, or none, is not compared in any of its cells. */
            score->wrong = true;
            score->reason = cell->reason;
        } else if (!cell->measured && !score->reason) {
            score->reason = cell->reason;
        }
        if (!cell->measured)
            continue;
        if (!score->measured || cell->ratio < score->worst) {
            score->worst = cell->ratio;
            score->worst_cell = cell;
        }
        ratios[score->measured] = cell->ratio;
        stats[score->measured++] = stats_of(cell);
    }
    if (score->measured && !score->wrong) {
        score->geomean = stats_geomean(ratios, score->measured);
        score->interval = stats_bootstrap(stats, score->measured, SCORE_SEED);
        score->verdict = stats_judge(score->geomean, score->interval);
        score->target = reached(score);
    }
    for (unsigned c = 0; c < score->measured; c++)
        stats_free(&stats[c]);
    if (score->wrong)
        score->measured = 0;
    free(ratios);
    free(stats);
}

static int by_ratio(const void *a, const void *b)
{
    double x = (*(struct cell_score *const *)a)->ratio;
    double y = (*(struct cell_score *const *)b)->ratio;
    return (x > y) - (x < y);
}

unsigned score_worst(const struct goal_score *score, struct cell_score **out, unsigned most)
{
    struct cell_score **order = need(score->count, sizeof(*order));
    unsigned measured = 0;
    for (unsigned c = 0; c < score->count; c++)
        if (score->cells[c].measured)
            order[measured++] = &score->cells[c];
    qsort(order, measured, sizeof(*order), by_ratio);
    if (measured > most)
        measured = most;
    memcpy(out, order, measured * sizeof(*order));
    free(order);
    return measured;
}

const char *score_verdict(const struct goal_score *score)
{
    return score->measured ? stats_verdict_name(score->verdict) : "skipped";
}

const char *score_target(const struct goal_score *score)
{
    static const char *const names[] = {"-", "met", "missed"};
    return names[score->measured ? score->target : TARGET_NONE];
}

/* The third part of a case's name. */
static size_t implementation(const char *name, const char **start)
{
    for (int parts = 0; parts < 2; parts++)
        name = strchr(name, '/') + 1;
    *start = name;
    return strcspn(name, "/");
}

static bool has_word(const char *text, const char *word, size_t length)
{
    for (const char *p = text; *p; p += strcspn(p, " "), p += strspn(p, " "))
        if (strcspn(p, " ") == length && memcmp(p, word, length) == 0)
            return true;
    return false;
}

/* Whether an implementation was measured in any cell. */
static bool counted(const struct goal_score *score, const char *wanted, size_t wanted_length)
{
    for (unsigned c = 0; c < score->count; c++) {
        const struct plan_cell *cell = score->cells[c].cell;
        for (unsigned r = 0; r < cell->rival_count; r++) {
            const char *name;
            size_t length = implementation(cell->rivals[r], &name);
            if (score->cells[c].pairs[r].count && length == wanted_length &&
                memcmp(name, wanted, length) == 0)
                return true;
        }
    }
    return false;
}

static void list_rivals(const struct goal_score *score, bool wanted, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (unsigned c = 0; c < score->count; c++) {
        const struct plan_cell *cell = score->cells[c].cell;
        for (unsigned r = 0; r < cell->rival_count; r++) {
            const char *name;
            size_t length = implementation(cell->rivals[r], &name);
            if (has_word(out, name, length) || used + length + 2 > size)
                continue;
            if (!score->measured || counted(score, name, length) == wanted)
                used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? " " : "",
                                         (int)length, name);
        }
    }
    if (!used)
        snprintf(out, size, "-");
}

void score_baseline(const struct goal_score *score, char *out, size_t size)
{
    list_rivals(score, true, out, size);
}

void score_left_out(const struct goal_score *score, char *out, size_t size)
{
    list_rivals(score, false, out, size);
}

double score_time(const struct pair_result *pair, bool ours)
{
    double *times = need(pair->count, sizeof(*times));
    for (unsigned i = 0; i < pair->count; i++)
        times[i] = ours ? pair->blocks[i].ours : pair->blocks[i].rival;
    double median = stats_median(times, pair->count);
    free(times);
    return median;
}

void score_free(struct goal_score *score)
{
    for (unsigned c = 0; c < score->count; c++) {
        for (unsigned r = 0; r < score->cells[c].cell->rival_count; r++)
            free(score->cells[c].pairs[r].blocks);
        free(score->cells[c].pairs);
    }
    free(score->cells);
    score->cells = NULL;
    score->count = 0;
}
