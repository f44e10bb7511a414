/* SPDX-License-Identifier: MIT */
/* The library's calls, inlined into a caller compiled for the baseline. */
#include <fastmm/copy.h>

#define RIVAL                copy_fastmm
#define RIVAL_NAME           "fastmm"
#define COPY(d, s, n)        fastmm_copy(d, s, n)
#define CLEAR(d, n)          fastmm_clear(d, n)
#define CLEAR_HOT(d, n, hot) fastmm_clear_huge(d, n, hot)
#include "copy/loops.h"
