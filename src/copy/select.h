/* SPDX-License-Identifier: MIT */
/* The choice in force, as the calls read it. */
#ifndef FASTMM_SRC_COPY_SELECT_H
#define FASTMM_SRC_COPY_SELECT_H

#include "copy/impl.h"

/*
 * What a call needs. Below `*_plain_end` bytes the route is `vector` whatever the addresses are.
 * For the first `*_straight` sizes from FASTMM_STRAIGHT_MIN on, that is done by straight.h.
 */
struct fastmm_copy_fast {
    uint64_t copy_straight;
    uint64_t fill_straight;
    uint64_t copy_plain_end;
    uint64_t fill_plain_end;
    struct fastmm_copy_ops vector;
};

struct fastmm_copy_choice {
    struct fastmm_copy_fast fast;
    struct fastmm_copy_plan plan;
};

/*
 * A copy of what is in force, at a fixed address to spare each call two loads. Until the CPU has
 * been looked at, no size is below its ends, so that every call beyond the inline sizes comes to
 * ask. Read each field atomically.
 */
extern struct fastmm_copy_fast fastmm_copy_fast __attribute__((visibility("hidden")));

/* The choice in force, made if need be. Its fields are read atomically. */
const struct fastmm_copy_choice *fastmm_copy_choice_made(void);

#endif
