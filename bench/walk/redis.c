/* SPDX-License-Identifier: MIT */
#include "redis.h"

#include <fastmm/snapshot.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BYTES (16u << 20)

static int read_file(void **data, size_t *size)
{
    const char *path = getenv("FASTMM_BENCH_REDIS");
    FILE *file = fopen(path ? path : FASTMM_BENCH_REDIS, "rb");
    if (!file)
        return -errno;
    *data = malloc(MAX_BYTES);
    *size = *data ? fread(*data, 1, MAX_BYTES, file) : 0;
    fclose(file);
    return *size ? 0 : -EIO;
}

static int load(const void *data, size_t size, struct fastmm_machine **machine,
                struct fastmm_mm **mm)
{
    struct fastmm_snapshot_summary summary;
    struct fastmm_snapshot_cursor cursor;
    int rc = fastmm_snapshot_open(data, size, &summary, NULL, &cursor);
    if (rc)
        return rc;
    const struct fastmm_machine_config config = {.frames = fastmm_snapshot_frames_needed(&summary) +
                                                           1024};
    rc = fastmm_machine_create(&config, machine);
    return rc ? rc : fastmm_snapshot_load(data, size, *machine, NULL, mm);
}

int redis_load(struct fastmm_machine **machine, struct fastmm_mm **mm)
{
    void *data = NULL;
    size_t size = 0;
    int rc = read_file(&data, &size);
    if (!rc)
        rc = load(data, size, machine, mm);
    free(data);
    return rc;
}
