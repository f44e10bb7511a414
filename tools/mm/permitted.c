/* SPDX-License-Identifier: MIT */
#include "mm/permitted.h"

#include "mm/world.h"

#include <stdio.h>

void generate_only_permitted(struct generate_setup *what)
{
    what->no_swap = generate_swaps(what) && !world_kernel_swaps();
    what->no_fork_events = !world_kernel_hears_forks();
    if (what->no_swap)
        printf("not tried, since it isn't permitted: swap\n");
    if (what->no_fork_events)
        printf("not tried, since it isn't permitted: events of forks\n");
}
