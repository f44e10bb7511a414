/* SPDX-License-Identifier: MIT */
/* Streaming. */
#include <fastmm/copy.h>

#define RIVAL         copy_fastmm_stream
#define RIVAL_NAME    "fastmm"
#define COPY(d, s, n) fastmm_copy_stream(d, s, n)
#define CLEAR(d, n)   fastmm_clear_stream(d, n)
#include "copy/loops.h"
