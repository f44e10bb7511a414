/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* PAGEMAP_SCAN of a process of the trace: to look at its pages, and to protect those that match. */
#include "mm/kernel.h"

#include <errno.h>
#include <fastmm/walk.h>
#include <sys/ioctl.h>

/* Documentation/admin-guide/mm/pagemap.rst; newer than the headers this may be compiled with. */
struct scan {
    uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
    uint64_t inverted, all_of, any_of, returned;
};
struct scan_region {
    uint64_t start, end, categories;
};
#define IOCTL_SCAN       _IOWR('f', 16, struct scan)
#define SCAN_WP_MATCHING UINT64_C(1)
#define SCAN_CHECK_ASYNC UINT64_C(2)

int kernel_look_categories(const struct kernel *k, const struct kernel_process *p,
                           struct world_space *space)
{
    static struct scan_region region[TRACE_PAGES];
    struct scan scan = {
        .size = sizeof(scan),
        .start = kernel_address(k->world.first),
        .end = kernel_address(k->world.first + k->world.count),
        .regions = (uint64_t)(uintptr_t)region,
        .region_count = TRACE_PAGES,
        .returned = FASTMM_PAGE_IS_ALL,
    };
    int count = ioctl(p->pagemap, IOCTL_SCAN, &scan);
    for (int r = 0; r < count; r++)
        for (uint64_t at = region[r].start; at < region[r].end; at += FASTMM_PAGE_SIZE)
            space->page[(at - scan.start) / FASTMM_PAGE_SIZE].categories =
                (uint16_t)region[r].categories;
    return count < 0 ? -1 : 0;
}

/* Regions are asked for because without room for any the kernel protects all pages. */
int kernel_protect_matching(const struct kernel_process *p, const struct trace_op *op)
{
    static struct scan_region region[TRACE_PAGES];
    const uint32_t lack = op->flags >> 16 & FASTMM_PAGE_IS_ALL;
    struct scan scan = {
        .size = sizeof(scan),
        .flags = SCAN_WP_MATCHING | (op->flags & TRACE_MATCH_CHECK ? SCAN_CHECK_ASYNC : 0),
        .start = kernel_address(op->first),
        .end = kernel_address(op->first + op->count),
        .regions = (uint64_t)(uintptr_t)region,
        .region_count = TRACE_PAGES,
        .returned = FASTMM_PAGE_IS_ALL,
        .inverted = lack,
        .all_of = (op->flags & FASTMM_PAGE_IS_ALL) | lack,
    };
    return ioctl(p->pagemap, IOCTL_SCAN, &scan) < 0 ? -errno : 0;
}
