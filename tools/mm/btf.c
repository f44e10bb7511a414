/* SPDX-License-Identifier: MIT */
/*
 * As much of BTF as it takes (Documentation/bpf/btf.rst): a header, types one after the other, and
 * their names. Types are numbered from 1 in order, so that finding one by number means counting.
 */
#include "mm/btf.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC       0xeb9fu
#define KIND_STRUCT 4u
#define KIND_UNION  5u

struct header {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t header_bytes, types_at, types_bytes, names_at, names_bytes;
};

struct type {
    uint32_t name, info, size_or_type;
};

struct member {
    uint32_t name, type, offset;
};

struct btf {
    const unsigned char *types, *names;
    size_t types_bytes, names_bytes;
    uint32_t *at; /* by number of the type */
    uint32_t count;
};

static unsigned kind_of(const struct type *t)
{
    return t->info >> 24 & 0x1f;
}

static unsigned length_of(const struct type *t)
{
    return t->info & 0xffff;
}

/* Bytes that follow a type, by its kind; kinds that were added later aren't known. */
static size_t tail_of(const struct type *t)
{
    static const unsigned char fixed[20] = {[1] = 4, [3] = 12, [14] = 4, [17] = 4};
    static const unsigned char each[20] = {
        [4] = 12, [5] = 12, [6] = 8, [13] = 8, [15] = 12, [19] = 12};
    unsigned kind = kind_of(t);
    return kind < 20 ? fixed[kind] + (size_t)each[kind] * length_of(t) : SIZE_MAX;
}

static bool read_type(const struct btf *b, uint32_t at, struct type *t)
{
    if (at > b->types_bytes || b->types_bytes - at < sizeof(*t))
        return false;
    memcpy(t, b->types + at, sizeof(*t));
    size_t left = b->types_bytes - at - sizeof(*t);
    return tail_of(t) <= left;
}

static bool is_named(const struct btf *b, uint32_t name, const char *text)
{
    size_t length = strlen(text) + 1;
    return name < b->names_bytes && b->names_bytes - name >= length &&
           !memcmp(b->names + name, text, length);
}

static bool index_types(struct btf *b)
{
    struct type t;
    b->at = malloc((b->types_bytes / sizeof(t) + 2) * sizeof(*b->at));
    if (!b->at)
        return false;
    b->count = 1; /* number 0 is void */
    for (uint32_t at = 0; read_type(b, at, &t); at += (uint32_t)(sizeof(t) + tail_of(&t)))
        b->at[b->count++] = at;
    return true;
}

static bool open_btf(struct btf *b, const unsigned char *bytes, size_t size)
{
    struct header h;
    if (size < sizeof(h))
        return false;
    memcpy(&h, bytes, sizeof(h));
    if (h.magic != MAGIC || h.header_bytes > size || h.types_at > size - h.header_bytes ||
        h.names_at > size - h.header_bytes)
        return false;
    *b = (struct btf){.types = bytes + h.header_bytes + h.types_at,
                      .names = bytes + h.header_bytes + h.names_at,
                      .types_bytes = h.types_bytes,
                      .names_bytes = h.names_bytes};
    if (h.types_bytes > size - h.header_bytes - h.types_at ||
        h.names_bytes > size - h.header_bytes - h.names_at)
        return false;
    return index_types(b);
}

/* Where in structure or union number `type` the member begins, in bits: inside of it. */
static bool find_member(const struct btf *b, uint32_t type, const char *name, unsigned depth,
                        uint64_t *bits)
{
    struct type t;
    if (type >= b->count || !read_type(b, b->at[type], &t) || depth == 0 ||
        (kind_of(&t) != KIND_STRUCT && kind_of(&t) != KIND_UNION))
        return false;
    for (unsigned i = 0; i < length_of(&t); i++) {
        struct member m;
        memcpy(&m, b->types + b->at[type] + sizeof(t) + i * sizeof(m), sizeof(m));
        uint32_t offset = t.info >> 31 ? m.offset & 0xffffff : m.offset;
        uint64_t inside = 0;
        if (m.name ? is_named(b, m.name, name) : find_member(b, m.type, name, depth - 1, &inside)) {
            *bits = offset + inside;
            return *bits / 8 < t.size_or_type;
        }
    }
    return false;
}

bool btf_offset(const unsigned char *bytes, size_t size, const char *structure, const char *member,
                uint32_t *offset)
{
    struct btf b;
    struct type t;
    bool found = false;
    if (!open_btf(&b, bytes, size))
        return false;
    for (uint32_t i = 1; i < b.count && !found; i++) {
        uint64_t bits = 0;
        if (read_type(&b, b.at[i], &t) && kind_of(&t) == KIND_STRUCT &&
            is_named(&b, t.name, structure))
            found = find_member(&b, i, member, 8, &bits);
        if (found)
            *offset = (uint32_t)(bits / 8);
    }
    free(b.at);
    return found;
}
