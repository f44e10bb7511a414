/* SPDX-License-Identifier: MIT */
#include "smoke.h"

#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

enum outcome { RAN, SKIPPED, FAILED };

static enum outcome outcome_of(const struct instance *instance)
{
    return instance->failed ? FAILED : instance->skipped[0] ? SKIPPED : RAN;
}

/* `work` gets an instance that setup() has made, if it made one. */
static enum outcome step(const struct bench_case *spec, void (*work)(struct instance *))
{
    struct instance *instance = instance_open(spec);
    enum outcome outcome = outcome_of(instance);
    if (outcome == RAN)
        work(instance);
    else
        printf("%s: %s: %s\n", outcome == FAILED ? "FAILED" : "skipped", spec->name,
               instance->skipped);
    instance_close(instance);
    return outcome;
}

static void take_digest(struct instance *instance)
{
    instance->spec->digest(&instance->bench[0]);
}

static void run_once(struct instance *instance)
{
    instance_run(instance, 1);
}

int smoke_run(void)
{
    unsigned tally[3] = {0};
    for (size_t i = 0; i < cases_count(); i++) {
        const struct bench_case *spec = cases_get(i);
        enum outcome outcome = RAN;
        if (spec->digest)
            outcome = step(spec, take_digest);
        if (outcome == RAN)
            outcome = step(spec, run_once);
        tally[outcome]++;
    }
    printf("%u cases ran, %u skipped, %u failed\n", tally[RAN], tally[SKIPPED], tally[FAILED]);
    return tally[FAILED] ? EXIT_FAILURE : EXIT_SUCCESS;
}
