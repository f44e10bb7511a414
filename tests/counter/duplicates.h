/* SPDX-License-Identifier: MIT */
/* Inline functions that each unit has a copy of, until the linker keeps one. */
#ifndef FASTMM_TESTS_COUNTER_DUPLICATES_H
#define FASTMM_TESTS_COUNTER_DUPLICATES_H

#include <fastmm/bounded.h>
#include <fastmm/quota.h>

struct everything {
    fastmm_counter_group2 group = FASTMM_COUNTER_GROUP_INIT(2);
    fastmm_counter_bounded bounded = FASTMM_COUNTER_BOUNDED_INIT(32);
    fastmm_quota quota = FASTMM_QUOTA_INIT(1 << 20, 16);
};

inline void count(everything &all)
{
    fastmm_counter_group_inc(&all.group.group, 0);
    fastmm_counter_group_sub(&all.group.group, 1, 2);
    fastmm_counter_bounded_inc(&all.bounded);
    if (fastmm_quota_add(&all.quota, 3))
        fastmm_quota_return(&all.quota, 2);
}

template <int times> void count_often(everything &all)
{
    for (int k = 0; k < times; k++)
        count(all);
}

void count_in_the_other_unit(everything &all);

#endif
