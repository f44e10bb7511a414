/* SPDX-License-Identifier: MIT */
/* Everything. Each header below can also be included alone. */
#ifndef FASTMM_H
#define FASTMM_H

#include <fastmm/base.h>
#include <fastmm/bounded.h>
#include <fastmm/copy.h>
#include <fastmm/counter.h>
#include <fastmm/cpu.h>
#include <fastmm/mm.h>
#include <fastmm/mm_inline.h>
#include <fastmm/pte.h>
#include <fastmm/quota.h>
#include <fastmm/snapshot.h>
#include <fastmm/swp.h>
#include <fastmm/walk.h>

#endif
