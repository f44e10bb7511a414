/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include "budget.h"
#include "names.h"
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
/* No pair may take more of what is left than this. */
static const double most_of_rest = 0.25;
/* In the full run: what a pair should and may take. */
static const double full_seconds = 6, full_limit = 3600;
/* Threads need longer batches (compare.c), so their pairs get a larger share. */
static const double threaded_weight = 4;

/*
 * Each pair is measured in several rounds, each in a process of its own: placement of code and data
 * can make one case twice as fast as itself, and stays as it is for the life of a process.
 */
enum { ROUNDS = 5 };
enum { WORST = 3 }; /* cells measured again */

struct run {
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
    binary->path = path;
    int status = worker_lines(path, "--list", &binary->names, &binary->count, error, size);
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

static double cell_weight(const struct plan_cell *cell)
{
    size_t length;
    bool threaded = name_value(cell->ours, "threads", strlen("threads"), &length);
    return cell->rival_count * (threaded ? threaded_weight : 1);
}

/* Of a goal; for the cells that will be measured again it supposes the heaviest ones. */
static double goal_weight(const struct plan *plan)
{
    double weight = 0, most = 0;
    for (unsigned c = 0; c < plan->count; c++) {
        double cell = cell_weight(&plan->cells[c]);
        weight += cell;
        most = cell > most ? cell : most;
    }
    return weight + (plan->count < WORST ? plan->count : WORST) * most;
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
    double each = done > 0 ? progress_elapsed(&run->progress) / done : 1;
    double expected = run->weight_left * each;
    return run->full || expected < seconds_left(run) ? expected : seconds_left(run);
}

/* Seconds for all rounds of each pair of a cell. */
static double pair_share(const struct run *run, const struct plan_cell *cell)
{
    if (run->full)
        return full_seconds;
    double weight = cell_weight(cell) / cell->rival_count;
    return budget_share(seconds_left(run), weight, run->weight_left);
}

static double pair_limit(const struct run *run)
{
    if (run->full)
        return full_limit;
    return most_of_rest * (run_seconds - progress_elapsed(&run->progress));
}

/* Whether a pair gets another round: the first always, the others while its share lasts. */
static bool wants_round(const struct pair_result *pair, unsigned round, double share)
{
    if (round == 0)
        return true;
    return pair->status == PAIR_MEASURED && pair->seconds * (round + 1) / round <= share;
}

static void measure_pair(const struct run *run, struct worker *worker,
                         const struct cell_score *cell, unsigned rival, unsigned round,
                         double share)
{
    struct pair_result *pair = &cell->pairs[rival];
    double start = progress_elapsed(&run->progress);
    struct worker_request request = {.ours = cell->cell->ours,
                                     .rival = cell->cell->rivals[rival],
                                     .target = share / ROUNDS,
                                     .limit = pair_limit(run),
                                     .round = round};
    if (request.limit > 0) {
        worker_compare(worker, &request, pair);
    } else {
        pair->status = PAIR_SKIPPED;
        snprintf(pair->reason, sizeof(pair->reason), "no time was left in the default run");
    }
    /* What was measured before counts, whatever keeps a later round from being so. */
    if (round && pair->status == PAIR_SKIPPED)
        pair->status = PAIR_MEASURED;
    pair->seconds += progress_elapsed(&run->progress) - start;
}

/* One round of all cells, in a process of its own; false when that broke. */
static bool measure_round(const struct run *run, const struct measured_goal *planned,
                          struct cell_score **cells, unsigned count, unsigned round, bool again,
                          const double *shares)
{
    const struct goal *goal = planned->goal;
    struct worker *worker = need(worker_start(planned->path, goal->single));
    bool alive = true;
    for (unsigned c = 0; c < count && alive; c++) {
        progress_cell(&run->progress, goal->id, c + 1, count, again, estimate(run));
        for (unsigned r = 0; r < cells[c]->cell->rival_count && alive; r++) {
            if (wants_round(&cells[c]->pairs[r], round, shares[c]))
                measure_pair(run, worker, cells[c], r, round, shares[c]);
            alive = cells[c]->pairs[r].status != PAIR_BROKEN;
        }
    }
    worker_stop(worker);
    return alive;
}

static bool any_wants_round(struct cell_score **cells, unsigned count, unsigned round,
                            const double *shares)
{
    for (unsigned c = 0; c < count; c++)
        for (unsigned r = 0; r < cells[c]->cell->rival_count; r++)
            if (wants_round(&cells[c]->pairs[r], round, shares[c]))
                return true;
    return false;
}

/* Measures the cells in as many rounds as their shares of the time hold, and scores them. */
static void measure_cells(struct run *run, const struct measured_goal *planned,
                          struct cell_score **cells, unsigned count, bool again)
{
    double *shares = need(calloc(count + 1, sizeof(*shares)));
    for (unsigned c = 0; c < count; c++)
        shares[c] = pair_share(run, cells[c]->cell);
    bool alive = true;
    for (unsigned round = 0; round < ROUNDS && alive; round++)
        if (any_wants_round(cells, count, round, shares))
            alive = measure_round(run, planned, cells, count, round, again, shares);
    for (unsigned c = 0; c < count; c++) {
        run->weight_left -= cell_weight(cells[c]->cell);
        score_cell(cells[c]);
    }
    free(shares);
}

static void forget(struct cell_score *cell)
{
    cell->again = true;
    cell->first_ratio = cell->ratio;
    for (unsigned r = 0; r < cell->cell->rival_count; r++) {
        free(cell->pairs[r].blocks);
        cell->pairs[r] = (struct pair_result){0};
    }
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
    double weight_after = run->weight_left - goal_weight(&planned->plan);
    struct cell_score *worst[WORST], **cells = need(calloc(score->count + 1, sizeof(*cells)));
    for (unsigned c = 0; c < score->count; c++)
        cells[c] = &score->cells[c];
    if (score->count)
        measure_cells(run, planned, cells, score->count, false);
    score_goal(score);
    /* The least of many noisy figures is too low; only a fresh measurement of it counts. */
    unsigned count = score->measured ? score_worst(score, worst, WORST) : 0;
    if (count) {
        for (unsigned c = 0; c < count; c++)
            forget(worst[c]);
        measure_cells(run, planned, worst, count, true);
        score_goal(score);
    }
    free(cells);
    run->weight_left = weight_after;
}

/* Behind the races, which they would disturb. */
static void take_figures(struct measurement *m, const struct binary *binary)
{
    char error[512], **lines;
    unsigned count;
    if (worker_lines(binary->path, "--figures", &lines, &count, error, sizeof(error)) != 0) {
        fprintf(stderr, "fastmm-bench: %s\n", error);
        m->wrong = true;
        return;
    }
    unsigned total = m->figure_count + count;
    m->figures = need(realloc(m->figures, (total + 1) * sizeof(*m->figures)));
    for (unsigned i = 0; i < count; i++)
        m->figures[m->figure_count++] = lines[i];
    free(lines);
}

void measure_run(struct measurement *measurement, bool full)
{
    struct run run = {.full = full};
    for (unsigned g = 0; g < measurement->count; g++)
        run.weight_left += goal_weight(&measurement->goals[g].plan);
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
    for (unsigned i = 0; i < measurement->binary_count; i++)
        take_figures(measurement, &measurement->binaries[i]);
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
    for (unsigned i = 0; i < measurement->figure_count; i++)
        free(measurement->figures[i]);
    free(measurement->figures);
    free(measurement->goals);
    free(measurement->scores);
    free(measurement->binaries);
    *measurement = (struct measurement){0};
}
