/* SPDX-License-Identifier: MIT */
/*
 * What surrounds the library here: restartable sequences as the kernel and libc have them, the
 * counters' choice, and libc's own thresholds for copies.
 */
#include "info.h"
#include "tool.h"

#include <fastmm/counter.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

#ifdef __GLIBC__
#    include <gnu/libc-version.h>
#endif

/* linux/auxvec.h, since 6.3; libc headers are often older than the kernel. */
#ifndef AT_RSEQ_FEATURE_SIZE
#    define AT_RSEQ_FEATURE_SIZE 27
#endif

/* libc's (2.35 and later): 0 when it registered nothing. */
extern const unsigned int __rseq_size __attribute__((weak));

/* What libc's dynamic loader tells about copies; values as it prints them. */
static struct tunable {
    const char *name;
    char value[32];
} tunables[] = {
    {"glibc.cpu.x86_rep_movsb_threshold", ""},
    {"glibc.cpu.x86_rep_stosb_threshold", ""},
    {"glibc.cpu.x86_non_temporal_threshold", ""},
    {"glibc.cpu.x86_data_cache_size", ""},
    {"glibc.cpu.x86_shared_cache_size", ""},
    {"glibc.cpu.hwcaps", ""},
    {"glibc.pthread.rseq", ""},
};

#define TUNABLE_COUNT (sizeof(tunables) / sizeof(tunables[0]))

static const char *const mechanism_names[] = {"undecided", "rseq, concurrency ids", "rseq, CPU ids",
                                              "shards by thread"};

/* Lines look like "glibc.cpu.x86_rep_movsb_threshold: 0x800 (min: 0x100, max: 0xff)". */
static void read_tunables(void)
{
#if defined(__x86_64__) && defined(__GLIBC__)
    FILE *list = popen("/lib64/ld-linux-x86-64.so.2 --list-tunables 2>/dev/null", "r");
    char line[256];
    while (list && fgets(line, sizeof(line), list)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = '\0';
        for (size_t i = 0; i < TUNABLE_COUNT; i++)
            if (strcmp(line, tunables[i].name) == 0)
                snprintf(tunables[i].value, sizeof(tunables[i].value), "%.*s",
                         (int)strcspn(colon + 2, " \n"), colon + 2);
    }
    if (list)
        pclose(list);
#endif
}

/* What the first switch of a counter would choose. */
static struct fastmm_counter_mechanism mechanism(void)
{
    struct fastmm_counter_mechanism m;
    fastmm_counter_use_mechanism(FASTMM_COUNTER_UNDECIDED);
    fastmm_counter_get_mechanism(&m);
    return m;
}

static const char *libc_version(void)
{
#ifdef __GLIBC__
    return gnu_get_libc_version();
#else
    return NULL;
#endif
}

static unsigned libc_rseq_size(void)
{
    return &__rseq_size ? __rseq_size : 0;
}

void info_system_text(void)
{
    struct utsname kernel;
    struct fastmm_counter_mechanism m = mechanism();
    unsigned long feature_size = getauxval(AT_RSEQ_FEATURE_SIZE);

    uname(&kernel);
    printf("\n%-*s%s %s\n", INFO_INDENT, "Kernel", kernel.sysname, kernel.release);
    if (feature_size)
        printf("  %-14s%lu bytes of features\n", "rseq", feature_size);
    else
        printf("  %-14sfeature size not told (a kernel before 6.3, or an emulator)\n", "rseq");
    if (libc_rseq_size())
        printf("  %-14slibc registered %u bytes for each thread\n", "", libc_rseq_size());
    else
        printf("  %-14slibc registered nothing\n", "");
    printf("\n%-*s%s: %s\n", INFO_INDENT, "Counters", mechanism_names[m.kind], m.reason);

    const char *libc = libc_version();
    printf("\n%-*s%s %s\n", INFO_INDENT, "C library", libc ? "glibc" : "not glibc",
           libc ? libc : "");
    read_tunables();
    for (size_t i = 0; i < TUNABLE_COUNT; i++)
        if (tunables[i].value[0]) {
            struct tool_size size;
            bool is_size =
                strstr(tunables[i].name, "threshold") || strstr(tunables[i].name, "size");
            printf("  %-38s%s\n", tunables[i].name,
                   is_size ? tool_size(&size, strtoull(tunables[i].value, NULL, 0))
                           : tunables[i].value);
        }
}

void info_system_json(struct json *json)
{
    struct utsname kernel;
    struct fastmm_counter_mechanism m = mechanism();

    uname(&kernel);
    json_object(json, "kernel");
    json_string(json, "name", kernel.sysname);
    json_string(json, "release", kernel.release);
    json_uint(json, "rseq_feature_size", getauxval(AT_RSEQ_FEATURE_SIZE));
    json_object_end(json);

    json_object(json, "counter");
    json_string(json, "mechanism", mechanism_names[m.kind]);
    json_string(json, "reason", m.reason);
    json_uint(json, "slots", m.slots);
    json_object_end(json);

    json_object(json, "libc");
    json_string(json, "glibc", libc_version());
    json_uint(json, "rseq_registered_size", libc_rseq_size());
    json_object(json, "tunables");
    read_tunables();
    for (size_t i = 0; i < TUNABLE_COUNT; i++)
        if (tunables[i].value[0])
            json_string(json, tunables[i].name, tunables[i].value);
    json_object_end(json);
    json_object_end(json);
}
