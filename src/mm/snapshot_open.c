/* SPDX-License-Identifier: MIT */
/*
 * Checks a whole snapshot before any of it is handed out, and sums it up on the way: what a caller
 * must know to decide whether to build it.
 */
#include "snapshot_codec.h"

#include <errno.h>
#include <string.h>

/* The header: what stands before anything is decoded. */
static enum fastmm_snapshot_reason check_header(const unsigned char *data, uint64_t size,
                                                uint64_t *offset)
{
    *offset = SNAPSHOT_AT_MAGIC;
    uint64_t magic = sizeof(SNAPSHOT_MAGIC) - 1;
    if (memcmp(data, SNAPSHOT_MAGIC, size < magic ? size : magic) != 0 || size == 0)
        return FASTMM_SNAPSHOT_NOT_A_SNAPSHOT;
    *offset = size;
    if (size < SNAPSHOT_HEADER_SIZE + SNAPSHOT_CHECKSUM_SIZE)
        return FASTMM_SNAPSHOT_TRUNCATED;
    *offset = SNAPSHOT_AT_VERSION;
    if (fastmm_snapshot_get_le(data + SNAPSHOT_AT_VERSION, 2) != FASTMM_SNAPSHOT_VERSION)
        return FASTMM_SNAPSHOT_BAD_VERSION;

    uint64_t body = fastmm_snapshot_get_le(data + SNAPSHOT_AT_BODY_SIZE, 8);
    uint64_t room = size - SNAPSHOT_HEADER_SIZE - SNAPSHOT_CHECKSUM_SIZE;
    *offset = size;
    if (body > room)
        return FASTMM_SNAPSHOT_TRUNCATED;
    *offset = SNAPSHOT_HEADER_SIZE + body + SNAPSHOT_CHECKSUM_SIZE;
    if (body < room)
        return FASTMM_SNAPSHOT_TRAILING_BYTES;
    *offset = SNAPSHOT_HEADER_SIZE + body;
    if (fastmm_snapshot_get_le(data + *offset, SNAPSHOT_CHECKSUM_SIZE) !=
        fastmm_snapshot_checksum(data, *offset))
        return FASTMM_SNAPSHOT_BAD_CHECKSUM;

    unsigned levels = data[SNAPSHOT_AT_LEVELS];
    *offset = SNAPSHOT_AT_LEVELS;
    if (levels != 4 && levels != 5)
        return FASTMM_SNAPSHOT_BAD_HEADER;
    *offset = SNAPSHOT_AT_SEEN;
    if (data[SNAPSHOT_AT_SEEN] >= FASTMM_SNAPSHOT_HUGE << 1)
        return FASTMM_SNAPSHOT_BAD_HEADER;
    *offset = SNAPSHOT_AT_RESERVED;
    return fastmm_snapshot_get_le(data + SNAPSHOT_AT_RESERVED, 4) ? FASTMM_SNAPSHOT_BAD_HEADER
                                                                  : FASTMM_SNAPSHOT_OK;
}

/* Tables that the run needs and no earlier run did; `next` is the first table not counted yet. */
static void count_tables(struct fastmm_snapshot_summary *sum, uint64_t next[5],
                         const struct fastmm_snapshot_run *run)
{
    uint64_t first = run->address >> FASTMM_PAGE_SHIFT;
    uint64_t last = first + run->pages - 1;
    for (unsigned level = run->flags & FASTMM_SNAPSHOT_PMD ? 1 : 0; level < sum->levels; level++) {
        uint64_t from = first >> (FASTMM_LEVEL_BITS * (level + 1));
        uint64_t to = (last >> (FASTMM_LEVEL_BITS * (level + 1))) + 1;
        if (from < next[level])
            from = next[level];
        if (to > from) {
            sum->tables[level] += to - from;
            next[level] = to;
        }
    }
}

static void count_run(struct fastmm_snapshot_summary *sum, const struct fastmm_snapshot_run *run)
{
    uint64_t *const by_kind[] = {[FASTMM_SNAPSHOT_RUN_ANON] = &sum->anon_pages,
                                 [FASTMM_SNAPSHOT_RUN_FILE] = &sum->file_pages,
                                 [FASTMM_SNAPSHOT_RUN_ZERO] = &sum->zero_pages,
                                 [FASTMM_SNAPSHOT_RUN_SWAP] = &sum->swap_pages,
                                 [FASTMM_SNAPSHOT_RUN_MARKER] = &sum->marker_pages};
    *by_kind[run->kind] += run->pages;
    if (run->kind == FASTMM_SNAPSHOT_RUN_SWAP) {
        uint64_t *slots = &sum->swap_slots[run->swap_type];
        uint64_t end =
            sum->seen & FASTMM_SNAPSHOT_FRAMES ? run->value + run->pages : sum->swap_pages;
        if (end > *slots)
            *slots = end;
    }
    if (run->flags & FASTMM_SNAPSHOT_EXCLUSIVE)
        sum->exclusive_pages += run->pages;
    if (run->flags & FASTMM_SNAPSHOT_UFFD_WP)
        sum->uffd_wp_pages += run->pages;
    if (run->flags & FASTMM_SNAPSHOT_SOFT_DIRTY)
        sum->soft_dirty_pages += run->pages;
    if (run->flags & FASTMM_SNAPSHOT_PMD)
        sum->pmd_pages += run->pages;
}

/* The whole body, then what the header said of it. Moves the cursor. */
static int check_body(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_summary *sum)
{
    struct fastmm_snapshot_area area;
    struct fastmm_snapshot_run run;
    struct fastmm_snapshot_state *s = &c->state;
    uint64_t next_table[5] = {0};
    int rc;
    while ((rc = fastmm_snapshot_next_area(c, &area)) > 0) {
        sum->area_pages += (area.end - area.start) >> FASTMM_PAGE_SHIFT;
        while ((rc = fastmm_snapshot_next_run(c, &run)) > 0) {
            count_run(sum, &run);
            count_tables(sum, next_table, &run);
        }
        if (rc < 0)
            return rc;
    }
    if (rc < 0)
        return rc;
    if (fastmm_snapshot_check_frames(s))
        return fastmm_snapshot_stop(c, SNAPSHOT_AT_FRAMES, FASTMM_SNAPSHOT_BAD_FRAME);
    const struct {
        unsigned at;
        uint64_t counted;
    } totals[] = {{SNAPSHOT_AT_AREAS, s->areas},
                  {SNAPSHOT_AT_RUNS, s->runs},
                  {SNAPSHOT_AT_FRAMES, s->frames}};
    for (unsigned i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
        if (fastmm_snapshot_get_le(c->data + totals[i].at, 8) != totals[i].counted)
            return fastmm_snapshot_stop(c, totals[i].at, FASTMM_SNAPSHOT_WRONG_TOTALS);
    sum->areas = s->areas;
    sum->files = s->files;
    sum->runs = s->runs;
    sum->frames = s->frames;
    return 0;
}

static int refuse(struct fastmm_snapshot_error *error, uint64_t offset,
                  enum fastmm_snapshot_reason reason)
{
    if (error) {
        error->offset = offset;
        error->reason = reason;
    }
    if (reason == FASTMM_SNAPSHOT_NOT_A_SNAPSHOT)
        return -EINVAL;
    return reason == FASTMM_SNAPSHOT_BAD_VERSION ? -ENOTSUP : -EBADMSG;
}

int fastmm_snapshot_open(const void *data, size_t size, struct fastmm_snapshot_summary *summary,
                         struct fastmm_snapshot_error *error, struct fastmm_snapshot_cursor *cursor)
{
    const unsigned char *bytes = data;
    uint64_t offset;
    if (!data || !cursor)
        return refuse(error, 0, FASTMM_SNAPSHOT_NOT_A_SNAPSHOT);
    enum fastmm_snapshot_reason reason = check_header(bytes, size, &offset);
    if (reason)
        return refuse(error, offset, reason);

    struct fastmm_snapshot_summary sum;
    memset(&sum, 0, sizeof(sum));
    sum.seen = bytes[SNAPSHOT_AT_SEEN];
    sum.levels = bytes[SNAPSHOT_AT_LEVELS];

    struct fastmm_snapshot_cursor begin, c;
    memset(&begin, 0, sizeof(begin));
    begin.data = bytes;
    begin.at = SNAPSHOT_HEADER_SIZE;
    begin.body_end = size - SNAPSHOT_CHECKSUM_SIZE;
    fastmm_snapshot_state_init(&begin.state, sum.seen, sum.levels);

    c = begin;
    if (check_body(&c, &sum))
        return refuse(error, c.at, (enum fastmm_snapshot_reason)c.reason);
    *cursor = begin;
    if (summary)
        *summary = sum;
    return 0;
}

static const char *const reason_texts[FASTMM_SNAPSHOT_REASONS] = {
    [FASTMM_SNAPSHOT_OK] = "nothing is wrong",
    [FASTMM_SNAPSHOT_NOT_A_SNAPSHOT] = "this is not a snapshot",
    [FASTMM_SNAPSHOT_BAD_VERSION] = "unknown version of the format",
    [FASTMM_SNAPSHOT_BAD_HEADER] = "the header says what no snapshot can",
    [FASTMM_SNAPSHOT_TRUNCATED] = "bytes are missing",
    [FASTMM_SNAPSHOT_TRAILING_BYTES] = "bytes follow the end",
    [FASTMM_SNAPSHOT_BAD_CHECKSUM] = "the checksum is wrong",
    [FASTMM_SNAPSHOT_BAD_NUMBER] = "a number is too large or not in its shortest form",
    [FASTMM_SNAPSHOT_BAD_AREA] = "an area of unknown kind, protection or sharing",
    [FASTMM_SNAPSHOT_EMPTY_AREA] = "an area without a page",
    [FASTMM_SNAPSHOT_UNALIGNED] = "an address or length is not aligned",
    [FASTMM_SNAPSHOT_OVERLAP] = "an area or run overlaps an earlier one",
    [FASTMM_SNAPSHOT_NON_CANONICAL] = "an address is past the user half",
    [FASTMM_SNAPSHOT_BAD_FILE] = "a file number or offset is out of order or range",
    [FASTMM_SNAPSHOT_BAD_RUN] = "a run of unknown kind or flags",
    [FASTMM_SNAPSHOT_EMPTY_RUN] = "a run without a page",
    [FASTMM_SNAPSHOT_RUN_BEYOND_AREA] = "a run goes past its area",
    [FASTMM_SNAPSHOT_WRONG_BACKING] = "the area can't hold pages of this kind",
    [FASTMM_SNAPSHOT_BAD_FRAME] = "a frame number is too large, too sparse or not aligned",
    [FASTMM_SNAPSHOT_BAD_SWAP] = "a swap type or offset is out of range",
    [FASTMM_SNAPSHOT_NOT_JOINED] = "two runs should have been one",
    [FASTMM_SNAPSHOT_WRONG_TOTALS] = "the header's totals are not those of the body",
};

const char *fastmm_snapshot_reason_text(enum fastmm_snapshot_reason reason)
{
    unsigned index = (unsigned)reason;
    return index < FASTMM_SNAPSHOT_REASONS ? reason_texts[index] : "unknown reason";
}
