/* SPDX-License-Identifier: MIT */
/* What may be made up for the running kernel to carry out. */
#ifndef FASTMM_TOOLS_MM_PERMITTED_H
#define FASTMM_TOOLS_MM_PERMITTED_H

#include "mm/generate.h"

/* Leaves out what isn't permitted to this process, and says so. */
void generate_only_permitted(struct generate_setup *what);

#endif
