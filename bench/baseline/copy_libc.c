/* SPDX-License-Identifier: MIT */
/* What everybody calls: memcpy() and memset() of the C library, at sizes known at run time. */
#include <string.h>

#define RIVAL                copy_libc
#define RIVAL_NAME           "libc"
#define COPY(d, s, n)        memcpy(d, s, n)
#define CLEAR(d, n)          memset(d, 0, n)
#define CLEAR_HOT(d, n, hot) memset(d, 0, n)
#include "copy/loops.h"
