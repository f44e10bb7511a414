/* SPDX-License-Identifier: MIT */
/* What gets timed, each behind the same kind of call. */
#ifndef FASTMM_TOOLS_TUNE_OPS_H
#define FASTMM_TOOLS_TUNE_OPS_H

#include "measure.h"

#include <stdbool.h>

/* The string instructions alone; false from tune_has_rep() where there are none. */
bool tune_has_rep(void);
void tune_rep_copy(void *dst, const void *src, size_t n);
void tune_rep_clear(void *dst, const void *src, size_t n);

void tune_libc_copy(void *dst, const void *src, size_t n);
void tune_libc_clear(void *dst, const void *src, size_t n);

/* The library's, through whatever plan is in force. */
void tune_own_copy(void *dst, const void *src, size_t n);
void tune_own_clear(void *dst, const void *src, size_t n);
void tune_stream_copy(void *dst, const void *src, size_t n);
void tune_stream_clear(void *dst, const void *src, size_t n);

/* One masked 64-byte store to dst, or load from src, of the first n bytes; needs AVX-512 BW. */
bool tune_has_masks(void);
void tune_masked_store(void *dst, const void *src, size_t n);
void tune_masked_load(void *dst, const void *src, size_t n);

#endif
