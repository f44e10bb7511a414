/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 1000 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_median(double *values, unsigned count)
{
    if (!count)
        return 0;
    qsort(values, count, sizeof(*values), by_value);
    unsigned middle = count / 2;
    return count % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double stats_geomean(const double *values, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += log(values[i]);
    return count ? exp(sum / count) : 0;
}

/* Where each round starts; the end of the last one comes after. Returns the number of rounds. */
static unsigned find_rounds(const struct stats_blocks *blocks, unsigned *start)
{
    unsigned rounds = 0;
    for (unsigned i = 0; i < blocks->count; i++)
        if (!i || (blocks->rounds && blocks->rounds[i] != blocks->rounds[i - 1] &&
                   rounds < STATS_MAX_ROUNDS))
            start[rounds++] = i;
    start[rounds] = blocks->count;
    return rounds;
}

/* Fills room with as many blocks as there are, drawn from rounds that are drawn themselves. */
static void draw_blocks(const struct stats_blocks *blocks, double *room, uint64_t *random)
{
    unsigned start[STATS_MAX_ROUNDS + 1], rounds = find_rounds(blocks, start), drawn = 0;
    for (unsigned r = 0; r < rounds; r++) {
        uint64_t from = random_next(random) % rounds;
        unsigned size = start[from + 1] - start[from];
        for (unsigned i = start[r]; i < start[r + 1]; i++)
            room[drawn++] = blocks->ratios[start[from] + random_next(random) % size];
    }
}

/* Median of the blocks, or with a random state of as many drawn from them. */
static double blocks_median(const struct stats_blocks *blocks, double *room, uint64_t *random)
{
    if (random)
        draw_blocks(blocks, room, random);
    else
        memcpy(room, blocks->ratios, blocks->count * sizeof(*room));
    return stats_median(room, blocks->count);
}

static double cell_ratio(const struct stats_cell *cell, double *room, uint64_t *random,
                         unsigned *best)
{
    double least = INFINITY;
    for (unsigned r = 0; r < cell->rivals; r++) {
        if (!cell->rival[r].count)
            continue;
        double ratio = blocks_median(&cell->rival[r], room, random);
        if (ratio < least) {
            least = ratio;
            *best = r;
        }
    }
    return least;
}

static unsigned longest(const struct stats_cell *cells, unsigned count)
{
    unsigned most = 1;
    for (unsigned c = 0; c < count; c++)
        for (unsigned r = 0; r < cells[c].rivals; r++)
            if (cells[c].rival[r].count > most)
                most = cells[c].rival[r].count;
    return most;
}

static double *room_for(unsigned count)
{
    double *room = malloc(count * sizeof(*room));
    if (!room)
        abort();
    return room;
}

double stats_cell_ratio(const struct stats_cell *cell, unsigned *best)
{
    double *room = room_for(longest(cell, 1));
    double ratio = cell_ratio(cell, room, NULL, best);
    free(room);
    return ratio;
}

struct stats_interval stats_bootstrap(const struct stats_cell *cells, unsigned count, uint64_t seed)
{
    double *room = room_for(longest(cells, count));
    double *draws = room_for(DRAWS);
    for (unsigned d = 0; d < DRAWS; d++) {
        double sum = 0;
        unsigned best;
        for (unsigned c = 0; c < count; c++)
            sum += log(cell_ratio(&cells[c], room, &seed, &best));
        draws[d] = exp(sum / count);
    }
    qsort(draws, DRAWS, sizeof(*draws), by_value);
    struct stats_interval interval = {draws[DRAWS * 25 / 1000], draws[DRAWS * 975 / 1000 - 1]};
    free(draws);
    free(room);
    return interval;
}

enum stats_verdict stats_judge(double geomean, struct stats_interval interval)
{
    const double matters = 1.02, close = 1.05;
    if (interval.low > 1 && geomean >= matters)
        return STATS_AHEAD;
    if (interval.high < 1 && geomean <= 1 / matters)
        return STATS_BEHIND;
    if (interval.low >= 1 / close && interval.high <= close)
        return STATS_EVEN;
    return STATS_UNDECIDED;
}

const char *stats_verdict_name(enum stats_verdict verdict)
{
    static const char *const names[] = {"ahead", "even", "behind", "undecided"};
    return names[verdict];
}
