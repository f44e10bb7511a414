/* SPDX-License-Identifier: MIT */
/*
 * Frame numbers without the machine: sorted, then numbered anew so that order, adjacency and the
 * alignment of 2 MiB frames stay and everything else goes (docs/snapshot-format.md).
 */
#include "recorder.h"

#include <errno.h>
#include <stdlib.h>

#include <fastmm/pte.h>

/* Frames [first, end) become [number, ...). */
struct interval {
    uint64_t first, end, number;
    bool aligned;
};

static bool has_frames(const struct fastmm_snapshot_run *run)
{
    return run->kind == FASTMM_SNAPSHOT_RUN_ANON || run->kind == FASTMM_SNAPSHOT_RUN_FILE;
}

static int by_first(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Touching and overlapping intervals become one; how many are left. */
static size_t merge(struct interval *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 1; i < count; i++) {
        struct interval *last = &list[kept];
        if (list[i].first > last->end) {
            list[++kept] = list[i];
            continue;
        }
        if (list[i].end > last->end)
            last->end = list[i].end;
        last->aligned = last->aligned || list[i].aligned;
    }
    return count ? kept + 1 : 0;
}

static void number(struct interval *list, size_t count)
{
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].aligned) /* to the same place within 2 MiB */
            next += (list[i].first - next) % FASTMM_PTES;
        list[i].number = next;
        next += list[i].end - list[i].first + 1;
    }
}

static uint64_t look_up(const struct interval *list, size_t count, uint64_t frame)
{
    size_t low = 0;
    while (count > 1) {
        size_t half = count / 2;
        if (list[low + half].first <= frame)
            low += half;
        count -= half;
    }
    return list[low].number + (frame - list[low].first);
}

int recorder_number_frames(struct fastmm_snapshot_run *runs, size_t count)
{
    struct interval *list = calloc(count + 1, sizeof(*list));
    size_t used = 0;
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (has_frames(&runs[i]))
            list[used++] = (struct interval){runs[i].value, runs[i].value + runs[i].pages, 0,
                                             runs[i].flags & FASTMM_SNAPSHOT_PMD};
    qsort(list, used, sizeof(*list), by_first);
    used = merge(list, used);
    number(list, used);
    for (size_t i = 0; i < count; i++)
        if (has_frames(&runs[i]))
            runs[i].value = look_up(list, used, runs[i].value);
    free(list);
    return 0;
}
