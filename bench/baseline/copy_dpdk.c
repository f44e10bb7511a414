/* SPDX-License-Identifier: MIT */
/* rte_memcpy() of DPDK, from its headers as the distribution installs them. */
#include <fastmm/cpu.h>

#include <rte_memcpy.h>

#define RIVAL         copy_dpdk
#define RIVAL_NAME    "dpdk"
#define RIVAL_NEEDS   ((uint64_t)1 << FASTMM_CPU_AVX512VL)
#define COPY(d, s, n) rte_memcpy(d, s, n)
#include "copy/loops.h"
