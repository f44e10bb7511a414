/* SPDX-License-Identifier: MIT */
/* Where this program lies: what it needs lies beside it. */
#ifndef FASTMM_BENCH_PROGRAM_H
#define FASTMM_BENCH_PROGRAM_H

#include <stddef.h>

/* The directory; false when /proc doesn't tell. */
_Bool program_directory(char *out, size_t size);

#endif
