/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a snapshot. As they are they hardly ever get past the magic, so they are also taken
 * for a body: a header with right totals and a checksum are put around it. What is then accepted
 * must be written back byte for byte.
 */
#include "mm/snapshot_codec.h"
#include "mm/snapshot_recode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_sound(const unsigned char *data, size_t size,
                          struct fastmm_snapshot_error *error)
{
    static unsigned char out[LONGEST + 64];
    struct fastmm_snapshot_cursor c;
    int rc = fastmm_snapshot_open(data, size, NULL, error, &c);
    if (rc) {
        if (error->reason == FASTMM_SNAPSHOT_OK || error->reason >= FASTMM_SNAPSHOT_REASONS)
            abort();
        return;
    }
    const char *wrong = snapshot_recode(data, size, out);
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
}

/* The totals of a body, or 0 if it can't be read to its end. */
static int count(const unsigned char *data, size_t end, uint32_t seen, uint32_t levels,
                 struct fastmm_snapshot_state *totals)
{
    struct fastmm_snapshot_cursor c;
    struct fastmm_snapshot_area area;
    int more;
    memset(&c, 0, sizeof(c));
    c.data = data;
    c.at = SNAPSHOT_HEADER_SIZE;
    c.body_end = end;
    fastmm_snapshot_state_init(&c.state, seen, levels);
    while ((more = fastmm_snapshot_next_area(&c, &area)) > 0)
        ;
    *totals = c.state;
    return more == 0;
}

static void as_body(const uint8_t *data, size_t size)
{
    static unsigned char whole[LONGEST + 64];
    struct fastmm_snapshot_state totals;
    struct fastmm_snapshot_error error = {0};
    uint32_t seen = data[0] & 7, levels = data[0] & 8 ? 5 : 4;
    size_t body = size - 1, end = SNAPSHOT_HEADER_SIZE + body;
    memset(whole, 0, SNAPSHOT_HEADER_SIZE);
    memcpy(whole, SNAPSHOT_MAGIC, sizeof(SNAPSHOT_MAGIC) - 1);
    whole[SNAPSHOT_AT_VERSION] = FASTMM_SNAPSHOT_VERSION;
    whole[SNAPSHOT_AT_LEVELS] = (unsigned char)levels;
    whole[SNAPSHOT_AT_SEEN] = (unsigned char)seen;
    fastmm_snapshot_put_le(whole + SNAPSHOT_AT_BODY_SIZE, 8, body);
    memcpy(whole + SNAPSHOT_HEADER_SIZE, data + 1, body);
    int readable = count(whole, end, seen, levels, &totals);
    fastmm_snapshot_put_le(whole + SNAPSHOT_AT_AREAS, 8, totals.areas);
    fastmm_snapshot_put_le(whole + SNAPSHOT_AT_RUNS, 8, totals.runs);
    fastmm_snapshot_put_le(whole + SNAPSHOT_AT_FRAMES, 8, totals.frames);
    fastmm_snapshot_put_le(whole + end, 4, fastmm_snapshot_checksum(whole, end));
    require_sound(whole, end + SNAPSHOT_CHECKSUM_SIZE, &error);
    /* With right totals nothing but frames too sparse may be found that reading didn't find. */
    if (readable != (error.reason == FASTMM_SNAPSHOT_OK || error.offset == SNAPSHOT_AT_FRAMES))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fastmm_snapshot_error error = {0};
    if (size > LONGEST)
        return 0;
    require_sound(data, size, &error);
    if (size)
        as_body(data, size);
    return 0;
}
