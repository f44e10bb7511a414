/* SPDX-License-Identifier: MIT */
/* Holding two views of the same moment against each other, and showing them side by side. */
#ifndef FASTMM_TOOLS_MM_COMPARE_H
#define FASTMM_TOOLS_MM_COMPARE_H

#include "mm/world.h"

/* Worlds to compare and what both of them see. */
struct comparison {
    const struct world *world[2];
    const struct world_view *view[2];
    unsigned channels;
};

struct difference {
    unsigned process;
    char text[200];
};

/* Puts the name of each frame, which is equal in every world, in place of its number. */
void compare_name_frames(const struct world *world, struct world_view *view);

/* True, and the first difference, if there is any. */
bool compare_views(const struct comparison *c, struct difference *difference);

/* The entries of that process in both worlds, those that differ marked. */
void compare_print(FILE *out, const struct comparison *c, unsigned process);

/* The entries of one world. */
void compare_print_one(FILE *out, const struct world *world, const struct world_view *view,
                       unsigned process);

#endif
