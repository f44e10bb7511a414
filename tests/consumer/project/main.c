/* SPDX-License-Identifier: MIT */
#include <fastmm.h>

#include <stdio.h>

int main(void)
{
    unsigned built =
        FASTMM_VERSION_MAJOR * 10000 + FASTMM_VERSION_MINOR * 100 + FASTMM_VERSION_PATCH;
    printf("built against %u, running with %u\n", built, fastmm_version());
    return fastmm_version() == built ? 0 : 1;
}
