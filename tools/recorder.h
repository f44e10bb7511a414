/* SPDX-License-Identifier: MIT */
/*
 * Records the address space of a live process as a snapshot. Only /proc is read: the process is
 * neither stopped nor touched, so one that runs may change meanwhile; `changed` says whether its
 * mappings did.
 */
#ifndef FASTMM_TOOLS_RECORDER_H
#define FASTMM_TOOLS_RECORDER_H

#include "tool.h"

#include <fastmm/snapshot.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* --- The outcome ---------------------------------------------------------------------------- */

struct recording {
    unsigned char *data; /* from malloc(); the caller frees it */
    size_t size;
    uint32_t seen;          /* FASTMM_SNAPSHOT_* */
    bool changed;           /* the mappings were not the same before and after */
    uint64_t unsettled;     /* entries under migration and the like, left empty */
    uint64_t skipped_areas; /* of the kernel, past the user half */
    uint64_t hugetlb_areas; /* recorded without their entries */
};

/*
 * `proc` is where procfs is ("/proc"). 0, or a negative errno with a line in *error: -ESRCH for no
 * such process, -EACCES or -EPERM without permission, -ENODATA for a process without an address
 * space, -EAGAIN when it vanished or changed midway, -ENOMEM, -EPROTO for what procfs can't say.
 */
int recorder_run(const char *proc, long pid, struct recording *recording, struct tool_error *error);

/* --- Its parts ------------------------------------------------------------------------------ */

/* Writes the line of *error and returns rc. */
int recorder_fail(struct tool_error *error, int rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A list that grows. */
struct recorder_list {
    void *items;
    size_t count, room;
};

/* Room for one more item of `size` bytes at the end, counted in; NULL without memory. */
void *recorder_list_add(struct recorder_list *list, size_t size);

/* One area, and what of it is known beside the format. */
struct recorder_area {
    struct fastmm_snapshot_area area;
    bool hugetlb;
};

/* recorder_maps.c: all of /proc/PID/maps as text, from malloc(). */
int recorder_read_maps(const char *proc, long pid, char **text, struct tool_error *error);

/* Its areas, as struct recorder_area; those past the user half are counted in *skipped. */
int recorder_parse_maps(const char *proc, long pid, const char *text, struct recorder_list *areas,
                        uint64_t *skipped, struct tool_error *error);

/* recorder_pages.c: where entries are read from. */
struct recorder_pages {
    int pagemap;
    int kpageflags; /* -1 when it can't be read or isn't needed */
    bool scans;     /* the kernel has PAGEMAP_SCAN */
    uint64_t unsettled;
    bool frames;       /* some entry had a frame number or swap offset */
    bool hidden;       /* some present page had none */
    size_t area_begin; /* the first run of the area being read: runs don't cross areas */
};

int recorder_open_pages(const char *proc, long pid, struct recorder_pages *pages,
                        struct tool_error *error);
void recorder_close_pages(struct recorder_pages *pages);

/* Adds the runs of the area, as struct fastmm_snapshot_run with raw frame numbers, to the list. */
int recorder_read_pages(struct recorder_pages *pages, const struct fastmm_snapshot_area *area,
                        struct recorder_list *runs, struct tool_error *error);

/* recorder_frames.c: puts numbers that keep only order and adjacency in place of raw ones. */
int recorder_number_frames(struct fastmm_snapshot_run *runs, size_t count);

#endif
