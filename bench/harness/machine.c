/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "machine.h"

#include "libc_copy.h"
#include "topology.h"

#include <ctype.h>
#include <dirent.h>
#include <fastmm/base.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#    include <gnu/libc-version.h>
#endif

enum { VALUE = 2048 };

static void add_warning(struct machine *machine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_warning(struct machine *machine, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text;
    if (machine->warnings < MACHINE_WARNINGS && vasprintf(&text, format, args) >= 0)
        machine->warning[machine->warnings++] = text;
    va_end(args);
}

/* The first line of a file; false when it can't be read. */
static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(out, (int)size, file);
    if (file)
        fclose(file);
    if (read)
        out[strcspn(out, "\n")] = '\0';
    return read;
}

/* The first value of a key in /proc/cpuinfo or /proc/meminfo. */
static bool read_key(const char *path, const char *key, char *out, size_t size)
{
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) >= 0) {
        char *colon = strchr(line, ':');
        size_t length = strlen(key);
        if (!colon || strncmp(line, key, length) != 0 || !strchr("\t :", line[length]))
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        found = true;
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

static bool cpuinfo(const char *key, char *out, size_t size)
{
    return read_key("/proc/cpuinfo", key, out, size);
}

static void append(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char *out, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, VALUE - used, format, args);
    va_end(args);
}

static void cpu(char *out)
{
    if (!cpuinfo("model name", out, VALUE))
        cpuinfo("CPU part", out, VALUE);
}

static void cpu_model(char *out)
{
    char family[32] = "?", model[32] = "?", stepping[32] = "?";
    if (!cpuinfo("cpu family", family, sizeof(family)))
        return;
    cpuinfo("model", model, sizeof(model));
    cpuinfo("stepping", stepping, sizeof(stepping));
    append(out, "family %s, model %s, stepping %s", family, model, stepping);
}

static bool has_flag(const char *flag)
{
    char flags[8192], *rest = flags, *word;
    if (!cpuinfo("flags", flags, sizeof(flags)) && !cpuinfo("Features", flags, sizeof(flags)))
        return false;
    while ((word = strsep(&rest, " ")))
        if (strcmp(word, flag) == 0)
            return true;
    return false;
}

static void cpu_flags(char *out)
{
    static const char *const wanted[] = {"sse2", "avx2", "avx512f", "erms", "fsrm",      "fzrm",
                                         "fsrs", "fsrc", "asimd",   "mops", "hypervisor"};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (has_flag(wanted[i]))
            append(out, "%s%s", *out ? " " : "", wanted[i]);
}

static void caches(char *out)
{
    for (int i = 0; i < 16; i++) {
        char path[96], level[16], type[32], size[32];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!read_line(path, level, sizeof(level)))
            return;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!read_line(path, type, sizeof(type)))
            return;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!read_line(path, size, sizeof(size)))
            return;
        append(out, "%sL%s%s %s", *out ? ", " : "", level,
               *type == 'U'   ? ""
               : *type == 'D' ? "d"
                              : "i",
               size);
    }
}

static void numa_nodes(char *out)
{
    DIR *nodes = opendir("/sys/devices/system/node");
    int count = 0;
    for (struct dirent *entry; nodes && (entry = readdir(nodes));)
        count += strncmp(entry->d_name, "node", 4) == 0 && isdigit((unsigned char)entry->d_name[4]);
    if (nodes)
        closedir(nodes);
    if (count)
        append(out, "%d", count);
}

static void memory(char *out)
{
    read_key("/proc/meminfo", "MemTotal", out, VALUE);
}

static void kernel(char *out)
{
    struct utsname name;
    if (uname(&name) == 0)
        append(out, "%s %s %s", name.sysname, name.release, name.machine);
}

static void libc(char *out)
{
#ifdef __GLIBC__
    append(out, "glibc %s", gnu_get_libc_version());
#endif
}

static void compiler(char *out)
{
#ifdef __clang__
    append(out, "%s", __VERSION__);
#else
    append(out, "gcc %s", __VERSION__);
#endif
    append(out, ", %s", FASTMM_BENCH_FLAGS);
}

static void governor(char *out)
{
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", out, VALUE);
}

/* "always [madvise] never" is shown as it is: the one in brackets is in force. */
static void huge_pages(char *out)
{
    read_line("/sys/kernel/mm/transparent_hugepage/enabled", out, VALUE);
}

static void smt(char *out)
{
    char active[8];
    if (read_line("/sys/devices/system/cpu/smt/active", active, sizeof(active)))
        append(out, "%s", *active == '1' ? "on" : "off");
}

static void mitigations(char *out)
{
    struct dirent **entries;
    int count = scandir("/sys/devices/system/cpu/vulnerabilities", &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[512], state[512];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/vulnerabilities/%s",
                 entries[i]->d_name);
        if (*entries[i]->d_name != '.' && read_line(path, state, sizeof(state)) &&
            strncmp(state, "Not affected", strlen("Not affected")) != 0)
            append(out, "%s%s: %s", *out ? "; " : "", entries[i]->d_name, state);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (count > 0 && !*out)
        append(out, "none needed");
}

static void aslr(char *out)
{
    char value[8];
    if (read_line("/proc/sys/kernel/randomize_va_space", value, sizeof(value)))
        append(out, "%s",
               *value == '0'                                 ? "off"
               : personality(0xffffffff) & ADDR_NO_RANDOMIZE ? "off for this program"
                                                             : "on");
}

static void load_average(char *out)
{
    double load;
    if (getloadavg(&load, 1) == 1)
        append(out, "%.2f", load);
}

static void date(char *out)
{
    time_t now = time(NULL);
    struct tm utc;
    size_t used = strlen(out);
    if (gmtime_r(&now, &utc))
        strftime(out + used, VALUE - used, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static void version(char *out)
{
    unsigned number = fastmm_version();
    append(out, "%u.%u.%u", number / 10000, number / 100 % 100, number % 100);
}

static const struct {
    const char *key;
    void (*find)(char *out); /* leaves "" where it is unknown */
} probes[] = {
    {"fastmm", version},
    {"date", date},
    {"cpu", cpu},
    {"cpu_model", cpu_model},
    {"cpu_flags", cpu_flags},
    {"caches", caches},
    {"smt", smt},
    {"governor", governor},
    {"numa_nodes", numa_nodes},
    {"memory", memory},
    {"huge_pages", huge_pages},
    {"kernel", kernel},
    {"mitigations", mitigations},
    {"aslr", aslr},
    {"libc", libc},
    {"libc_memcpy", libc_copy_describe},
    {"compiler", compiler},
    {"load_average", load_average},
};

static void add_fact(struct machine *machine, const char *key, const char *value)
{
    char *copy = strdup(*value ? value : "unknown");
    if (copy && machine->facts < MACHINE_FACTS) {
        machine->fact[machine->facts].key = key;
        machine->fact[machine->facts++].value = copy;
    }
}

static void add_topology(struct machine *machine)
{
    struct topology topology;
    char value[VALUE] = "";
    if (topology_load(&topology) != 0) {
        add_fact(machine, "cpus", "");
        add_warning(machine, "the CPUs are unknown, so threads are not bound to them");
        return;
    }
    append(value, "%u on %u cores, by %s; threads are placed on", topology.count, topology.cores,
           topology.source);
    for (unsigned i = 0; i < topology.count && i < 16; i++)
        append(value, " %d", topology.cpus[i]);
    if (topology.count > 16)
        append(value, " ...");
    add_fact(machine, "cpus", value);
    if (!topology.of_this_system)
        add_warning(machine, "the topology is synthetic, so threads are not bound to CPUs");
    else if (topology.count < 2)
        add_warning(machine, "only one CPU may be used: goals with threads are skipped");
    topology_free(&topology);
}

static bool is(const struct machine *machine, const char *key, const char *value)
{
    return strcmp(machine_fact(machine, key), value) == 0;
}

static void add_warnings(struct machine *machine)
{
    if (has_flag("hypervisor"))
        add_warning(machine, "a virtual machine: other guests may take the CPU or the cache away");
    if (is(machine, "governor", "unknown"))
        add_warning(machine, "no frequency governor is visible: the clock rate may drift");
    else if (!is(machine, "governor", "performance"))
        add_warning(machine, "the frequency governor is '%s', not 'performance'",
                    machine_fact(machine, "governor"));
    if (is(machine, "smt", "on"))
        add_warning(machine, "SMT is on: a sibling shares each core");
    if (is(machine, "aslr", "on"))
        add_warning(machine, "ASLR is on: placement, and with it a few per cent, differs by run");
    if (strtod(machine_fact(machine, "load_average"), NULL) > 0.5)
        add_warning(machine, "something else is running: the load average is %s",
                    machine_fact(machine, "load_average"));
    if (strstr(machine_fact(machine, "huge_pages"), "[never]"))
        add_warning(machine, "transparent huge pages are off: large areas suffer TLB misses");
#ifndef __OPTIMIZE__
    add_warning(machine, "built without optimisation: the figures mean nothing");
#endif
}

void machine_record(struct machine *machine)
{
    *machine = (struct machine){0};
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        char value[VALUE] = "";
        probes[i].find(value);
        add_fact(machine, probes[i].key, value);
    }
    add_topology(machine);
    add_warnings(machine);
}

const char *machine_fact(const struct machine *machine, const char *key)
{
    for (unsigned i = 0; i < machine->facts; i++)
        if (strcmp(machine->fact[i].key, key) == 0)
            return machine->fact[i].value;
    return "unknown";
}

void machine_free(struct machine *machine)
{
    for (unsigned i = 0; i < machine->facts; i++)
        free(machine->fact[i].value);
    for (unsigned i = 0; i < machine->warnings; i++)
        free(machine->warning[i]);
    *machine = (struct machine){0};
}
