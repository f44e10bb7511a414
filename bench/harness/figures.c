/* SPDX-License-Identifier: MIT */
#include "figures.h"

#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

static int run_and_print(const struct bench_case *spec)
{
    struct instance *instance = instance_open(spec);
    int failed = instance->failed;
    if (!failed && !instance->skipped[0])
        instance_run(instance, 1);
    for (unsigned i = 0; i < instance->counters; i++)
        printf("%s\t%s\t%.9g\n", spec->name, instance->counter[i].name, instance->counter[i].value);
    instance_close(instance);
    return failed;
}

int figures_run(void)
{
    int failed = 0;
    for (size_t i = 0; i < cases_count(); i++)
        if (cases_get(i)->figures)
            failed |= run_and_print(cases_get(i));
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
