/* SPDX-License-Identifier: MIT */
/*
 * Decodes a snapshot as a stream. One decoder serves both passes: fastmm_snapshot_open() runs it
 * over everything to check, and the caller's cursor runs it again to build; so nothing is believed
 * that was not checked, and nothing is allocated.
 */
#include "snapshot_codec.h"

#include <errno.h>
#include <string.h>

int fastmm_snapshot_stop(struct fastmm_snapshot_cursor *c, uint64_t at,
                         enum fastmm_snapshot_reason reason)
{
    c->at = at;
    c->reason = (uint8_t)reason;
    return -EBADMSG;
}

static int read_byte(struct fastmm_snapshot_cursor *c, unsigned *byte)
{
    if (c->at >= c->body_end)
        return fastmm_snapshot_stop(c, c->at, FASTMM_SNAPSHOT_TRUNCATED);
    *byte = c->data[c->at++];
    return 0;
}

/* Seven bits a byte, low ones first; only the shortest form of each number is accepted. */
static int read_number(struct fastmm_snapshot_cursor *c, uint64_t *number)
{
    uint64_t start = c->at, value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned byte;
        int rc = read_byte(c, &byte);
        if (rc)
            return rc;
        uint64_t bits = byte & 0x7f;
        if ((shift == 63 && bits > 1) || (shift && byte == 0))
            break;
        value |= bits << shift;
        if (!(byte & 0x80)) {
            *number = value;
            return 0;
        }
    }
    return fastmm_snapshot_stop(c, start, FASTMM_SNAPSHOT_BAD_NUMBER);
}

/* A number that is one less than what it says, so that nothing empty can be said. */
static int read_count(struct fastmm_snapshot_cursor *c, uint64_t *count)
{
    uint64_t start = c->at;
    int rc = read_number(c, count);
    if (rc)
        return rc;
    if (++*count == 0)
        return fastmm_snapshot_stop(c, start, FASTMM_SNAPSHOT_BAD_NUMBER);
    return 0;
}

/* `pages` pages past `from`, in bytes, unless that is past the user half. */
static int advance(struct fastmm_snapshot_cursor *c, uint64_t start, uint64_t from, uint64_t pages,
                   uint64_t *to)
{
    if (pages > (fastmm_snapshot_limit(&c->state) - from) >> FASTMM_PAGE_SHIFT)
        return fastmm_snapshot_stop(c, start, FASTMM_SNAPSHOT_NON_CANONICAL);
    *to = from + (pages << FASTMM_PAGE_SHIFT);
    return 0;
}

static int read_backing(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_area *area)
{
    uint64_t start = c->at, file;
    int rc = read_number(c, &file);
    if (rc)
        return rc;
    if (file >= FASTMM_SNAPSHOT_NO_FILE)
        return fastmm_snapshot_stop(c, start, FASTMM_SNAPSHOT_BAD_FILE);
    area->file = (uint32_t)file;
    return read_number(c, &area->offset);
}

static int read_area(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_area *area)
{
    uint64_t start = c->at, gap, pages;
    unsigned byte;
    int rc;
    memset(area, 0, sizeof(*area));
    if ((rc = read_number(c, &gap)) ||
        (rc = advance(c, start, c->state.area.end, gap, &area->start)) ||
        (rc = read_count(c, &pages)) || (rc = advance(c, start, area->start, pages, &area->end)) ||
        (rc = read_byte(c, &byte)))
        return rc;
    area->prot = byte & 7;
    area->shared = !!(byte & SNAPSHOT_AREA_SHARED);
    area->kind = (uint8_t)(byte >> SNAPSHOT_AREA_KIND_SHIFT);
    area->file = FASTMM_SNAPSHOT_NO_FILE;
    if (area->kind == FASTMM_SNAPSHOT_AREA_FILE || area->kind == FASTMM_SNAPSHOT_AREA_SHMEM)
        rc = read_backing(c, area);
    if (rc)
        return rc;
    enum fastmm_snapshot_reason reason = fastmm_snapshot_check_area(&c->state, area);
    return reason ? fastmm_snapshot_stop(c, start, reason) : 0;
}

/* What a number that steps forward or back from `expected` leads to; wraps are caught as values. */
static uint64_t step_from(uint64_t expected, uint64_t coded)
{
    uint64_t distance = coded >> 1;
    return coded & 1 ? expected - distance - 1 : expected + distance;
}

/*
 * One run of a group that counts up: twice the step, plus one when a length follows. 1 when there
 * was one, 0 at the end of the group, which is a step of zero: runs that continue are one run.
 */
static int read_counted(struct fastmm_snapshot_cursor *c, int first,
                        struct fastmm_snapshot_run *run)
{
    struct fastmm_snapshot_state *s = &c->state;
    uint64_t start = c->at, coded;
    int rc = read_number(c, &coded);
    if (rc)
        return rc;
    if (!first && coded == 0)
        return 0;
    uint64_t expected = run->kind == FASTMM_SNAPSHOT_RUN_SWAP ? s->next_offset : s->next_frame;
    run->value = step_from(expected, coded >> 1);
    run->pages = 1;
    if (coded & 1) {
        if ((rc = read_count(c, &run->pages)))
            return rc;
        if (++run->pages == 0)
            return fastmm_snapshot_stop(c, start, FASTMM_SNAPSHOT_BAD_NUMBER);
    }
    return 1;
}

static int read_value(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_run *run)
{
    int rc = read_count(c, &run->pages);
    if (!rc && run->kind == FASTMM_SNAPSHOT_RUN_MARKER)
        rc = read_number(c, &run->value);
    return rc ? rc : 1;
}

/* The head of a group, past any gap, into *run. 1, or 0 at the end of the area. */
static int open_group(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_run *run)
{
    struct fastmm_snapshot_state *s = &c->state;
    uint64_t start, type = 0, gap;
    unsigned byte;
    for (;;) {
        start = c->at;
        int rc = read_byte(c, &byte);
        if (rc)
            return rc;
        if (byte != SNAPSHOT_GROUP_GAP || c->skipped)
            break;
        if ((rc = read_count(c, &gap)) ||
            (rc = advance(c, start, s->next_page, gap, &s->next_page)))
            return rc;
        c->skipped = 1;
    }
    if (byte == SNAPSHOT_GROUP_END_OF_AREA && !c->skipped)
        return 0;
    run->kind = byte & SNAPSHOT_GROUP_KIND;
    run->flags = byte & (unsigned char)~SNAPSHOT_GROUP_KIND;
    if (run->kind < FASTMM_SNAPSHOT_RUN_ANON)
        return fastmm_snapshot_stop(c, start, FASTMM_SNAPSHOT_BAD_RUN);
    if (run->kind == FASTMM_SNAPSHOT_RUN_SWAP && fastmm_snapshot_counts_up(s, run->kind)) {
        int rc = read_number(c, &type);
        if (rc)
            return rc;
        if (type >= FASTMM_SWP_TYPE_MARKER)
            return fastmm_snapshot_stop(c, start, FASTMM_SNAPSHOT_BAD_SWAP);
    }
    run->swap_type = (uint8_t)type;
    return 1;
}

/* The next run as it is coded: 1, or 0 at the end of the area. */
static int decode_run(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_run *run)
{
    struct fastmm_snapshot_state *s = &c->state;
    memset(run, 0, sizeof(*run));
    if (c->in_group) {
        run->kind = s->last.kind;
        run->flags = s->last.flags;
        run->swap_type = s->last.swap_type;
        run->address = s->next_page;
        int rc = read_counted(c, 0, run);
        if (rc)
            return rc;
        c->in_group = 0;
    }
    int rc = open_group(c, run);
    if (rc <= 0)
        return rc;
    run->address = s->next_page;
    if (!fastmm_snapshot_counts_up(s, run->kind))
        return read_value(c, run);
    if (fastmm_snapshot_same_group(s, &s->last, run))
        return fastmm_snapshot_stop(c, c->at, FASTMM_SNAPSHOT_NOT_JOINED);
    return read_counted(c, 1, run);
}

static int read_run(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_run *run)
{
    struct fastmm_snapshot_state *s = &c->state;
    uint64_t start = c->at;
    int rc = decode_run(c, run);
    if (rc < 0)
        return rc;
    if (rc == 0) {
        c->in_area = 0;
        return 0;
    }
    enum fastmm_snapshot_reason reason = fastmm_snapshot_check_run(s, s->next_page, run);
    if (!reason && fastmm_snapshot_continues(s, &s->last, run))
        reason = FASTMM_SNAPSHOT_NOT_JOINED;
    if (reason)
        return fastmm_snapshot_stop(c, start, reason);
    fastmm_snapshot_take_run(s, run);
    c->skipped = 0;
    c->in_group = (uint8_t)fastmm_snapshot_counts_up(s, run->kind);
    return 1;
}

int fastmm_snapshot_next_run(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_run *run)
{
    struct fastmm_snapshot_run next;
    if (c->reason)
        return -EBADMSG;
    if (!c->in_area)
        return 0;
    int rc = read_run(c, &next);
    if (rc > 0)
        *run = next;
    return rc;
}

int fastmm_snapshot_next_area(struct fastmm_snapshot_cursor *c, struct fastmm_snapshot_area *area)
{
    struct fastmm_snapshot_run unread;
    struct fastmm_snapshot_area next;
    int rc;
    while ((rc = fastmm_snapshot_next_run(c, &unread)) > 0)
        ;
    if (rc < 0)
        return rc;
    if (c->at == c->body_end)
        return 0;
    if ((rc = read_area(c, &next)))
        return rc;
    fastmm_snapshot_take_area(&c->state, &next);
    c->in_area = 1;
    c->in_group = 0;
    c->skipped = 0;
    *area = next;
    return 1;
}
