/* SPDX-License-Identifier: MIT */
/*
 * Writes a snapshot into the caller's buffer. The last run is held back until it is known that the
 * next one doesn't continue it; each step is composed in a small buffer first, so that one that
 * doesn't fit leaves no trace.
 */
#include "snapshot_codec.h"

#include <errno.h>
#include <string.h>

/* One step, and the state after it. */
struct step {
    struct fastmm_snapshot_state state;
    unsigned size;
    unsigned char bytes[2 * SNAPSHOT_RUN_BYTES];
};

static void put_byte(struct step *step, unsigned byte)
{
    step->bytes[step->size++] = (unsigned char)byte;
}

static void put_number(struct step *step, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        put_byte(step, (unsigned)(number & 0x7f) | 0x80);
    put_byte(step, (unsigned)number);
}

static uint64_t step_code(uint64_t expected, uint64_t value)
{
    return value >= expected ? (value - expected) << 1 : ((expected - value - 1) << 1) | 1;
}

static int in_group(const struct fastmm_snapshot_state *s)
{
    return s->last.pages && fastmm_snapshot_counts_up(s, s->last.kind);
}

static void put_counted(struct step *step, const struct fastmm_snapshot_run *run)
{
    const struct fastmm_snapshot_state *s = &step->state;
    uint64_t expected = run->kind == FASTMM_SNAPSHOT_RUN_SWAP ? s->next_offset : s->next_frame;
    uint64_t code = step_code(expected, run->value);
    put_number(step, code << 1 | (run->pages > 1));
    if (run->pages > 1)
        put_number(step, run->pages - 2);
}

static void put_group_head(struct step *step, const struct fastmm_snapshot_run *run)
{
    const struct fastmm_snapshot_state *s = &step->state;
    if (in_group(s))
        put_number(step, 0);
    if (run->address > s->next_page) {
        put_byte(step, SNAPSHOT_GROUP_GAP);
        put_number(step, ((run->address - s->next_page) >> FASTMM_PAGE_SHIFT) - 1);
    }
    put_byte(step, run->kind | run->flags);
    if (run->kind == FASTMM_SNAPSHOT_RUN_SWAP && fastmm_snapshot_counts_up(s, run->kind))
        put_number(step, run->swap_type);
}

static void put_run(struct step *step, const struct fastmm_snapshot_run *run)
{
    struct fastmm_snapshot_state *s = &step->state;
    if (!fastmm_snapshot_same_group(s, &s->last, run))
        put_group_head(step, run);
    if (fastmm_snapshot_counts_up(s, run->kind)) {
        put_counted(step, run);
    } else {
        put_number(step, run->pages - 1);
        if (run->kind == FASTMM_SNAPSHOT_RUN_MARKER)
            put_number(step, run->value);
    }
    fastmm_snapshot_take_run(s, run);
}

static void put_area(struct step *step, const struct fastmm_snapshot_area *area)
{
    struct fastmm_snapshot_state *s = &step->state;
    put_number(step, (area->start - s->area.end) >> FASTMM_PAGE_SHIFT);
    put_number(step, ((area->end - area->start) >> FASTMM_PAGE_SHIFT) - 1);
    put_byte(step, area->prot | (area->shared ? SNAPSHOT_AREA_SHARED : 0) |
                       (unsigned)area->kind << SNAPSHOT_AREA_KIND_SHIFT);
    if (area->file != FASTMM_SNAPSHOT_NO_FILE) {
        put_number(step, area->file);
        put_number(step, area->offset);
    }
    fastmm_snapshot_take_area(s, area);
}

static void begin_step(const struct fastmm_snapshot_writer *w, struct step *step)
{
    step->state = w->state;
    step->size = 0;
}

static void put_pending(const struct fastmm_snapshot_writer *w, struct step *step)
{
    if (w->pending.pages)
        put_run(step, &w->pending);
}

/* Ends the area: its last run, its last group, itself. */
static void put_end_of_area(const struct fastmm_snapshot_writer *w, struct step *step)
{
    if (!step->state.areas)
        return;
    put_pending(w, step);
    if (in_group(&step->state))
        put_number(step, 0);
    put_byte(step, SNAPSHOT_GROUP_END_OF_AREA);
}

/* The checksum's room is kept free throughout. */
static int commit(struct fastmm_snapshot_writer *w, const struct step *step)
{
    if (step->size + SNAPSHOT_CHECKSUM_SIZE > w->capacity - w->at)
        return -ENOSPC;
    memcpy(w->data + w->at, step->bytes, step->size);
    w->at += step->size;
    w->state = step->state;
    w->pending.pages = 0;
    return 0;
}

static int refuse(enum fastmm_snapshot_reason why, enum fastmm_snapshot_reason *reason)
{
    if (reason)
        *reason = why;
    return -EINVAL;
}

int fastmm_snapshot_begin(void *data, size_t capacity, uint32_t seen, uint32_t levels,
                          struct fastmm_snapshot_writer *writer)
{
    if (!data || !writer || seen >= FASTMM_SNAPSHOT_HUGE << 1 || (levels != 4 && levels != 5))
        return -EINVAL;
    if (capacity < SNAPSHOT_HEADER_SIZE + SNAPSHOT_CHECKSUM_SIZE)
        return -ENOSPC;
    memset(writer, 0, sizeof(*writer));
    writer->data = data;
    writer->capacity = capacity;
    writer->at = SNAPSHOT_HEADER_SIZE;
    fastmm_snapshot_state_init(&writer->state, seen, levels);
    return 0;
}

int fastmm_snapshot_add_area(struct fastmm_snapshot_writer *w,
                             const struct fastmm_snapshot_area *area,
                             enum fastmm_snapshot_reason *reason)
{
    struct step step;
    if (!w->data)
        return refuse(FASTMM_SNAPSHOT_BAD_AREA, reason);
    enum fastmm_snapshot_reason why = fastmm_snapshot_check_area(&w->state, area);
    if (why)
        return refuse(why, reason);
    begin_step(w, &step);
    put_end_of_area(w, &step);
    put_area(&step, area);
    return commit(w, &step);
}

int fastmm_snapshot_add_run(struct fastmm_snapshot_writer *w, const struct fastmm_snapshot_run *run,
                            enum fastmm_snapshot_reason *reason)
{
    struct step step;
    struct fastmm_snapshot_run *pending = &w->pending;
    if (!w->data || !w->state.areas)
        return refuse(FASTMM_SNAPSHOT_RUN_BEYOND_AREA, reason);
    uint64_t from = pending->pages ? fastmm_snapshot_run_end(pending) : w->state.next_page;
    enum fastmm_snapshot_reason why = fastmm_snapshot_check_run(&w->state, from, run);
    if (why)
        return refuse(why, reason);
    if (fastmm_snapshot_continues(&w->state, pending, run)) {
        pending->pages += run->pages;
        return 0;
    }
    begin_step(w, &step);
    put_pending(w, &step);
    int rc = commit(w, &step);
    if (!rc)
        *pending = *run;
    return rc;
}

static void put_header(unsigned char *data, const struct fastmm_snapshot_state *s, uint64_t body)
{
    memset(data, 0, SNAPSHOT_HEADER_SIZE);
    memcpy(data, SNAPSHOT_MAGIC, sizeof(SNAPSHOT_MAGIC) - 1);
    fastmm_snapshot_put_le(data + SNAPSHOT_AT_VERSION, 2, FASTMM_SNAPSHOT_VERSION);
    data[SNAPSHOT_AT_LEVELS] = (unsigned char)s->levels;
    data[SNAPSHOT_AT_SEEN] = (unsigned char)s->seen;
    fastmm_snapshot_put_le(data + SNAPSHOT_AT_AREAS, 8, s->areas);
    fastmm_snapshot_put_le(data + SNAPSHOT_AT_RUNS, 8, s->runs);
    fastmm_snapshot_put_le(data + SNAPSHOT_AT_FRAMES, 8, s->frames);
    fastmm_snapshot_put_le(data + SNAPSHOT_AT_BODY_SIZE, 8, body);
}

int fastmm_snapshot_finish(struct fastmm_snapshot_writer *w, size_t *size)
{
    struct step step;
    if (!w->data)
        return -EINVAL;
    begin_step(w, &step);
    put_end_of_area(w, &step);
    if (fastmm_snapshot_check_frames(&step.state))
        return -EINVAL;
    int rc = commit(w, &step);
    if (rc)
        return rc;
    put_header(w->data, &w->state, w->at - SNAPSHOT_HEADER_SIZE);
    fastmm_snapshot_put_le(w->data + w->at, SNAPSHOT_CHECKSUM_SIZE,
                           fastmm_snapshot_checksum(w->data, w->at));
    *size = w->at + SNAPSHOT_CHECKSUM_SIZE;
    w->data = NULL;
    return 0;
}
