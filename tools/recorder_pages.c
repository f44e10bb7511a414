/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/pagemap as runs. Where the kernel has PAGEMAP_SCAN (Linux 6.7) that says which parts
 * are populated at all, so that reservations of terabytes cost nothing, and which pages are the
 * zero page or mapped by 2 MiB entries. Elsewhere every word is read, kpageflags tells the zero
 * page to the privileged, and 2 MiB entries stay unknown.
 */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fastmm/swp.h>

/* pagemap words, Documentation/admin-guide/mm/pagemap.rst. */
#define WORD_VALUE      ((UINT64_C(1) << 55) - 1)
#define WORD_SOFT_DIRTY (UINT64_C(1) << 55)
#define WORD_EXCLUSIVE  (UINT64_C(1) << 56)
#define WORD_UFFD_WP    (UINT64_C(1) << 57)
#define WORD_GUARD      (UINT64_C(1) << 58)
#define WORD_FILE       (UINT64_C(1) << 61)
#define WORD_SWAP       (UINT64_C(1) << 62)
#define WORD_PRESENT    (UINT64_C(1) << 63)
#define WORD_TYPE_BITS  5

#define KPAGEFLAG_ZERO (UINT64_C(1) << 24)

/* PAGEMAP_SCAN, PAGEMAP_SCAN(2const); the headers of older systems lack it. */
#define CATEGORY_PRESENT (UINT64_C(1) << 3)
#define CATEGORY_SWAPPED (UINT64_C(1) << 4)
#define CATEGORY_ZERO    (UINT64_C(1) << 5)
#define CATEGORY_HUGE    (UINT64_C(1) << 6)

struct scan_region {
    uint64_t start, end, categories;
};

struct scan_request {
    uint64_t size, flags, start, end, walk_end, regions, regions_count, max_pages;
    uint64_t inverted, all_of, any_of, returned;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_request)

#define CHUNK_PAGES 4096u
#define REGIONS     512u

/* Swap types from here on mean something else under some configuration (swp.h). */
static const struct fastmm_swp_types special_types = FASTMM_SWP_TYPES_ALL;

int recorder_open_pages(const char *proc, long pid, struct recorder_pages *pages,
                        struct tool_error *error)
{
    char path[256];
    memset(pages, 0, sizeof(*pages));
    pages->kpageflags = -1;
    snprintf(path, sizeof(path), "%s/%ld/pagemap", proc, pid);
    pages->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    if (pages->pagemap < 0) {
        int rc = -errno;
        if (rc == -ENOENT || rc == -ESRCH)
            return recorder_fail(error, -EAGAIN, "process %ld ended while it was being read", pid);
        return recorder_fail(error, rc, "can't read the page tables of process %ld: %s", pid,
                             strerror(-rc));
    }
    struct scan_request empty = {
        .size = sizeof(empty), .any_of = CATEGORY_PRESENT, .returned = CATEGORY_PRESENT};
    pages->scans = ioctl(pages->pagemap, SCAN_IOCTL, &empty) == 0;
    if (!pages->scans) {
        snprintf(path, sizeof(path), "%s/kpageflags", proc);
        pages->kpageflags = open(path, O_RDONLY | O_CLOEXEC);
    }
    return 0;
}

void recorder_close_pages(struct recorder_pages *pages)
{
    close(pages->pagemap);
    if (pages->kpageflags >= 0)
        close(pages->kpageflags);
}

/* --- One entry ------------------------------------------------------------------------------ */

/* Is the frame the zero page? Only where PAGEMAP_SCAN couldn't say. */
static bool frame_is_zero(const struct recorder_pages *pages, uint64_t frame)
{
    uint64_t flags = 0;
    if (pages->kpageflags < 0 || !frame)
        return false;
    return pread(pages->kpageflags, &flags, sizeof(flags), (off_t)(frame * sizeof(flags))) ==
               (ssize_t)sizeof(flags) &&
           (flags & KPAGEFLAG_ZERO);
}

static bool decode_present(struct recorder_pages *pages, uint64_t word, bool zero,
                           struct fastmm_snapshot_run *run)
{
    uint64_t frame = word & WORD_VALUE;
    *(frame ? &pages->frames : &pages->hidden) = true;
    if (zero || frame_is_zero(pages, frame)) {
        run->kind = FASTMM_SNAPSHOT_RUN_ZERO;
        return true;
    }
    run->kind = word & WORD_FILE ? FASTMM_SNAPSHOT_RUN_FILE : FASTMM_SNAPSHOT_RUN_ANON;
    run->flags |= word & WORD_EXCLUSIVE ? FASTMM_SNAPSHOT_EXCLUSIVE : 0;
    run->value = frame;
    return true;
}

static bool decode_swap(struct recorder_pages *pages, uint64_t word,
                        struct fastmm_snapshot_run *run)
{
    uint64_t value = word & WORD_VALUE;
    unsigned type = (unsigned)(value & FASTMM_SWP_TYPE_MAX);
    uint64_t offset = value >> WORD_TYPE_BITS;
    if (type == FASTMM_SWP_TYPE_MARKER || word & WORD_GUARD) {
        run->kind = FASTMM_SNAPSHOT_RUN_MARKER;
        run->flags &= FASTMM_SNAPSHOT_SOFT_DIRTY;
        run->value = word & WORD_GUARD ? FASTMM_MARKER_GUARD : offset & FASTMM_MARKER_ALL;
        return run->value != 0;
    }
    run->kind = FASTMM_SNAPSHOT_RUN_SWAP;
    run->value = offset;
    run->swap_type = (uint8_t)type;
    pages->frames = pages->frames || value;
    return type < special_types.hwpoison;
}

/* The entry as a run of one page, its address left out; false when it is empty or unsettled. */
static bool decode(struct recorder_pages *pages, uint64_t word, bool zero,
                   struct fastmm_snapshot_run *run)
{
    memset(run, 0, sizeof(*run));
    run->pages = 1;
    run->flags = (uint8_t)((word & WORD_SOFT_DIRTY ? FASTMM_SNAPSHOT_SOFT_DIRTY : 0) |
                           (word & WORD_UFFD_WP ? FASTMM_SNAPSHOT_UFFD_WP : 0));
    if (word & WORD_PRESENT)
        return decode_present(pages, word, zero, run);
    if (!(word & WORD_SWAP))
        return false;
    bool settled = decode_swap(pages, word, run);
    pages->unsettled += !settled;
    return settled;
}

/* --- Runs of entries ------------------------------------------------------------------------ */

static bool joins(const struct fastmm_snapshot_run *last, const struct fastmm_snapshot_run *run)
{
    bool counts = run->kind != FASTMM_SNAPSHOT_RUN_ZERO &&
                  run->kind != FASTMM_SNAPSHOT_RUN_MARKER && (run->value || last->value);
    return last->address + (last->pages << FASTMM_PAGE_SHIFT) == run->address &&
           last->kind == run->kind && last->flags == run->flags &&
           last->swap_type == run->swap_type &&
           run->value == last->value + (counts ? last->pages : 0);
}

static int add_run(const struct recorder_pages *pages, struct recorder_list *runs,
                   const struct fastmm_snapshot_run *run)
{
    struct fastmm_snapshot_run *last = runs->items;
    if (runs->count > pages->area_begin && joins(&last[runs->count - 1], run)) {
        last[runs->count - 1].pages += run->pages;
        return 0;
    }
    struct fastmm_snapshot_run *added = recorder_list_add(runs, sizeof(*added));
    if (!added)
        return -ENOMEM;
    *added = *run;
    return 0;
}

/*
 * 512 words of one 2 MiB entry as one run, if they are still that. What the kernel reports page by
 * page is narrowed: exclusive only when every page is.
 */
static bool decode_pmd(struct recorder_pages *pages, uint64_t address, const uint64_t *words,
                       bool zero, struct fastmm_snapshot_run *run)
{
    struct fastmm_snapshot_run next;
    if (address & (FASTMM_LEVEL_SIZE(2) - 1) || !decode(pages, words[0], zero, run) ||
        !(words[0] & WORD_PRESENT) || run->value % FASTMM_PTES)
        return false;
    for (unsigned i = 1; i < FASTMM_PTES; i++) {
        if (!decode(pages, words[i], zero, &next) || next.kind != run->kind ||
            next.value != (run->value ? run->value + i : 0))
            return false;
        if (!(next.flags & FASTMM_SNAPSHOT_EXCLUSIVE))
            run->flags &= (uint8_t)~FASTMM_SNAPSHOT_EXCLUSIVE;
    }
    run->pages = FASTMM_PTES;
    run->address = address;
    run->flags |= FASTMM_SNAPSHOT_PMD;
    return true;
}

static int add_words(struct recorder_pages *pages, uint64_t address, const uint64_t *words,
                     size_t count, uint64_t categories, struct recorder_list *runs)
{
    bool zero = categories & CATEGORY_ZERO;
    for (size_t i = 0; i < count;) {
        struct fastmm_snapshot_run run;
        uint64_t at = address + ((uint64_t)i << FASTMM_PAGE_SHIFT);
        bool some = categories & CATEGORY_HUGE && count - i >= FASTMM_PTES &&
                    decode_pmd(pages, at, words + i, zero, &run);
        if (!some)
            some = decode(pages, words[i], zero, &run);
        run.address = at;
        if (some && add_run(pages, runs, &run))
            return -ENOMEM;
        i += some ? run.pages : 1;
    }
    return 0;
}

/* Chunks end at multiples of 2 MiB, so that no huge entry is cut. */
static int read_words(struct recorder_pages *pages, uint64_t start, uint64_t end,
                      uint64_t categories, struct recorder_list *runs)
{
    static uint64_t words[CHUNK_PAGES];
    while (start < end) {
        uint64_t page = start >> FASTMM_PAGE_SHIFT;
        uint64_t count = CHUNK_PAGES - page % CHUNK_PAGES;
        if (count > (end - start) >> FASTMM_PAGE_SHIFT)
            count = (end - start) >> FASTMM_PAGE_SHIFT;
        ssize_t got = pread(pages->pagemap, words, count * sizeof(words[0]),
                            (off_t)(page * sizeof(words[0])));
        if (got < 0)
            return -errno;
        if ((uint64_t)got != count * sizeof(words[0]))
            return -EAGAIN; /* a process that ended reads as an empty file */
        int rc = add_words(pages, start, words, count, categories, runs);
        if (rc)
            return rc;
        start += count << FASTMM_PAGE_SHIFT;
    }
    return 0;
}

static int scan_area(struct recorder_pages *pages, const struct fastmm_snapshot_area *area,
                     struct recorder_list *runs)
{
    static struct scan_region regions[REGIONS];
    struct scan_request request = {.size = sizeof(request),
                                   .start = area->start,
                                   .end = area->end,
                                   .regions = (uintptr_t)regions,
                                   .regions_count = REGIONS,
                                   .any_of = CATEGORY_PRESENT | CATEGORY_SWAPPED,
                                   .returned = CATEGORY_PRESENT | CATEGORY_SWAPPED | CATEGORY_ZERO |
                                               CATEGORY_HUGE};
    while (request.start < area->end) {
        int found = ioctl(pages->pagemap, SCAN_IOCTL, &request);
        if (found < 0)
            return -errno;
        for (int i = 0; i < found; i++) {
            int rc =
                read_words(pages, regions[i].start, regions[i].end, regions[i].categories, runs);
            if (rc)
                return rc;
        }
        if (request.walk_end <= request.start)
            return -EPROTO;
        request.start = request.walk_end;
    }
    return 0;
}

int recorder_read_pages(struct recorder_pages *pages, const struct fastmm_snapshot_area *area,
                        struct recorder_list *runs, struct tool_error *error)
{
    pages->area_begin = runs->count;
    int rc = pages->scans ? scan_area(pages, area, runs)
                          : read_words(pages, area->start, area->end, 0, runs);
    if (rc == -ENOMEM)
        return recorder_fail(error, rc, "out of memory");
    if (rc == -EAGAIN || rc == -ESRCH)
        return recorder_fail(error, -EAGAIN, "the process ended while it was being read");
    return rc ? recorder_fail(error, rc, "can't read the page tables: %s", strerror(-rc)) : 0;
}
