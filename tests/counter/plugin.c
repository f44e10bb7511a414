/* SPDX-License-Identifier: MIT */
/* An object that inlines the add and is unloaded while its caller lives on. */
#include <fastmm/counter.h>

__attribute__((visibility("default"))) void plugin_add(struct fastmm_counter *c);

void plugin_add(struct fastmm_counter *c)
{
    fastmm_counter_inc(c);
}
