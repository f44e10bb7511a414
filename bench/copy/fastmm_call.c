/* SPDX-License-Identifier: MIT */
/* The exported twins. */
#include <fastmm/copy.h>

#define RIVAL         copy_fastmm_call
#define RIVAL_NAME    "fastmm"
#define COPY(d, s, n) fastmm_copy_call(d, s, n)
#define CLEAR(d, n)   fastmm_clear_call(d, n)
#include "copy/loops.h"
