/* SPDX-License-Identifier: MIT */
/* The masked variant, inlined. */
#include <fastmm/copy.h>

#define RIVAL         copy_fastmm_masked
#define RIVAL_NAME    "fastmm"
#define COPY(d, s, n) fastmm_copy_masked(d, s, n)
#include "copy/loops.h"
