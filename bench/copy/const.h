/* SPDX-License-Identifier: MIT */
/* Constant sizes, where the compiler expands memcpy() by itself: the built-in is the honest rival.
 */
#ifndef FASTMM_BENCH_COPY_CONST_H
#define FASTMM_BENCH_COPY_CONST_H

#include "copy/rival.h"

/* clang-format off */
#define COPY_CONST_SIZES(X) \
    X(1) X(2) X(3) X(4) X(7) X(8) X(12) X(16) X(24) X(31) X(32) X(33) X(48) X(63) X(64) X(65) \
    X(96) X(127) X(128)
/* clang-format on */

#define COPY_CONST_ONE(n) +1
#define COPY_CONST_COUNT  (0 COPY_CONST_SIZES(COPY_CONST_ONE))

struct copy_const {
    int64_t size;
    copy_loop *loop;
};

extern const struct copy_const copy_const_fastmm[COPY_CONST_COUNT];
extern const struct copy_const copy_const_builtin[COPY_CONST_COUNT];

#endif
