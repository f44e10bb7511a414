/* SPDX-License-Identifier: MIT */
#include "layout_redis.h"

/* Made from bench/data/redis.snapshot during the build. */
extern const unsigned char redis_snapshot[];
extern const size_t redis_snapshot_size;

/* Nothing here takes a new page; the recorded frames must begin at a multiple of 512. */
#define SPARE_FRAMES 1024

static int swap_on(struct fastmm_machine *machine, const struct fastmm_snapshot_summary *sum)
{
    int rc = 0;
    for (unsigned type = 0; type < FASTMM_SNAPSHOT_SWAP_TYPES && !rc; type++)
        if (sum->swap_slots[type])
            rc = fastmm_machine_swap_on(machine, type, sum->swap_slots[type]);
    return rc;
}

int layout_redis(enum fastmm_mm_impl build, struct fastmm_machine **machine, struct fastmm_mm **mm,
                 struct fastmm_snapshot_summary *summary)
{
    struct fastmm_snapshot_summary sum;
    struct fastmm_snapshot_cursor cursor;
    struct fastmm_machine *made;
    int rc = fastmm_snapshot_open(redis_snapshot, redis_snapshot_size, &sum, NULL, &cursor);
    if (rc)
        return rc;
    struct fastmm_machine_config config = {.frames =
                                               fastmm_snapshot_frames_needed(&sum) + SPARE_FRAMES,
                                           .levels = sum.levels,
                                           .impl = build};
    rc = fastmm_machine_create(&config, &made);
    if (rc)
        return rc;
    rc = swap_on(made, &sum);
    if (!rc)
        rc = fastmm_snapshot_load(redis_snapshot, redis_snapshot_size, made, NULL, mm);
    if (rc) {
        fastmm_machine_destroy(made);
        return rc;
    }
    *machine = made;
    if (summary)
        *summary = sum;
    return 0;
}
