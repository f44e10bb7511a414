/* SPDX-License-Identifier: MIT */
/* Any bytes as a dump: parsed or refused, and what was parsed decodes within its bounds. */
#include "cpuid_dump.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cpuid_dump dump;
    struct tool_error error = {""};
    if (cpuid_dump_parse("fuzz", (const char *)data, size, &dump, &error) != 0) {
        if (strncmp(error.text, "fuzz:", 5) != 0)
            abort();
        return 0;
    }
    struct fastmm_cpuid_source source = cpuid_dump_source(&dump);
    struct fastmm_cpu cpu;
    fastmm_cpu_decode(&source, &cpu);
    if (cpu.usable & ~cpu.advertised)
        abort();
    return 0;
}
