/* SPDX-License-Identifier: MIT */
#include "goals.h"

#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char header[] =
    "id,what,binary,process,ours,rivals,keys,default,target_geomean,target_worst";
enum { COLUMNS = 10 };

static bool read_target(const char *text, double *out)
{
    char *end;
    *out = 0;
    if (strcmp(text, "-") == 0)
        return true;
    if (!isdigit((unsigned char)*text))
        return false;
    *out = strtod(text, &end);
    return !*end && isfinite(*out) && *out > 0;
}

static bool is_id(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && !strchr("._", *c))
            return false;
    return *text;
}

/* NULL, or what is wrong with the row. */
static const char *read_row(char **field, struct goal *goal)
{
    static const char *const empty[COLUMNS] = {"the id is empty",
                                               "'what' is empty",
                                               "'binary' is empty",
                                               "'process' is empty",
                                               "'ours' is empty",
                                               "'rivals' is empty",
                                               "'keys' is empty: '-' says none",
                                               "'default' is empty",
                                               "'target_geomean' is empty: '-' says none",
                                               "'target_worst' is empty: '-' says none"};
    for (int i = 0; i < COLUMNS; i++)
        if (!*field[i])
            return empty[i];
    if (!is_id(field[0]))
        return "an id has lower-case letters, digits, '.' and '_' only";
    if (strchr(field[2], '/'))
        return "'binary' is the part after fastmm-bench-";
    goal->single = strcmp(field[3], "single") == 0;
    if (!goal->single && strcmp(field[3], "threaded") != 0)
        return "'process' must be single or threaded";
    if (!read_target(field[8], &goal->target_geomean) ||
        !read_target(field[9], &goal->target_worst))
        return "a target must be a number above 0, or '-'";
    goal->id = field[0];
    goal->what = field[1];
    goal->binary = field[2];
    goal->ours = field[4];
    goal->rivals = field[5];
    goal->keys = field[6];
    goal->cells = field[7];
    return NULL;
}

/* The comment that names the part the targets are for. */
static void read_reference(struct goals *goals, const char *line)
{
    static const char start[] = "# reference part: ";
    if (strncmp(line, start, strlen(start)) == 0)
        snprintf(goals->reference, sizeof(goals->reference), "%.*s",
                 (int)strcspn(line + strlen(start), "\r\n"), line + strlen(start));
}

static const char *add_row(struct goals *goals, char *line)
{
    char *field[COLUMNS];
    struct goal goal = {.line_text = line};
    int fields = text_csv_split(line, field, COLUMNS);
    if (fields < 0)
        return "a quote is out of place or not closed";
    if (fields != COLUMNS)
        return "must have 10 fields";
    const char *wrong = read_row(field, &goal);
    if (wrong)
        return wrong;
    for (unsigned i = 0; i < goals->count; i++)
        if (strcmp(goals->goal[i].id, goal.id) == 0)
            return "an id that was there before";

    struct goal *grown = realloc(goals->goal, (goals->count + 1) * sizeof(*grown));
    if (!grown)
        return "out of memory";
    goals->goal = grown;
    goals->goal[goals->count++] = goal;
    return NULL;
}

static int read_lines(FILE *file, const char *path, struct goals *goals, char *error, size_t size)
{
    char *line = NULL;
    size_t room = 0;
    bool titled = false;
    const char *wrong = NULL;
    unsigned number = 0;
    while (!wrong && getline(&line, &room, file) >= 0) {
        number++;
        read_reference(goals, line);
        if (*line == '#' || !line[strspn(line, " \t\r\n")])
            continue;
        if (!titled) {
            line[strcspn(line, "\r\n")] = '\0';
            titled = strcmp(line, header) == 0;
            if (!titled)
                wrong = "the first line must be the header";
            continue;
        }
        wrong = add_row(goals, line);
        if (!wrong) {
            line = NULL; /* the goal keeps it */
            room = 0;
        }
    }
    free(line);
    if (!wrong && !titled)
        wrong = "the header is missing";
    if (wrong)
        snprintf(error, size, "%s:%u: %s", path, number, wrong);
    return wrong ? -EINVAL : 0;
}

int goals_read(const char *path, struct goals *out, char *error, size_t size)
{
    struct goals goals = {0};
    FILE *file = fopen(path, "re");
    if (!file) {
        int status = -errno;
        snprintf(error, size, "%s: %s", path, strerror(errno));
        return status;
    }
    int status = read_lines(file, path, &goals, error, size);
    if (!status && ferror(file)) {
        snprintf(error, size, "%s: can't be read", path);
        status = -EIO;
    }
    fclose(file);
    if (status)
        goals_free(&goals);
    else
        *out = goals;
    return status;
}

bool goals_suit(struct goals *goals, const char *cpu_model)
{
    if (strncmp(cpu_model, goals->reference, strlen(goals->reference)) == 0)
        return true;
    for (unsigned i = 0; i < goals->count; i++)
        goals->goal[i].target_geomean = goals->goal[i].target_worst = 0;
    return false;
}

void goals_free(struct goals *goals)
{
    for (unsigned i = 0; i < goals->count; i++)
        free(goals->goal[i].line_text);
    free(goals->goal);
    *goals = (struct goals){0};
}
