/* SPDX-License-Identifier: MIT */
/* What the compiler makes of memcpy() when it knows the size. */
#define CONST_TABLE         copy_const_builtin
#define CONST_COPY(d, s, n) __builtin_memcpy(d, s, n)
#include "copy/const_loops.h"
