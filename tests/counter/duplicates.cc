/* SPDX-License-Identifier: MIT */
/*
 * Sections of a dropped duplicate that stayed behind would name code that is gone: the link fails,
 * or a sequence is aborted into another one's handler.
 */
#include "duplicates.h"

#include <pthread.h>
#include <stdio.h>

static everything all;

static void *hammer(void *)
{
    for (int round = 0; round < 100; round++) {
        count_often<1000>(all);
        count_in_the_other_unit(all);
    }
    return nullptr;
}

int main()
{
    const int64_t counts = 4 * 100 * 2001;
    pthread_t threads[4];
    fastmm_counter_group_percpu(&all.group.group);
    fastmm_counter_bounded_percpu(&all.bounded);
    fastmm_quota_percpu(&all.quota);
    for (pthread_t &thread : threads)
        if (pthread_create(&thread, nullptr, hammer, nullptr) != 0)
            return 1;
    for (pthread_t &thread : threads)
        pthread_join(thread, nullptr);
    int64_t sum = fastmm_counter_group_sum(&all.group.group, 0);
    int64_t twice = fastmm_counter_group_sum(&all.group.group, 1);
    int64_t bounded = fastmm_counter_bounded_sum(&all.bounded);
    int64_t used = fastmm_quota_used(&all.quota);
    printf("%lld %lld %lld %lld\n", (long long)sum, (long long)twice, (long long)bounded,
           (long long)used);
    return sum == counts && twice == -2 * counts && bounded == counts && used == counts ? 0 : 1;
}
