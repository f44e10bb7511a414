/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as type information: nothing outside of them may be read, and nothing may take forever.
 * Inputs that are random from the first byte on end at the header, so each is also tried behind a
 * sound one.
 */
#include "mm/btf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const uint8_t *bytes, size_t size)
{
    uint32_t offset = UINT32_MAX;
    if (btf_offset(bytes, size, "a", "b", &offset) != (offset != UINT32_MAX))
        abort(); /* no structure is larger, so no member begins there */
}

/* The input as types, with names behind it, in memory that ends where they do. */
static void look_behind_header(const uint8_t *data, size_t size)
{
    static const char names[] = "\0a\0b\0c";
    const uint32_t header[6] = {
        0x0001eb9f, 24, 0, (uint32_t)size, (uint32_t)size, (uint32_t)sizeof(names)};
    uint8_t *bytes = malloc(sizeof(header) + size + sizeof(names));
    if (!bytes)
        return;
    memcpy(bytes, header, sizeof(header));
    memcpy(bytes + sizeof(header), data, size);
    memcpy(bytes + sizeof(header) + size, names, sizeof(names));
    look(bytes, sizeof(header) + size + sizeof(names));
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    look(data, size);
    look_behind_header(data, size);
    return 0;
}
