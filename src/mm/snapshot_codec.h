/* SPDX-License-Identifier: MIT */
/*
 * What the reader and the writer of snapshots share: the constants of the format, its numbers and
 * its checksum, and above all one set of rules. A snapshot that the writer makes is one that the
 * reader accepts because both ask the same functions. docs/snapshot-format.md describes the bytes.
 */
#ifndef FASTMM_MM_SNAPSHOT_CODEC_H
#define FASTMM_MM_SNAPSHOT_CODEC_H

#include <fastmm/snapshot.h>
#include <fastmm/swp.h>

_Static_assert(FASTMM_SNAPSHOT_SWAP_TYPES == FASTMM_SWP_TYPE_MARKER, "one public name each");

#define SNAPSHOT_FILE_PAGES ((uint64_t)1 << 51) /* the largest file offset is 2^63 bytes */

#define SNAPSHOT_MAGIC \
    "\x89"             \
    "FMMS\r\n\x1a"
#define SNAPSHOT_HEADER_SIZE   48
#define SNAPSHOT_CHECKSUM_SIZE 4
#define SNAPSHOT_NUMBER_SIZE   10 /* the longest */

/* Offsets in the header. */
enum {
    SNAPSHOT_AT_MAGIC = 0,
    SNAPSHOT_AT_VERSION = 8,
    SNAPSHOT_AT_LEVELS = 10,
    SNAPSHOT_AT_SEEN = 11,
    SNAPSHOT_AT_RESERVED = 12,
    SNAPSHOT_AT_AREAS = 16,
    SNAPSHOT_AT_RUNS = 24,
    SNAPSHOT_AT_FRAMES = 32,
    SNAPSHOT_AT_BODY_SIZE = 40
};

/* The first byte of a group: a run kind with flags, or one of these. */
#define SNAPSHOT_GROUP_END_OF_AREA 0u
#define SNAPSHOT_GROUP_GAP         1u
#define SNAPSHOT_GROUP_KIND        0x07u

/* The byte of an area: protection, sharing, kind. */
#define SNAPSHOT_AREA_SHARED     0x08u
#define SNAPSHOT_AREA_KIND_SHIFT 4

/* CRC-32 of IEEE 802.3, as in zip and PNG. */
uint32_t fastmm_snapshot_checksum(const unsigned char *data, uint64_t size);

/* Little-endian numbers of `bytes` bytes, whatever this machine is. */
uint64_t fastmm_snapshot_get_le(const unsigned char *data, unsigned bytes);
void fastmm_snapshot_put_le(unsigned char *data, unsigned bytes, uint64_t value);

/* The longest group that one run can open: end of the last group, gap, head, type, two numbers. */
#define SNAPSHOT_RUN_BYTES (1 + 1 + SNAPSHOT_NUMBER_SIZE + 1 + 3 * SNAPSHOT_NUMBER_SIZE)

void fastmm_snapshot_state_init(struct fastmm_snapshot_state *state, uint32_t seen,
                                uint32_t levels);

/* The first address that no area may cover. */
static inline uint64_t fastmm_snapshot_limit(const struct fastmm_snapshot_state *state)
{
    return fastmm_va_user_end(state->levels);
}

static inline uint64_t fastmm_snapshot_run_end(const struct fastmm_snapshot_run *run)
{
    return run->address + (run->pages << FASTMM_PAGE_SHIFT);
}

/* Do entries of this kind count up, so that they are coded as groups of (value, length)? */
static inline int fastmm_snapshot_counts_up(const struct fastmm_snapshot_state *state,
                                            unsigned kind)
{
    return (state->seen & FASTMM_SNAPSHOT_FRAMES) &&
           (kind == FASTMM_SNAPSHOT_RUN_ANON || kind == FASTMM_SNAPSHOT_RUN_FILE ||
            kind == FASTMM_SNAPSHOT_RUN_SWAP);
}

/* Is `run`, which begins where `last` ends, coded in the group of `last`? */
int fastmm_snapshot_same_group(const struct fastmm_snapshot_state *state,
                               const struct fastmm_snapshot_run *last,
                               const struct fastmm_snapshot_run *run);

/* Are the two one run? */
int fastmm_snapshot_continues(const struct fastmm_snapshot_state *state,
                              const struct fastmm_snapshot_run *last,
                              const struct fastmm_snapshot_run *run);

/* The rules. FASTMM_SNAPSHOT_OK or what is wrong; `from` is where the next run may begin. */
enum fastmm_snapshot_reason fastmm_snapshot_check_area(const struct fastmm_snapshot_state *state,
                                                       const struct fastmm_snapshot_area *area);
enum fastmm_snapshot_reason fastmm_snapshot_check_run(const struct fastmm_snapshot_state *state,
                                                      uint64_t from,
                                                      const struct fastmm_snapshot_run *run);
enum fastmm_snapshot_reason fastmm_snapshot_check_frames(const struct fastmm_snapshot_state *state);

/* Takes in what was checked. */
void fastmm_snapshot_take_area(struct fastmm_snapshot_state *state,
                               const struct fastmm_snapshot_area *area);
void fastmm_snapshot_take_run(struct fastmm_snapshot_state *state,
                              const struct fastmm_snapshot_run *run);

/* Stops the cursor for good: -EBADMSG. */
int fastmm_snapshot_stop(struct fastmm_snapshot_cursor *cursor, uint64_t at,
                         enum fastmm_snapshot_reason reason);

#endif
