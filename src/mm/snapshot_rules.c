/* SPDX-License-Identifier: MIT */
/*
 * The rules of a snapshot, asked by the reader of what it decoded and by the writer of what it is
 * given. They hold for one area or run at a time plus a little state, so no memory is needed
 * however large the address space is.
 */
#include "snapshot_codec.h"

#include <string.h>

uint32_t fastmm_snapshot_checksum(const unsigned char *data, uint64_t size)
{
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 4; bit++)
            value = (value >> 1) ^ (value & 1 ? 0xedb88320u : 0);
        table[i] = value;
    }
    uint32_t crc = ~0u;
    for (uint64_t i = 0; i < size; i++) {
        crc ^= data[i];
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return ~crc;
}

uint64_t fastmm_snapshot_get_le(const unsigned char *data, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)data[i] << (8 * i);
    return value;
}

void fastmm_snapshot_put_le(unsigned char *data, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        data[i] = (unsigned char)(value >> (8 * i));
}

void fastmm_snapshot_state_init(struct fastmm_snapshot_state *state, uint32_t seen, uint32_t levels)
{
    memset(state, 0, sizeof(*state));
    state->seen = seen;
    state->levels = levels;
}

static int same_key(const struct fastmm_snapshot_run *last, const struct fastmm_snapshot_run *run)
{
    return last->pages && fastmm_snapshot_run_end(last) == run->address &&
           last->kind == run->kind && last->flags == run->flags &&
           last->swap_type == run->swap_type;
}

int fastmm_snapshot_same_group(const struct fastmm_snapshot_state *state,
                               const struct fastmm_snapshot_run *last,
                               const struct fastmm_snapshot_run *run)
{
    return same_key(last, run) && fastmm_snapshot_counts_up(state, run->kind);
}

int fastmm_snapshot_continues(const struct fastmm_snapshot_state *state,
                              const struct fastmm_snapshot_run *last,
                              const struct fastmm_snapshot_run *run)
{
    uint64_t step = fastmm_snapshot_counts_up(state, run->kind) ? last->pages : 0;
    return same_key(last, run) && last->value + step == run->value;
}

/* What each kind of area may have. */
static const struct {
    uint8_t has_file;
    uint8_t may_be_shared;
    uint8_t holds_file_pages;
} area_rules[FASTMM_SNAPSHOT_AREA_KINDS] = {
    [FASTMM_SNAPSHOT_AREA_ANON] = {0, 0, 0},  [FASTMM_SNAPSHOT_AREA_FILE] = {1, 1, 1},
    [FASTMM_SNAPSHOT_AREA_SHMEM] = {1, 1, 1}, [FASTMM_SNAPSHOT_AREA_STACK] = {0, 0, 0},
    [FASTMM_SNAPSHOT_AREA_HEAP] = {0, 0, 0},  [FASTMM_SNAPSHOT_AREA_VDSO] = {0, 1, 1},
    [FASTMM_SNAPSHOT_AREA_VVAR] = {0, 1, 1},  [FASTMM_SNAPSHOT_AREA_SPECIAL] = {0, 1, 1},
};

static int area_file_is_valid(const struct fastmm_snapshot_state *state,
                              const struct fastmm_snapshot_area *area)
{
    uint64_t pages = (area->end - area->start) >> FASTMM_PAGE_SHIFT;
    if (!area_rules[area->kind].has_file)
        return area->file == FASTMM_SNAPSHOT_NO_FILE && area->offset == 0;
    return area->file != FASTMM_SNAPSHOT_NO_FILE && area->file <= state->files &&
           area->offset <= SNAPSHOT_FILE_PAGES && pages <= SNAPSHOT_FILE_PAGES - area->offset;
}

enum fastmm_snapshot_reason fastmm_snapshot_check_area(const struct fastmm_snapshot_state *state,
                                                       const struct fastmm_snapshot_area *area)
{
    if (area->kind >= FASTMM_SNAPSHOT_AREA_KINDS || area->prot > 7 || area->shared > 1)
        return FASTMM_SNAPSHOT_BAD_AREA;
    if (area->shared && !area_rules[area->kind].may_be_shared)
        return FASTMM_SNAPSHOT_BAD_AREA;
    if ((area->start | area->end) & (uint64_t)(FASTMM_PAGE_SIZE - 1))
        return FASTMM_SNAPSHOT_UNALIGNED;
    if (area->start > fastmm_snapshot_limit(state) || area->end > fastmm_snapshot_limit(state))
        return FASTMM_SNAPSHOT_NON_CANONICAL;
    if (area->start >= area->end)
        return FASTMM_SNAPSHOT_EMPTY_AREA;
    if (area->start < state->area.end)
        return FASTMM_SNAPSHOT_OVERLAP;
    if (!area_file_is_valid(state, area))
        return FASTMM_SNAPSHOT_BAD_FILE;
    return FASTMM_SNAPSHOT_OK;
}

#define WP_AND_DIRTY (FASTMM_SNAPSHOT_UFFD_WP | FASTMM_SNAPSHOT_SOFT_DIRTY)

/* What each kind of run may have; `limit` bounds value + pages, for markers the value. */
static const struct {
    uint8_t flags;
    uint8_t swap_types;
    uint64_t limit;
} run_rules[SNAPSHOT_GROUP_KIND + 1] = {
    [FASTMM_SNAPSHOT_RUN_ANON] = {WP_AND_DIRTY | FASTMM_SNAPSHOT_EXCLUSIVE | FASTMM_SNAPSHOT_PMD, 1,
                                  FASTMM_PFN_LIMIT},
    [FASTMM_SNAPSHOT_RUN_FILE] = {WP_AND_DIRTY | FASTMM_SNAPSHOT_EXCLUSIVE | FASTMM_SNAPSHOT_PMD, 1,
                                  FASTMM_PFN_LIMIT},
    [FASTMM_SNAPSHOT_RUN_ZERO] = {WP_AND_DIRTY | FASTMM_SNAPSHOT_PMD, 1, 0},
    [FASTMM_SNAPSHOT_RUN_SWAP] = {WP_AND_DIRTY, FASTMM_SWP_TYPE_MARKER, FASTMM_SWP_OFFSET_MAX + 1},
    [FASTMM_SNAPSHOT_RUN_MARKER] = {FASTMM_SNAPSHOT_SOFT_DIRTY, 1, FASTMM_MARKER_ALL},
};

static int run_flags_are_valid(const struct fastmm_snapshot_state *state,
                               const struct fastmm_snapshot_run *run)
{
    if (run->kind < FASTMM_SNAPSHOT_RUN_ANON || run->kind > FASTMM_SNAPSHOT_RUN_MARKER)
        return 0;
    if (run->flags & ~run_rules[run->kind].flags)
        return 0;
    if (run->kind == FASTMM_SNAPSHOT_RUN_ZERO && !(state->seen & FASTMM_SNAPSHOT_ZERO))
        return 0;
    return !(run->flags & FASTMM_SNAPSHOT_PMD) || (state->seen & FASTMM_SNAPSHOT_HUGE);
}

/* Where the value counts up: fits at its first and its last page. */
static enum fastmm_snapshot_reason check_counted(const struct fastmm_snapshot_run *run)
{
    uint64_t limit = run_rules[run->kind].limit;
    int fits = run->value <= limit && run->pages <= limit - run->value;
    if (run->kind == FASTMM_SNAPSHOT_RUN_SWAP)
        return fits ? FASTMM_SNAPSHOT_OK : FASTMM_SNAPSHOT_BAD_SWAP;
    if (run->flags & FASTMM_SNAPSHOT_PMD && run->value % FASTMM_PTES)
        fits = 0;
    return fits ? FASTMM_SNAPSHOT_OK : FASTMM_SNAPSHOT_BAD_FRAME;
}

static enum fastmm_snapshot_reason check_value(const struct fastmm_snapshot_state *state,
                                               const struct fastmm_snapshot_run *run)
{
    if (fastmm_snapshot_counts_up(state, run->kind))
        return check_counted(run);
    if (run->kind == FASTMM_SNAPSHOT_RUN_MARKER) {
        int valid = run->value && run->value <= run_rules[run->kind].limit;
        return valid ? FASTMM_SNAPSHOT_OK : FASTMM_SNAPSHOT_BAD_RUN;
    }
    if (run->swap_type)
        return FASTMM_SNAPSHOT_BAD_SWAP;
    return run->value ? FASTMM_SNAPSHOT_BAD_FRAME : FASTMM_SNAPSHOT_OK;
}

static int backing_fits(const struct fastmm_snapshot_area *area, unsigned kind)
{
    if (kind == FASTMM_SNAPSHOT_RUN_FILE)
        return area_rules[area->kind].holds_file_pages;
    if (kind == FASTMM_SNAPSHOT_RUN_ANON || kind == FASTMM_SNAPSHOT_RUN_ZERO)
        return !area->shared;
    return 1;
}

enum fastmm_snapshot_reason fastmm_snapshot_check_run(const struct fastmm_snapshot_state *state,
                                                      uint64_t from,
                                                      const struct fastmm_snapshot_run *run)
{
    uint64_t end = state->area.end;
    if (!run_flags_are_valid(state, run))
        return FASTMM_SNAPSHOT_BAD_RUN;
    if (run->swap_type >= run_rules[run->kind].swap_types)
        return FASTMM_SNAPSHOT_BAD_SWAP;
    if (run->address & (uint64_t)(FASTMM_PAGE_SIZE - 1))
        return FASTMM_SNAPSHOT_UNALIGNED;
    if (run->address < from)
        return FASTMM_SNAPSHOT_OVERLAP;
    if (run->pages == 0)
        return FASTMM_SNAPSHOT_EMPTY_RUN;
    if (run->address >= end || run->pages > (end - run->address) >> FASTMM_PAGE_SHIFT)
        return FASTMM_SNAPSHOT_RUN_BEYOND_AREA;
    if ((run->flags & FASTMM_SNAPSHOT_PMD) &&
        ((run->address >> FASTMM_PAGE_SHIFT) | run->pages) % FASTMM_PTES)
        return FASTMM_SNAPSHOT_UNALIGNED;
    if (!backing_fits(&state->area, run->kind))
        return FASTMM_SNAPSHOT_WRONG_BACKING;
    return check_value(state, run);
}

/*
 * Numbers are handed out with gaps of one, or of less than 512 before a 2 MiB frame; a file that
 * claims more is made to exhaust whoever builds it.
 */
enum fastmm_snapshot_reason fastmm_snapshot_check_frames(const struct fastmm_snapshot_state *state)
{
    uint64_t most = state->framed_pages + state->runs * FASTMM_PTES;
    return state->frames > most ? FASTMM_SNAPSHOT_BAD_FRAME : FASTMM_SNAPSHOT_OK;
}

void fastmm_snapshot_take_area(struct fastmm_snapshot_state *state,
                               const struct fastmm_snapshot_area *area)
{
    if (area->file == state->files)
        state->files++;
    state->areas++;
    state->area = *area;
    state->next_page = area->start;
    state->last.pages = 0;
}

void fastmm_snapshot_take_run(struct fastmm_snapshot_state *state,
                              const struct fastmm_snapshot_run *run)
{
    uint64_t next = run->value + run->pages;
    if (run->kind == FASTMM_SNAPSHOT_RUN_SWAP) {
        state->next_offset = next;
    } else if (fastmm_snapshot_counts_up(state, run->kind)) {
        state->next_frame = next;
        state->framed_pages += run->pages;
        if (next > state->frames)
            state->frames = next;
    }
    state->runs++;
    state->next_page = fastmm_snapshot_run_end(run);
    state->last = *run;
}
