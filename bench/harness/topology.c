/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "topology.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef FASTMM_BENCH_HWLOC
#    include <hwloc.h>
#endif

/* One CPU and its place in its core. */
struct place {
    int cpu;
    int core;
    unsigned rank; /* how many CPUs of the core come before it */
};

int topology_get_affinity(size_t bytes, unsigned long *mask)
{
    return sched_getaffinity(0, bytes, (cpu_set_t *)(void *)mask);
}

int topology_allowed(int (*get_affinity)(size_t, unsigned long *), int **cpus, unsigned *count)
{
    enum { WORD = CHAR_BIT * sizeof(unsigned long) };
    /* The kernel refuses a mask smaller than its own with EINVAL; 2^20 bits is far beyond any. */
    for (size_t words = 1024 / WORD; words <= (1u << 20) / WORD; words *= 2) {
        unsigned long *mask = calloc(words, sizeof(*mask));
        int *list = malloc(words * WORD * sizeof(*list));
        int status = mask && list ? 0 : -ENOMEM;
        if (!status && get_affinity(words * sizeof(*mask), mask) != 0)
            status = -errno;
        unsigned n = 0;
        for (size_t cpu = 0; !status && cpu < words * WORD; cpu++)
            if (mask[cpu / WORD] >> cpu % WORD & 1)
                list[n++] = (int)cpu;
        free(mask);
        if (!status) {
            *cpus = list;
            *count = n;
            return 0;
        }
        free(list);
        if (status != -EINVAL)
            return status;
    }
    return -EINVAL;
}

#ifdef FASTMM_BENCH_HWLOC
static bool listed(const int *cpus, unsigned count, int cpu)
{
    for (unsigned i = 0; i < count; i++)
        if (cpus[i] == cpu)
            return true;
    return false;
}

static int read_hwloc(hwloc_topology_t hwloc, struct place **out, unsigned *count,
                      bool *of_this_system)
{
    if (hwloc_topology_load(hwloc) != 0)
        return -EIO;
    int pus = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_PU);
    if (pus <= 0)
        return -EIO;
    *of_this_system = hwloc_topology_is_thissystem(hwloc);
    int *allowed = NULL;
    unsigned allowed_count = 0;
    if (*of_this_system) {
        int status = topology_allowed(topology_get_affinity, &allowed, &allowed_count);
        if (status)
            return status;
    }
    *out = calloc((size_t)pus, sizeof(**out));
    *count = 0;
    for (int i = 0; *out && i < pus; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_PU, (unsigned)i);
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(hwloc, HWLOC_OBJ_CORE, pu);
        int cpu = (int)pu->os_index;
        if (!*of_this_system || listed(allowed, allowed_count, cpu))
            (*out)[(*count)++] = (struct place){cpu, core ? (int)core->logical_index : i, 0};
    }
    free(allowed);
    return *out ? 0 : -ENOMEM;
}

static int places_of_hwloc(struct place **out, unsigned *count, bool *of_this_system)
{
    hwloc_topology_t hwloc;
    if (hwloc_topology_init(&hwloc) != 0)
        return -EIO;
    int status = read_hwloc(hwloc, out, count, of_this_system);
    hwloc_topology_destroy(hwloc);
    return status;
}
#endif

/* The lowest CPU of the core names the core; a CPU that sysfs doesn't know is one of its own. */
static int core_of_sysfs(int cpu)
{
    char path[96];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    FILE *file = fopen(path, "re");
    if (!file)
        return cpu;
    int first;
    if (fscanf(file, "%d", &first) != 1)
        first = cpu;
    fclose(file);
    return first;
}

static int places_of_sysfs(struct place **out, unsigned *count)
{
    int *cpus;
    int status = topology_allowed(topology_get_affinity, &cpus, count);
    if (status)
        return status;
    *out = calloc(*count, sizeof(**out));
    for (unsigned i = 0; *out && i < *count; i++)
        (*out)[i] = (struct place){cpus[i], core_of_sysfs(cpus[i]), 0};
    free(cpus);
    return *out ? 0 : -ENOMEM;
}

static int by_core(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->core != y->core ? (x->core > y->core) - (x->core < y->core)
                              : (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int by_rank(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : by_core(a, b);
}

/* Sorts the places into the order in which threads get them; returns how many cores there are. */
static unsigned order_places(struct place *places, unsigned count)
{
    unsigned cores = 0;
    qsort(places, count, sizeof(*places), by_core);
    for (unsigned i = 0; i < count; i++) {
        bool same = i && places[i].core == places[i - 1].core;
        places[i].rank = same ? places[i - 1].rank + 1 : 0;
        cores += !same;
    }
    qsort(places, count, sizeof(*places), by_rank);
    if (cores > 1) {
        struct place first = places[0];
        memmove(places, places + 1, (cores - 1) * sizeof(*places));
        places[cores - 1] = first;
    }
    return cores;
}

int topology_load(struct topology *out)
{
    struct place *places = NULL;
    struct topology t = {.source = "sysfs", .of_this_system = true};
    int status = -ENOSYS;
#ifdef FASTMM_BENCH_HWLOC
    status = places_of_hwloc(&places, &t.count, &t.of_this_system);
    if (!status && t.count)
        t.source = "hwloc";
#endif
    if (status || !t.count) {
        free(places);
        places = NULL;
        t.of_this_system = true;
        status = places_of_sysfs(&places, &t.count);
    }
    if (!status && !(t.cpus = malloc(t.count * sizeof(*t.cpus))))
        status = -ENOMEM;
    if (!status) {
        t.cores = order_places(places, t.count);
        for (unsigned i = 0; i < t.count; i++)
            t.cpus[i] = places[i].cpu;
        *out = t;
    }
    free(places);
    return status;
}

void topology_free(struct topology *topology)
{
    free(topology->cpus);
    topology->cpus = NULL;
    topology->count = 0;
}

int topology_bind(int cpu)
{
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    if (!set)
        return -ENOMEM;
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S((size_t)cpu, bytes, set);
    int status = sched_setaffinity(0, bytes, set) == 0 ? 0 : -errno;
    CPU_FREE(set);
    return status;
}
