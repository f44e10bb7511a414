/* SPDX-License-Identifier: MIT */
#include "snapshot_model.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static uint64_t below(uint64_t *state, uint64_t limit)
{
    return test_random(state) % limit;
}

static int one_in(uint64_t *state, uint64_t n)
{
    return below(state, n) == 0;
}

static void random_area(struct model *m, struct fastmm_snapshot_area *a, uint64_t from,
                        uint32_t *files, uint64_t *state)
{
    static const uint8_t kinds[] = {FASTMM_SNAPSHOT_AREA_ANON,  FASTMM_SNAPSHOT_AREA_FILE,
                                    FASTMM_SNAPSHOT_AREA_SHMEM, FASTMM_SNAPSHOT_AREA_HEAP,
                                    FASTMM_SNAPSHOT_AREA_STACK, FASTMM_SNAPSHOT_AREA_VDSO,
                                    FASTMM_SNAPSHOT_AREA_VVAR,  FASTMM_SNAPSHOT_AREA_SPECIAL};
    uint64_t room = (m->levels == 5 ? (uint64_t)1 << 56 : (uint64_t)1 << 47) - from;
    memset(a, 0, sizeof(*a));
    a->kind = kinds[below(state, sizeof(kinds))];
    a->prot = (uint8_t)below(state, 8);
    uint64_t gap = one_in(state, 3) ? 0 : below(state, room >> (14 + below(state, 16)));
    a->start = from + (gap << 12);
    a->end = a->start + ((1 + below(state, one_in(state, 4) ? 8192 : 64)) << 12);
    a->file = FASTMM_SNAPSHOT_NO_FILE;
    if (a->kind == FASTMM_SNAPSHOT_AREA_FILE || a->kind == FASTMM_SNAPSHOT_AREA_SHMEM) {
        a->shared = (uint8_t)below(state, 2);
        a->file = (uint32_t)below(state, (uint64_t)*files + 1);
        if (a->file == *files)
            (*files)++;
        a->offset = below(state, (uint64_t)1 << below(state, 40));
    }
}

/* Kinds that the area may have, with flags that the kind may have. */
static void random_kind(const struct model *m, const struct fastmm_snapshot_area *a,
                        struct fastmm_snapshot_run *r, uint64_t *state)
{
    int file_area = a->kind == FASTMM_SNAPSHOT_AREA_FILE || a->kind == FASTMM_SNAPSHOT_AREA_SHMEM;
    do {
        r->kind = (uint8_t)(FASTMM_SNAPSHOT_RUN_ANON + below(state, 5));
    } while ((r->kind == FASTMM_SNAPSHOT_RUN_ZERO && !(m->seen & FASTMM_SNAPSHOT_ZERO)) ||
             (r->kind == FASTMM_SNAPSHOT_RUN_FILE && !file_area) ||
             (a->shared &&
              (r->kind == FASTMM_SNAPSHOT_RUN_ANON || r->kind == FASTMM_SNAPSHOT_RUN_ZERO)));
    r->flags = one_in(state, 3) ? FASTMM_SNAPSHOT_SOFT_DIRTY : 0;
    if (r->kind != FASTMM_SNAPSHOT_RUN_MARKER && one_in(state, 3))
        r->flags |= FASTMM_SNAPSHOT_UFFD_WP;
    if (r->kind <= FASTMM_SNAPSHOT_RUN_FILE && one_in(state, 2))
        r->flags |= FASTMM_SNAPSHOT_EXCLUSIVE;
}

static void random_value(const struct model *m, struct fastmm_snapshot_run *r, uint64_t *frame,
                         uint64_t *state)
{
    switch (r->kind) {
    case FASTMM_SNAPSHOT_RUN_SWAP:
        if (m->seen & FASTMM_SNAPSHOT_FRAMES) {
            r->swap_type = (uint8_t)below(state, 31);
            r->value = below(state, (uint64_t)1 << below(state, 49));
        }
        break;
    case FASTMM_SNAPSHOT_RUN_MARKER:
        r->value = 1 + below(state, 7);
        break;
    case FASTMM_SNAPSHOT_RUN_ZERO:
        break;
    default:
        if (m->seen & FASTMM_SNAPSHOT_FRAMES) {
            /* Mostly forward by a little, at times back, never too sparse. */
            r->value = one_in(state, 4) ? below(state, *frame + 1) : *frame + below(state, 40);
            if (r->value + r->pages > *frame)
                *frame = r->value + r->pages;
        }
    }
}

static int same_but_value(const struct fastmm_snapshot_run *a, const struct fastmm_snapshot_run *b)
{
    return a->address + (a->pages << 12) == b->address && a->kind == b->kind &&
           a->flags == b->flags && a->swap_type == b->swap_type;
}

static void random_runs(struct model *m, struct model_area *ma, uint64_t *frame, uint64_t *state)
{
    uint64_t at = ma->area.start;
    unsigned most = (unsigned)below(state, MODEL_RUNS + 1);
    ma->runs = 0;
    while (ma->runs < most) {
        struct fastmm_snapshot_run *r = &ma->run[ma->runs];
        memset(r, 0, sizeof(*r));
        if (one_in(state, 3))
            at += (1 + below(state, 8)) << 12;
        if (at >= ma->area.end)
            return;
        uint64_t room = (ma->area.end - at) >> 12;
        random_kind(m, &ma->area, r, state);
        r->address = at;
        r->pages = 1 + below(state, room < 300 && one_in(state, 3) ? room : 1);
        if (one_in(state, 8) && r->kind <= FASTMM_SNAPSHOT_RUN_ZERO &&
            (m->seen & FASTMM_SNAPSHOT_HUGE) && room >= 1024) {
            r->address = (at + 0x1fffff) & ~(uint64_t)0x1fffff;
            r->pages = 512;
            r->flags |= FASTMM_SNAPSHOT_PMD;
        }
        random_value(m, r, frame, state);
        if (r->flags & FASTMM_SNAPSHOT_PMD && r->value) {
            r->value = (r->value + 511) & ~(uint64_t)511;
            if (r->value + r->pages > *frame)
                *frame = r->value + r->pages;
        }
        /* A model is in joined form, so that it can be compared run by run. */
        const struct fastmm_snapshot_run *last = r - 1;
        int counts = (m->seen & FASTMM_SNAPSHOT_FRAMES) && r->kind != FASTMM_SNAPSHOT_RUN_ZERO &&
                     r->kind != FASTMM_SNAPSHOT_RUN_MARKER;
        if (ma->runs && same_but_value(last, r) &&
            r->value == last->value + (counts ? last->pages : 0))
            continue;
        at = r->address + (r->pages << 12);
        ma->runs++;
    }
}

void model_random(struct model *m, uint64_t *state)
{
    uint64_t from = 0, frame = 0;
    uint32_t files = 0;
    memset(m, 0, sizeof(*m));
    m->seen = (uint32_t)below(state, 8);
    m->levels = one_in(state, 4) ? 5 : 4;
    m->areas = (unsigned)below(state, MODEL_AREAS + 1);
    for (unsigned i = 0; i < m->areas; i++) {
        random_area(m, &m->area[i].area, from, &files, state);
        random_runs(m, &m->area[i], &frame, state);
        from = m->area[i].area.end;
    }
}

size_t model_encode(const struct model *m, unsigned char *data, size_t capacity)
{
    struct fastmm_snapshot_writer w;
    enum fastmm_snapshot_reason reason = FASTMM_SNAPSHOT_OK;
    size_t size = 0;
    ck_assert_int_eq(fastmm_snapshot_begin(data, capacity, m->seen, m->levels, &w), 0);
    for (unsigned i = 0; i < m->areas; i++) {
        int rc = fastmm_snapshot_add_area(&w, &m->area[i].area, &reason);
        ck_assert_msg(rc == 0, "area %u: %s", i, fastmm_snapshot_reason_text(reason));
        for (unsigned j = 0; j < m->area[i].runs; j++) {
            rc = fastmm_snapshot_add_run(&w, &m->area[i].run[j], &reason);
            ck_assert_msg(rc == 0, "area %u run %u: %s", i, j, fastmm_snapshot_reason_text(reason));
        }
    }
    ck_assert_int_eq(fastmm_snapshot_finish(&w, &size), 0);
    return size;
}

int model_decode(const unsigned char *data, size_t size, struct model *m,
                 struct fastmm_snapshot_summary *sum, struct fastmm_snapshot_error *error)
{
    struct fastmm_snapshot_cursor c;
    int rc = fastmm_snapshot_open(data, size, sum, error, &c);
    if (rc)
        return rc;
    memset(m, 0, sizeof(*m));
    m->seen = sum->seen;
    m->levels = sum->levels;
    while (m->areas < MODEL_AREAS) {
        struct model_area *ma = &m->area[m->areas];
        if ((rc = fastmm_snapshot_next_area(&c, &ma->area)) <= 0)
            return rc;
        m->areas++;
        while (ma->runs < MODEL_RUNS && fastmm_snapshot_next_run(&c, &ma->run[ma->runs]) > 0)
            ma->runs++;
    }
    return 0;
}

void model_assert_equal(const struct model *expected, const struct model *got)
{
    ck_assert_uint_eq(expected->seen, got->seen);
    ck_assert_uint_eq(expected->levels, got->levels);
    ck_assert_uint_eq(expected->areas, got->areas);
    for (unsigned i = 0; i < expected->areas; i++) {
        const struct fastmm_snapshot_area *a = &expected->area[i].area, *b = &got->area[i].area;
        ck_assert_msg(a->start == b->start && a->end == b->end && a->offset == b->offset &&
                          a->file == b->file && a->prot == b->prot && a->shared == b->shared &&
                          a->kind == b->kind,
                      "area %u differs", i);
        ck_assert_uint_eq(expected->area[i].runs, got->area[i].runs);
        for (unsigned j = 0; j < expected->area[i].runs; j++) {
            const struct fastmm_snapshot_run *p = &expected->area[i].run[j];
            const struct fastmm_snapshot_run *q = &got->area[i].run[j];
            ck_assert_msg(p->address == q->address && p->pages == q->pages &&
                              p->value == q->value && p->kind == q->kind && p->flags == q->flags &&
                              p->swap_type == q->swap_type,
                          "area %u run %u differs", i, j);
        }
    }
}

void bytes_add(struct bytes *b, unsigned count, ...)
{
    va_list args;
    va_start(args, count);
    for (unsigned i = 0; i < count; i++)
        b->data[b->size++] = (unsigned char)va_arg(args, int);
    va_end(args);
}

void bytes_number(struct bytes *b, uint64_t number)
{
    while (number > 127) {
        bytes_add(b, 1, (int)(128 + number % 128));
        number /= 128;
    }
    bytes_add(b, 1, (int)number);
}

void bytes_store(unsigned char *data, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++, value /= 256)
        data[i] = (unsigned char)(value % 256);
}

void bytes_fix_checksum(unsigned char *data, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size - 4; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            uint32_t out = (crc ^ (uint32_t)(data[i] >> bit)) & 1;
            crc >>= 1;
            if (out)
                crc ^= 0xedb88320;
        }
    }
    bytes_store(data + size - 4, 4, crc ^ 0xffffffff);
}

void bytes_snapshot(struct bytes *b, const struct bytes *body, uint32_t seen, uint64_t areas,
                    uint64_t runs, uint64_t frames)
{
    static const unsigned char magic[8] = {0x89, 'F', 'M', 'M', 'S', '\r', '\n', 0x1a};
    memset(b, 0, sizeof(*b));
    memcpy(b->data, magic, sizeof(magic));
    bytes_store(b->data + 8, 2, 1);
    b->data[10] = 4;
    b->data[11] = (unsigned char)seen;
    bytes_store(b->data + 16, 8, areas);
    bytes_store(b->data + 24, 8, runs);
    bytes_store(b->data + 32, 8, frames);
    bytes_store(b->data + 40, 8, body->size);
    memcpy(b->data + 48, body->data, body->size);
    b->size = 48 + body->size + 4;
    bytes_fix_checksum(b->data, b->size);
}
