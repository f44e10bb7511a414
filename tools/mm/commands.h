/* SPDX-License-Identifier: MIT */
/* The subcommands of `fastmm mm`. */
#ifndef FASTMM_TOOLS_MM_COMMANDS_H
#define FASTMM_TOOLS_MM_COMMANDS_H

#include "mm/run.h"

int mm_run(int argc, char **argv);
int mm_fuzz(int argc, char **argv);
int mm_make(int argc, char **argv);

/* Takes "--on WORLD" or "--build NAME". False if it isn't one of them, or the value makes no sense.
 */
bool mm_take_setup(struct run_setup *setup, const char *name, const char *value);

/* Ends the output. The exit status: the verdict, or RUN_BROKE where stdout couldn't be written. */
int mm_finish(enum run_verdict verdict);

#endif
