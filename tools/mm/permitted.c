/* SPDX-License-Identifier: MIT */
#include "mm/permitted.h"

#include "mm/world.h"

#include <stdio.h>

static bool leaves_out(bool permitted, const char *what)
{
    if (!permitted)
        printf("not tried, since it isn't permitted: %s\n", what);
    return !permitted;
}

void generate_only_permitted(struct generate_setup *what)
{
    what->no_swap = generate_swaps(what) && leaves_out(world_kernel_swaps(), "swap");
    what->no_pins = leaves_out(world_kernel_pins(), "pins");
    what->no_fork_events = leaves_out(world_kernel_hears_forks(), "events of forks");
}
