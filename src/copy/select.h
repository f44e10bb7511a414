/* SPDX-License-Identifier: MIT */
/* The choice in force, as the calls read it. */
#ifndef FASTMM_SRC_COPY_SELECT_H
#define FASTMM_SRC_COPY_SELECT_H

#include "copy/impl.h"

/*
 * What a call needs, in the order of need. Below `*_plain_end` bytes the route is `vector` whatever
 * the addresses are. Until the CPU has been looked at, those are 0, so that every call beyond the
 * inline sizes comes to ask.
 */
struct fastmm_copy_choice {
    uint64_t copy_plain_end;
    uint64_t fill_plain_end;
    const struct fastmm_copy_ops *vector;
    struct fastmm_copy_plan plan;
};

extern const struct fastmm_copy_choice *fastmm_copy_choice;

/* The choice in force, whether made or not. Its fields are read atomically. */
static inline const struct fastmm_copy_choice *fastmm_copy_choice_now(void)
{
    return __atomic_load_n(&fastmm_copy_choice, __ATOMIC_ACQUIRE);
}

/* The choice in force, made if need be. */
const struct fastmm_copy_choice *fastmm_copy_choice_made(void);

#endif
