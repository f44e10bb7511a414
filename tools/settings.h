/* SPDX-License-Identifier: MIT */
/*
 * The settings file of copy and clear: what `fastmm tune -o` writes and what programs that read
 * files hand to fastmm_copy_configure(). Lines:
 *
 *   # a comment
 *   copy_rep_min = 2 MiB
 *   copy_stream_min = never
 *   disable = avx512f fsrm
 *   implementation = avx2
 *
 * A size is a number with an optional unit (B, KiB, MiB, GiB), or "never". What is missing keeps
 * its default. Anything else is refused.
 */
#ifndef FASTMM_TOOLS_SETTINGS_H
#define FASTMM_TOOLS_SETTINGS_H

#include "tool.h"

#include <fastmm/copy.h>
#include <stdio.h>

/*
 * 0, or -1 with *error naming file and line, and *out unchanged. Whether the values make sense on a
 * CPU is for fastmm_copy_plan_for() or fastmm_copy_configure() to say.
 */
int settings_parse(const char *file, const char *bytes, size_t size,
                   struct fastmm_copy_settings *out, struct tool_error *error);
int settings_read(const char *path, struct fastmm_copy_settings *out, struct tool_error *error);

/* Writes what isn't the default, in the form above. */
void settings_write(const struct fastmm_copy_settings *settings, FILE *out);

#endif
