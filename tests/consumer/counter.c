/* SPDX-License-Identifier: MIT */
/* A program that took the counter's sources only. */
#include <fastmm/counter.h>

int main(void)
{
    struct fastmm_counter hits = FASTMM_COUNTER_INIT;
    if (fastmm_counter_percpu(&hits))
        return 1;
    fastmm_counter_add(&hits, 3);
    return fastmm_counter_sum(&hits) == 3 && fastmm_counter_destroy(&hits) == 0 ? 0 : 1;
}
