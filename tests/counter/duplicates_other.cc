/* SPDX-License-Identifier: MIT */
#include "duplicates.h"

void count_in_the_other_unit(everything &all)
{
    count_often<1000>(all);
    count(all);
}
