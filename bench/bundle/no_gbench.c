/* SPDX-License-Identifier: MIT */
/* Google Benchmark isn't in the bundle: the distributions have no library of it to link in. */
#include "gbench.h"

#include <stdio.h>

int gbench_run(int argc, char **argv)
{
    (void)argc;
    fprintf(stderr,
            "%s: Google Benchmark's own front end is not in the bundle; ./run-bench measures\n",
            argv[0]);
    return 2;
}
