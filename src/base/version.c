/* SPDX-License-Identifier: MIT */
/* The linked library's own version, which a caller holds against the macros it was compiled with.
 */
#include <fastmm/base.h>

unsigned fastmm_version(void)
{
    return FASTMM_VERSION_MAJOR * 10000u + FASTMM_VERSION_MINOR * 100u + FASTMM_VERSION_PATCH;
}
