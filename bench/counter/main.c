/* SPDX-License-Identifier: MIT */
#include "counter/cases.h"

#include <errno.h>

_Thread_local struct fastmm_counter_area simulated_area;

static struct {
    struct machine machine;
    unsigned users;
} simulated;

int machine_begin(const struct machine *wanted)
{
    if (simulated.users > 0) {
        const struct machine *now = &simulated.machine;
        if (now->rows != wanted->rows || now->by_number != wanted->by_number ||
            now->no_rseq != wanted->no_rseq)
            return -EBUSY;
        simulated.users++;
        return 0;
    }
    fastmm_counter_trim();
    struct fastmm_counter_seam seam = {.rows = wanted->rows,
                                       .area = wanted->by_number ? &simulated_area : NULL,
                                       .no_rseq = wanted->no_rseq};
    int error = fastmm_counter_seam_set(&seam);
    if (error)
        return error;
    simulated.machine = *wanted;
    simulated.users = 1;
    return 0;
}

void machine_end(void)
{
    static const struct fastmm_counter_seam real;
    if (--simulated.users > 0)
        return;
    fastmm_counter_trim();
    fastmm_counter_seam_set(&real);
}

int have_percpu(void)
{
    return fastmm_counter_decide() != FASTMM_COUNTER_THREAD_SHARDS;
}

static void add_all_cases(void)
{
    add_cases_of_add();
    add_cases_of_group();
    add_cases_of_padding();
    add_cases_of_sum();
    add_cases_of_bounded();
    add_cases_of_quota();
    add_cases_of_figures();
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "counter", add_all_cases);
}
