/* SPDX-License-Identifier: MIT */
/*
 * Check reports every single assertion to its parent process through a pipe, which takes a
 * microsecond; tests that hold a rule against millions of cases speak up only when it is broken.
 */
#ifndef FASTMM_TESTS_MM_HOLDS_H
#define FASTMM_TESTS_MM_HOLDS_H

#include "test_main.h"

#define HOLDS(condition)                                   \
    do {                                                   \
        if (!(condition))                                  \
            ck_abort_msg("does not hold: %s", #condition); \
    } while (0)

#define EQUAL(a, b)                                                                           \
    do {                                                                                      \
        unsigned long long left_ = (unsigned long long)(a), right_ = (unsigned long long)(b); \
        if (left_ != right_)                                                                  \
            ck_abort_msg("%s is 0x%llx, %s is 0x%llx", #a, left_, #b, right_);                \
    } while (0)

#endif
