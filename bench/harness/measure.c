/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include "budget.h"
#include "progress.h"
#include "table.h"
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The default run is to end within 360 s. Set-up and calibration come on top of what is shared out,
 * and a pair that needs more than its share takes it from the rest.
 */
static const double run_seconds = 350;
static const double shared_seconds = 330;
/* More time than this makes a pair no better: BUDGET_MAX_BLOCKS batches are done before. */
static const double pair_seconds = 3, full_pair_seconds = 6;
/* No pair may take more of what is left than this. */
static const double most_of_rest = 0.25;
static const double full_limit = 3600;

enum { WORST = 3 }; /* cells measured again */

struct run {
    struct measurement *measurement;
    struct progress progress;
    bool full;
    double weight, weight_left; /* pairs, and those to come; what is measured again included */
};

static void *need(void *memory)
{
    if (!memory) {
        fputs("fastmm-bench: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

static int binary_cases(struct measurement *m, const struct goal *goal, const char *path,
                        const struct binary **out, char *error, size_t size)
{
    for (unsigned i = 0; i < m->binary_count; i++) {
        *out = &m->binaries[i];
        if (strcmp(m->binaries[i].name, goal->binary) == 0)
            return 0;
    }
    struct binary *binary = &m->binaries[m->binary_count];
    binary->name = goal->binary;
    int status = worker_list(path, &binary->names, &binary->count, error, size);
    if (!status)
        m->binary_count++;
    *out = binary;
    return status;
}

static int plan_one(struct measurement *m, const struct goal *goal, const char *directory,
                    bool full, char *error, size_t size)
{
    const struct binary *binary;
    struct measured_goal *planned = &m->goals[m->count];
    size_t room = strlen(directory) + strlen(goal->binary) + sizeof("/fastmm-bench-");
    planned->goal = goal;
    planned->path = need(malloc(room));
    m->count++;
    snprintf(planned->path, room, "%s/fastmm-bench-%s", directory, goal->binary);
    int status = binary_cases(m, goal, planned->path, &binary, error, size);
    return status
               ? status
               : plan_goal(goal, binary->names, binary->count, full, &planned->plan, error, size);
}

int measure_plan(struct measurement *out, const struct goals *goals, const char *directory,
                 bool full, char *error, size_t size)
{
    unsigned count = goals->count;
    *out = (struct measurement){
        .goals = need(calloc(count, sizeof(*out->goals))),
        .scores = need(calloc(count, sizeof(*out->scores))),
        .binaries = need(calloc(count, sizeof(*out->binaries))),
    };
    int status = 0;
    for (unsigned g = 0; g < count && !status; g++)
        status = plan_one(out, &goals->goal[g], directory, full, error, size);
    if (status)
        measure_free(out);
    return status;
}

/* Pairs of a goal, those that will be measured again included: as many as its worst cells may have.
 */
static double weight(const struct plan *plan)
{
    unsigned most = 0;
    for (unsigned c = 0; c < plan->count; c++)
        if (plan->cells[c].rival_count > most)
            most = plan->cells[c].rival_count;
    unsigned again = plan->count < WORST ? plan->count : WORST;
    return plan_pairs(plan) + again * most;
}

static double seconds_left(const struct run *run)
{
    double left = shared_seconds - progress_elapsed(&run->progress);
    return left > 0 ? left : 0;
}

/* What the run is expected to take from now on, if the pairs to come are like those before. */
static double estimate(const struct run *run)
{
    double done = run->weight - run->weight_left;
    double each = done > 0 ? progress_elapsed(&run->progress) / done : pair_seconds;
    double expected = run->weight_left * each;
    return run->full || expected < seconds_left(run) ? expected : seconds_left(run);
}

static void measure_pair(struct run *run, struct worker *worker, const struct cell_score *cell,
                         unsigned rival, struct pair_result *out)
{
    double target = full_pair_seconds, limit = full_limit;
    if (!run->full) {
        target = budget_share(seconds_left(run), 1, run->weight_left);
        limit = most_of_rest * (run_seconds - progress_elapsed(&run->progress));
        if (target > pair_seconds)
            target = pair_seconds;
    }
    run->weight_left--;
    if (limit > 0) {
        worker_compare(worker, cell->cell->ours, cell->cell->rivals[rival], target, limit, out);
        return;
    }
    *out = (struct pair_result){.status = PAIR_SKIPPED};
    snprintf(out->reason, sizeof(out->reason), "no time was left in the default run");
}

/* Measures all pairs of a cell in the worker; false when the worker broke. */
static bool measure_cell(struct run *run, struct worker *worker, struct cell_score *cell)
{
    for (unsigned r = 0; r < cell->cell->rival_count; r++) {
        free(cell->pairs[r].blocks);
        measure_pair(run, worker, cell, r, &cell->pairs[r]);
        if (cell->pairs[r].status == PAIR_BROKEN)
            return false;
    }
    return true;
}

/* Measures the cells in a process of their own, up to the first that breaks it. */
static void measure_cells(struct run *run, const struct measured_goal *planned,
                          struct cell_score **cells, unsigned count, bool again)
{
    const struct goal *goal = planned->goal;
    struct worker *worker = need(worker_start(planned->path, goal->single));
    bool alive = true;
    for (unsigned c = 0; c < count && alive; c++) {
        progress_cell(&run->progress, goal->id, c + 1, count, again, estimate(run));
        if (again) {
            cells[c]->again = true;
            cells[c]->first_ratio = cells[c]->ratio;
        }
        alive = measure_cell(run, worker, cells[c]);
        score_cell(cells[c]);
    }
    worker_stop(worker);
}

static void prepare_score(struct goal_score *score, const struct measured_goal *planned)
{
    const struct plan *plan = &planned->plan;
    *score = (struct goal_score){.goal = planned->goal,
                                 .total = plan->total,
                                 .count = plan->count,
                                 .cells = need(calloc(plan->count + 1, sizeof(*score->cells)))};
    for (unsigned c = 0; c < plan->count; c++) {
        struct cell_score *cell = &score->cells[c];
        cell->cell = &plan->cells[c];
        cell->pairs = need(calloc(cell->cell->rival_count, sizeof(*cell->pairs)));
        for (unsigned r = 0; r < cell->cell->rival_count; r++) {
            cell->pairs[r].status = PAIR_SKIPPED;
            snprintf(cell->pairs[r].reason, sizeof(cell->pairs[r].reason), "not measured");
        }
        cell->reason = cell->pairs[0].reason;
    }
}

static void measure_goal(struct run *run, const struct measured_goal *planned,
                         struct goal_score *score)
{
    double weight_after = run->weight_left - weight(&planned->plan);
    struct cell_score *worst[WORST], **cells = need(calloc(score->count + 1, sizeof(*cells)));
    for (unsigned c = 0; c < score->count; c++)
        cells[c] = &score->cells[c];
    if (score->count)
        measure_cells(run, planned, cells, score->count, false);
    score_goal(score);
    /* The least of many noisy figures is too low; only a fresh measurement of it counts. */
    unsigned count = score->measured ? score_worst(score, worst, WORST) : 0;
    if (count) {
        measure_cells(run, planned, worst, count, true);
        score_goal(score);
    }
    free(cells);
    run->weight_left = weight_after;
}

void measure_run(struct measurement *measurement, bool full)
{
    struct run run = {.measurement = measurement, .full = full};
    for (unsigned g = 0; g < measurement->count; g++)
        run.weight_left += weight(&measurement->goals[g].plan);
    run.weight = run.weight_left;
    progress_start(&run.progress, measurement->count);
    for (unsigned g = 0; g < measurement->count; g++) {
        struct goal_score *score = &measurement->scores[g];
        char words[512];
        prepare_score(score, &measurement->goals[g]);
        measure_goal(&run, &measurement->goals[g], score);
        measurement->wrong |= score->wrong;
        table_words(score, words, sizeof(words));
        progress_goal(&run.progress, score->goal->id, words, estimate(&run));
    }
    measurement->seconds = progress_elapsed(&run.progress);
}

void measure_free(struct measurement *measurement)
{
    for (unsigned g = 0; g < measurement->count; g++) {
        score_free(&measurement->scores[g]);
        plan_free(&measurement->goals[g].plan);
        free(measurement->goals[g].path);
    }
    for (unsigned i = 0; i < measurement->binary_count; i++) {
        for (unsigned n = 0; n < measurement->binaries[i].count; n++)
            free(measurement->binaries[i].names[n]);
        free(measurement->binaries[i].names);
    }
    free(measurement->goals);
    free(measurement->scores);
    free(measurement->binaries);
    *measurement = (struct measurement){0};
}
