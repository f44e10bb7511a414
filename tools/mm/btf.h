/* SPDX-License-Identifier: MIT */
/* Where the running kernel keeps members of its structures, by its own type information. */
#ifndef FASTMM_TOOLS_MM_BTF_H
#define FASTMM_TOOLS_MM_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The offset in bytes of a member, also of structures without a name inside. False if the bytes
 * (the contents of /sys/kernel/btf/vmlinux) don't say, or aren't such.
 */
bool btf_offset(const unsigned char *bytes, size_t size, const char *structure, const char *member,
                uint32_t *offset);

#endif
