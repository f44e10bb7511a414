/* SPDX-License-Identifier: MIT */
/* One half of a program that holds the single file twice, under two prefixes. */
#include "fastmm.h"

#if FASTMM_HAVE_COUNTER
static struct fastmm_counter counter = FASTMM_COUNTER_INIT;
#endif

int HALF(int amount);

/* How much this half counted in its own copy, in per-CPU mode. */
int HALF(int amount)
{
    unsigned char in[5000], out[5000];
    if (fastmm_counter_percpu(&counter) != 0)
        return -1;
    fastmm_counter_add(&counter, amount);
    fastmm_fill(in, amount, sizeof(in));
    fastmm_copy(out, in, sizeof(out));
    if (out[0] != (unsigned char)amount || out[4999] != out[0])
        return -1;
    return (int)fastmm_counter_sum(&counter) + (fastmm_counter_held() == 0);
}

#ifdef WITH_MAIN_IN_one
int one(int amount);
int two(int amount);
#    include <pthread.h>

static void *nothing(void *unused)
{
    return unused;
}

int main(void)
{
    pthread_t other; /* so that adds are not the plain ones of a single thread */
    if (pthread_create(&other, NULL, nothing, NULL) != 0 || pthread_join(other, NULL) != 0)
        return 1;
    if (one(3) != 3 || two(5) != 5 || one(4) != 7 || two(0) != 5)
        return 1;
    return 0;
}
#endif
