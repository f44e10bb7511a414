/* SPDX-License-Identifier: MIT */
/* The library's copy at sizes that the compiler knows, and the cases that set it against the
 * built-in. */
#include <fastmm/copy.h>

#define CONST_TABLE         copy_const_fastmm
#define CONST_COPY(d, s, n) fastmm_copy(d, s, n)
#include "copy/const_loops.h"

#include "copy/cases.h"
#include "copy/setup.h"

static void add(const char *implementation, const struct copy_const *table)
{
    for (size_t i = 0; i < COPY_CONST_COUNT; i++) {
        struct bench_case c = copy_case(&copy_fastmm, table[i].size, 2048, table[i].loop);
        bench_add(&c, "copy/const/%s/size:%d", implementation, (int)table[i].size);
    }
}

void copy_add_const(void)
{
    add("fastmm", copy_const_fastmm);
    add("builtin", copy_const_builtin);
}
