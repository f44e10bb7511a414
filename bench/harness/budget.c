/* SPDX-License-Identifier: MIT */
#include "budget.h"

struct budget_blocks budget_blocks(double ours, double rival, double target, double limit)
{
    double block = 2 * (ours + rival);
    double wanted = block > 0 ? target / block : (double)BUDGET_MAX_BLOCKS;
    struct budget_blocks plan = {.blocks = BUDGET_MIN_BLOCKS, .least = BUDGET_MIN_BLOCKS * block};
    if (wanted > BUDGET_MAX_BLOCKS)
        plan.blocks = BUDGET_MAX_BLOCKS;
    else if (wanted > BUDGET_MIN_BLOCKS)
        plan.blocks = (unsigned)wanted;
    plan.fits = plan.least <= limit;
    return plan;
}

unsigned long long budget_iterations(unsigned long long iterations, double ns, double wanted)
{
    double factor = ns > 0 ? 1.1 * wanted / ns : 16;
    if (factor > 16)
        factor = 16;
    unsigned long long next = (unsigned long long)((double)iterations * factor);
    return next > iterations ? next : iterations + 1;
}

double budget_share(double seconds_left, double weight, double weight_left)
{
    if (seconds_left <= 0 || weight_left <= 0)
        return 0;
    return weight >= weight_left ? seconds_left : seconds_left * weight / weight_left;
}
