/* SPDX-License-Identifier: MIT */
/* fastmm-bench-copy: copy and clear against the C library and others. */
#include "copy/cases.h"
#include "harness/bench.h"

static void add_cases(void)
{
    copy_add_const();
    copy_add_fixed();
    copy_add_alias();
    copy_add_random();
    copy_add_huge();
    copy_add_code();
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "copy", add_cases);
}
