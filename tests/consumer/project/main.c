/* SPDX-License-Identifier: MIT */
/* What a stranger's first program does: asks for the version and uses each part once. */
#include <fastmm.h>

#include <stdio.h>

static int check(int ok, const char *what)
{
    printf("%s: %s\n", what, ok ? "ok" : "WRONG");
    return ok ? 0 : 1;
}

static int version(void)
{
    unsigned built =
        FASTMM_VERSION_MAJOR * 10000 + FASTMM_VERSION_MINOR * 100 + FASTMM_VERSION_PATCH;
    return check(fastmm_version() == built, "version");
}

static int counter(void)
{
    static struct fastmm_counter hits = FASTMM_COUNTER_INIT;
    fastmm_counter_add(&hits, 5);
    int err = fastmm_counter_percpu(&hits);
    fastmm_counter_inc(&hits);
    fastmm_counter_sub_call(&hits, 2);
    int64_t sum = fastmm_counter_sum(&hits);
    return check(err == 0 && sum == 4 && fastmm_counter_destroy(&hits) == 0, "counter");
}

int main(void)
{
    return version() + counter();
}
