/* SPDX-License-Identifier: MIT */
/* The sections of `fastmm info`, each as text for people and as JSON with the same facts. */
#ifndef FASTMM_TOOLS_INFO_H
#define FASTMM_TOOLS_INFO_H

#include "json.h"

#include <fastmm/copy.h>
#include <fastmm/cpu.h>

/* The column where the text of a section starts. */
#define INFO_INDENT 16

void info_cpu_text(const struct fastmm_cpu *cpu);
void info_cpu_json(const struct fastmm_cpu *cpu, struct json *json);

void info_copy_text(const struct fastmm_copy_plan *plan);
void info_copy_json(const struct fastmm_copy_plan *plan, struct json *json);

/* The kernel, libc and counters of the machine that the tool runs on. */
void info_system_text(void);
void info_system_json(struct json *json);

#endif
