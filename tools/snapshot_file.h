/* SPDX-License-Identifier: MIT */
/* Snapshot files: whole in memory on the way in, all or nothing on the way out. */
#ifndef FASTMM_TOOLS_SNAPSHOT_FILE_H
#define FASTMM_TOOLS_SNAPSHOT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads a regular file of at most 1 GiB into memory from malloc(). 0, or a negative errno: -EFBIG
 * for a longer one, -EINVAL for what isn't a regular file.
 */
int snapshot_file_read(const char *path, unsigned char **data, size_t *size);

/*
 * Writes a file. -EEXIST if there is one, unless `replace`: then it is replaced at the end, in one
 * step, and only if it is a regular file (-EINVAL). On failure what was there is as it was.
 */
int snapshot_file_write(const char *path, const unsigned char *data, size_t size, bool replace);

#endif
