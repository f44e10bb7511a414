/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include "names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const struct goal *goal;
    char *const *names;
    unsigned name_count;
    char *error;
    size_t size;
};

static int fail(const struct request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail(const struct request *request, const char *format, ...)
{
    int used = snprintf(request->error, request->size, "goal %s: ", request->goal->id);
    if (used >= 0 && (size_t)used < request->size) {
        va_list args;
        va_start(args, format);
        vsnprintf(request->error + used, request->size - (size_t)used, format, args);
        va_end(args);
    }
    return -EINVAL;
}

static bool is_threaded(const char *name)
{
    size_t length;
    return name_value(name, "threads", strlen("threads"), &length);
}

static int find_rivals(const struct request *request, struct plan_cell *cell)
{
    const struct goal *goal = request->goal;
    cell->rivals = calloc(request->name_count, sizeof(*cell->rivals));
    if (!cell->rivals)
        return -ENOMEM;
    for (unsigned i = 0; i < request->name_count; i++) {
        const char *name = request->names[i];
        if (!name_match(goal->rivals, name) || !name_keys_equal(cell->ours, name, goal->keys))
            continue;
        if (goal->single && is_threaded(name))
            return fail(request, "process is single, but %s has threads", name);
        cell->rivals[cell->rival_count++] = name;
    }
    if (!cell->rival_count)
        return fail(request, "no case of '%s' has the keys (%s) of %s", goal->rivals, goal->keys,
                    cell->ours);
    return 0;
}

static int find_cells(const struct request *request, struct plan *plan)
{
    const struct goal *goal = request->goal;
    plan->cells = calloc(request->name_count ? request->name_count : 1, sizeof(*plan->cells));
    if (!plan->cells)
        return -ENOMEM;
    for (unsigned i = 0; i < request->name_count; i++) {
        const char *name = request->names[i];
        if (!name_match(goal->ours, name))
            continue;
        if (goal->single && is_threaded(name))
            return fail(request, "process is single, but %s has threads", name);
        struct plan_cell *cell = &plan->cells[plan->total++];
        plan->count = plan->total;
        cell->ours = name;
        int status = find_rivals(request, cell);
        if (status)
            return status;
    }
    if (!plan->total)
        return fail(request, "no case matches '%s'", goal->ours);
    return 0;
}

static bool used(const struct plan *plan, const char *pattern, bool of_rivals)
{
    for (unsigned c = 0; c < plan->count; c++) {
        const struct plan_cell *cell = &plan->cells[c];
        if (!of_rivals && name_match(pattern, cell->ours))
            return true;
        for (unsigned r = 0; of_rivals && r < cell->rival_count; r++)
            if (name_match(pattern, cell->rivals[r]))
                return true;
    }
    return false;
}

/* Each single pattern must be there for something: a rival that vanished would go unnoticed. */
static int check_patterns(const struct request *request, const struct plan *plan,
                          const char *patterns, bool of_rivals)
{
    for (const char *p = patterns; *p;) {
        char single[512];
        size_t length = strcspn(p, " ");
        snprintf(single, sizeof(single), "%.*s", (int)length, p);
        if (length && *single != '!' && strcmp(single, "-") != 0 && !used(plan, single, of_rivals))
            return fail(request, "no cell matches '%s'", single);
        p += length;
        p += strspn(p, " ");
    }
    return 0;
}

static void choose_default(const struct goal *goal, struct plan *plan)
{
    plan->count = 0;
    for (unsigned c = 0; c < plan->total; c++) {
        struct plan_cell cell = plan->cells[c];
        if (name_match(goal->cells, cell.ours))
            plan->cells[plan->count++] = cell;
        else
            free(cell.rivals);
    }
}

int plan_goal(const struct goal *goal, char *const *names, unsigned name_count, bool full,
              struct plan *out, char *error, size_t size)
{
    struct request request = {goal, names, name_count, error, size};
    struct plan plan = {0};
    int status = find_cells(&request, &plan);
    if (!status)
        status = check_patterns(&request, &plan, goal->ours, false);
    if (!status)
        status = check_patterns(&request, &plan, goal->rivals, true);
    if (!status)
        status = check_patterns(&request, &plan, goal->cells, false);
    if (!status && !full)
        choose_default(goal, &plan);
    if (status)
        plan_free(&plan);
    else
        *out = plan;
    return status;
}

void plan_free(struct plan *plan)
{
    for (unsigned c = 0; c < plan->count; c++)
        free(plan->cells[c].rivals);
    free(plan->cells);
    *plan = (struct plan){0};
}

unsigned plan_pairs(const struct plan *plan)
{
    unsigned pairs = 0;
    for (unsigned c = 0; c < plan->count; c++)
        pairs += plan->cells[c].rival_count;
    return pairs;
}
