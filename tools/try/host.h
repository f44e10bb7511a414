/* SPDX-License-Identifier: MIT */
/* Choosing what the simulated machine runs on. */
#ifndef FASTMM_TOOLS_TRY_HOST_H
#define FASTMM_TOOLS_TRY_HOST_H

#include "seam.h"

/* The user's primitives, where there are such, or the library's for NULL. */
void host_use(const struct fastmm_try *user);

#endif
