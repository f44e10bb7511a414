/* SPDX-License-Identifier: MIT */
/*
 * An address space as a plain list, random ones of it, and snapshots made by hand. The checksum and
 * the numbers are written anew here, so that the codec isn't its own witness.
 */
#ifndef FASTMM_TESTS_SNAPSHOT_MODEL_H
#define FASTMM_TESTS_SNAPSHOT_MODEL_H

#include "test_main.h"

#include <fastmm/snapshot.h>

#define MODEL_AREAS 24
#define MODEL_RUNS  64
#define MODEL_BYTES 65536

struct model_area {
    struct fastmm_snapshot_area area;
    unsigned runs;
    struct fastmm_snapshot_run run[MODEL_RUNS];
};

struct model {
    uint32_t seen;
    uint32_t levels;
    unsigned areas;
    struct model_area area[MODEL_AREAS];
};

/* A valid model, drawn with *state. */
void model_random(struct model *m, uint64_t *state);

/* Writes it with the library; the size. Fails the test if the library refuses. */
size_t model_encode(const struct model *m, unsigned char *data, size_t capacity);

/* Reads it with the library, up to what a model can hold; the library's result. */
int model_decode(const unsigned char *data, size_t size, struct model *m,
                 struct fastmm_snapshot_summary *sum, struct fastmm_snapshot_error *error);

/* Fails the test where the two differ. */
void model_assert_equal(const struct model *expected, const struct model *got);

/* Bytes put together by hand. */
struct bytes {
    size_t size;
    unsigned char data[512];
};

void bytes_add(struct bytes *b, unsigned count, ...);
void bytes_number(struct bytes *b, uint64_t number);
void bytes_store(unsigned char *data, unsigned size, uint64_t value);

/* A whole snapshot around the body, with the given totals and a right checksum. */
void bytes_snapshot(struct bytes *b, const struct bytes *body, uint32_t seen, uint64_t areas,
                    uint64_t runs, uint64_t frames);

/* Makes the checksum at the end right again. */
void bytes_fix_checksum(unsigned char *data, size_t size);

#endif
