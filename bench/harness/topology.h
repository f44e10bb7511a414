/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs the threads of a benchmark run on. hwloc says which CPUs share a core; where hwloc is
 * missing or fails, the process's affinity mask and sysfs do. No mask here has a fixed size:
 * machines with more than 1024 CPUs exist.
 */
#ifndef FASTMM_BENCH_TOPOLOGY_H
#define FASTMM_BENCH_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct topology {
    unsigned count;
    int *cpus; /* in the order in which threads are placed: one CPU of each core first */
    unsigned cores;
    const char *source;  /* "hwloc" or "sysfs" */
    bool of_this_system; /* false for a synthetic topology: nothing can be bound to it */
};

/*
 * The CPUs that this process may run on. The first core comes last, because it serves most of the
 * interrupts. Binds nothing. Returns 0 or a negative errno; frees nothing on success.
 */
int topology_load(struct topology *out);
void topology_free(struct topology *topology);

/* Binds the calling thread. Returns 0 or a negative errno. */
int topology_bind(int cpu);

/*
 * The affinity mask as a list of CPU numbers in rising order, which the caller frees.
 * `get_affinity` is sched_getaffinity()'s contract (0, or -1 with errno) and a seam for tests; the
 * mask grows until it is accepted.
 */
int topology_allowed(int (*get_affinity)(size_t bytes, unsigned long *mask), int **cpus,
                     unsigned *count);
/* The kernel's own. */
int topology_get_affinity(size_t bytes, unsigned long *mask);

#ifdef __cplusplus
}
#endif

#endif
