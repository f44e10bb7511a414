/* SPDX-License-Identifier: MIT */
/* Makes a trace that fails shorter, as long as it fails. */
#ifndef FASTMM_TOOLS_MM_SHRINK_H
#define FASTMM_TOOLS_MM_SHRINK_H

#include "mm/trace.h"

/*
 * Drops operations from *trace while fails(context, trace) holds, until none can be dropped any
 * more. Returns how often it asked.
 */
unsigned shrink_trace(struct trace *trace, bool (*fails)(void *context, const struct trace *trace),
                      void *context);

#endif
