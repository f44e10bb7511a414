/* SPDX-License-Identifier: MIT */
/* `fastmm snapshot`: what is in a snapshot file. */
#include "snapshot_file.h"
#include "tool.h"

#include <fastmm/snapshot.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: fastmm snapshot FILE\n"
                            "\n"
                            "Checks a snapshot file and prints what is in it.\n";

static void print(const char *what, uint64_t number)
{
    printf("%-24s %12" PRIu64 "\n", what, number);
}

static void print_summary(const struct fastmm_snapshot_summary *s, size_t size)
{
    const struct {
        const char *what;
        uint64_t number;
    } rows[] = {
        {"bytes", size},
        {"areas", s->areas},
        {"files", s->files},
        {"pages of address space", s->area_pages},
        {"anonymous pages", s->anon_pages},
        {"file and shmem pages", s->file_pages},
        {"zero pages", s->zero_pages},
        {"swapped pages", s->swap_pages},
        {"markers", s->marker_pages},
        {"of them exclusive", s->exclusive_pages},
        {"userfaultfd-protected", s->uffd_wp_pages},
        {"soft-dirty", s->soft_dirty_pages},
        {"mapped by 2 MiB entries", s->pmd_pages},
        {"runs", s->runs},
        {"frame numbers below", s->frames},
        {"PTE tables", s->tables[0]},
        {"PMD tables", s->tables[1]},
        {"PUD tables", s->tables[2]},
        {"tables above", s->tables[3] + s->tables[4]},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        print(rows[i].what, rows[i].number);
    printf("seen: entries%s%s%s, %" PRIu32 " levels of tables\n",
           s->seen & FASTMM_SNAPSHOT_FRAMES ? ", frame numbers" : "",
           s->seen & FASTMM_SNAPSHOT_ZERO ? ", zero pages" : "",
           s->seen & FASTMM_SNAPSHOT_HUGE ? ", 2 MiB entries" : "", s->levels);
}

int tool_snapshot(int argc, char **argv)
{
    struct fastmm_snapshot_summary summary;
    struct fastmm_snapshot_error error;
    struct fastmm_snapshot_cursor cursor;
    unsigned char *data;
    size_t size;
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(usage, stdout);
        return tool_finish();
    }
    if (argc != 2 || argv[1][0] == '-')
        return tool_misused("snapshot", "one file is expected");
    int rc = snapshot_file_read(argv[1], &data, &size);
    if (rc) {
        tool_complain("%s: %s", argv[1], rc == -EINVAL ? "is not a regular file" : strerror(-rc));
        return TOOL_FAILED;
    }
    rc = fastmm_snapshot_open(data, size, &summary, &error, &cursor);
    free(data);
    if (rc) {
        tool_complain("%s: byte %" PRIu64 ": %s", argv[1], error.offset,
                      fastmm_snapshot_reason_text(error.reason));
        return TOOL_FAILED;
    }
    print_summary(&summary, size);
    return tool_finish();
}
