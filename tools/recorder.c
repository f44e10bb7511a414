/* SPDX-License-Identifier: MIT */
/* From a process to a snapshot in memory: mappings, entries, frame numbers, encoding. */
#include "recorder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <fastmm/pte.h>

int recorder_fail(struct tool_error *error, int rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return rc;
}

void *recorder_list_add(struct recorder_list *list, size_t size)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        void *items = realloc(list->items, room * size);
        if (!items)
            return NULL;
        list->items = items;
        list->room = room;
    }
    return (char *)list->items + size * list->count++;
}

/* What was gathered before it is encoded. */
struct gathered {
    struct recorder_list areas; /* struct recorder_area */
    struct recorder_list runs;  /* struct fastmm_snapshot_run */
};

static int gather_pages(const char *proc, long pid, struct gathered *g, struct recording *recording,
                        struct tool_error *error)
{
    struct recorder_pages pages;
    int rc = recorder_open_pages(proc, pid, &pages, error);
    if (rc)
        return rc;
    const struct recorder_area *areas = g->areas.items;
    for (size_t i = 0; i < g->areas.count && !rc; i++) {
        if (areas[i].hugetlb)
            recording->hugetlb_areas++;
        else
            rc = recorder_read_pages(&pages, &areas[i].area, &g->runs, error);
    }
    /* Numbers are shown of all pages or of none; both at once means that a right was lost. */
    bool frames = pages.frames && !pages.hidden;
    recording->unsettled = pages.unsettled;
    recording->seen =
        (frames ? FASTMM_SNAPSHOT_FRAMES : 0) |
        (pages.scans || (frames && pages.kpageflags >= 0) ? FASTMM_SNAPSHOT_ZERO : 0) |
        (pages.scans ? FASTMM_SNAPSHOT_HUGE : 0);
    recorder_close_pages(&pages);
    return rc;
}

/* Frame numbers as they go into the file, or none at all. */
static int settle_frames(struct gathered *g, const struct recording *recording,
                         struct tool_error *error)
{
    struct fastmm_snapshot_run *runs = g->runs.items;
    if (recording->seen & FASTMM_SNAPSHOT_FRAMES)
        return recorder_number_frames(runs, g->runs.count)
                   ? recorder_fail(error, -ENOMEM, "out of memory")
                   : 0;
    for (size_t i = 0; i < g->runs.count; i++) {
        if (runs[i].kind != FASTMM_SNAPSHOT_RUN_MARKER)
            runs[i].value = 0;
        runs[i].swap_type = 0;
    }
    return 0;
}

static int encode(const struct gathered *g, struct fastmm_snapshot_writer *w,
                  enum fastmm_snapshot_reason *reason)
{
    const struct recorder_area *areas = g->areas.items;
    const struct fastmm_snapshot_run *run = g->runs.items, *last = run + g->runs.count;
    int rc = 0;
    for (size_t i = 0; i < g->areas.count && !rc; i++) {
        rc = fastmm_snapshot_add_area(w, &areas[i].area, reason);
        for (; run < last && run->address < areas[i].area.end && !rc; run++)
            rc = fastmm_snapshot_add_run(w, run, reason);
    }
    return rc;
}

/* More than any area or run takes. */
#define ITEM_BYTES 64

static int make_snapshot(const struct gathered *g, struct recording *recording,
                         struct tool_error *error)
{
    const struct recorder_area *areas = g->areas.items;
    uint64_t end = g->areas.count ? areas[g->areas.count - 1].area.end : 0;
    unsigned levels = end > fastmm_va_user_end(4) ? 5 : 4;
    size_t capacity = (g->areas.count + g->runs.count + 2) * ITEM_BYTES;
    enum fastmm_snapshot_reason reason = FASTMM_SNAPSHOT_OK;
    struct fastmm_snapshot_writer w;

    unsigned char *data = malloc(capacity);
    if (!data)
        return recorder_fail(error, -ENOMEM, "out of memory");
    int rc = fastmm_snapshot_begin(data, capacity, recording->seen, levels, &w);
    if (!rc)
        rc = encode(g, &w, &reason);
    if (!rc)
        rc = fastmm_snapshot_finish(&w, &recording->size);
    if (rc) {
        free(data);
        return recorder_fail(error, rc == -EINVAL ? -EAGAIN : rc,
                             "the process changed while it was being read (%s); try again",
                             fastmm_snapshot_reason_text(reason));
    }
    recording->data = data;
    return 0;
}

static int compare_maps(const char *proc, long pid, const char *before, bool *changed,
                        struct tool_error *error)
{
    char *after;
    int rc = recorder_read_maps(proc, pid, &after, error);
    if (rc == -ESRCH || rc == -ENODATA)
        return recorder_fail(error, -EAGAIN, "process %ld ended while it was being read", pid);
    if (rc)
        return rc;
    *changed = strcmp(before, after) != 0;
    free(after);
    return 0;
}

int recorder_run(const char *proc, long pid, struct recording *recording, struct tool_error *error)
{
    struct gathered g = {0};
    struct recording done = {0};
    char *maps;
    int rc = recorder_read_maps(proc, pid, &maps, error);
    if (rc)
        return rc;
    rc = recorder_parse_maps(proc, pid, maps, &g.areas, &done.skipped_areas, error);
    if (!rc)
        rc = gather_pages(proc, pid, &g, &done, error);
    if (!rc)
        rc = compare_maps(proc, pid, maps, &done.changed, error);
    if (!rc)
        rc = settle_frames(&g, &done, error);
    if (!rc)
        rc = make_snapshot(&g, &done, error);
    free(maps);
    free(g.areas.items);
    free(g.runs.items);
    if (!rc)
        *recording = done;
    return rc;
}
