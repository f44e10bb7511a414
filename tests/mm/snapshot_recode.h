/* SPDX-License-Identifier: MIT */
/*
 * The strongest thing to ask of bytes that the reader accepts: writing down what was read must give
 * the same bytes. It holds for any input, so both the corruption tests and the fuzzer ask it.
 */
#ifndef FASTMM_TESTS_SNAPSHOT_RECODE_H
#define FASTMM_TESTS_SNAPSHOT_RECODE_H

#include <fastmm/snapshot.h>

#include <string.h>

/* 0 if the accepted snapshot and its copy in out[] (of `size` bytes) are the same, else a line. */
static inline const char *snapshot_recode(const unsigned char *data, size_t size,
                                          unsigned char *out)
{
    struct fastmm_snapshot_summary sum;
    struct fastmm_snapshot_cursor c;
    struct fastmm_snapshot_writer w;
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run run;
    size_t written = 0;
    int more;
    if (fastmm_snapshot_open(data, size, &sum, NULL, &c))
        return "not accepted twice";
    if (fastmm_snapshot_begin(out, size, sum.seen, sum.levels, &w))
        return "the writer refuses the header";
    while ((more = fastmm_snapshot_next_area(&c, &area)) > 0) {
        if (fastmm_snapshot_add_area(&w, &area, NULL))
            return "the writer refuses an area that the reader accepted";
        while ((more = fastmm_snapshot_next_run(&c, &run)) > 0)
            if (fastmm_snapshot_add_run(&w, &run, NULL))
                return "the writer refuses a run that the reader accepted";
        if (more < 0)
            break;
    }
    if (more < 0)
        return "the second reading fails";
    if (fastmm_snapshot_finish(&w, &written))
        return "the writer can't finish";
    if (written != size || memcmp(data, out, size) != 0)
        return "the bytes written are not those read";
    return NULL;
}

#endif
