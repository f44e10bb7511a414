/* SPDX-License-Identifier: MIT */
/* The subcommands of `fastmm mm`. */
#ifndef FASTMM_TOOLS_MM_COMMANDS_H
#define FASTMM_TOOLS_MM_COMMANDS_H

#include "mm/run.h"

int mm_run(int argc, char **argv);
int mm_fuzz(int argc, char **argv);

/* RUN_ON_* of "model", "kernel" or "both"; 0 for anything else. */
unsigned mm_world_named(const char *name);

#endif
