/* SPDX-License-Identifier: MIT */
/*
 * Published distributions: "Google A" from the benchmarks of LLVM's libc, "SPEC2017" as used by
 * Arm's optimized routines. Where nearly all calls of a row have one size, the row is split.
 */
#include "copy/sizes.h"

#include <stdlib.h>

#define ROWS(x) x, sizeof(x) / sizeof(x[0])

static const struct copy_sizes_row uniform[] = {{0, 64, 1}};

static const struct copy_sizes_row spec2017[] = {
    {1, 1, 0.5},     {2, 3, 1.5},     {4, 7, 5.2},      {8, 8, 13.6},      {9, 15, 4.5},
    {16, 16, 14.6},  {17, 24, 2.7},   {25, 31, 0.4},    {32, 32, 34.0},    {33, 48, 0.4},
    {49, 64, 0.5},   {65, 96, 0.5},   {97, 128, 1.9},   {129, 192, 9.9},   {193, 256, 0.1},
    {257, 384, 4.8}, {385, 512, 0.5}, {513, 1024, 2.3}, {1025, 2048, 2.3},
};

static const struct copy_sizes_row google_a[] = {
    {0, 0, 0.6},       {1, 1, 6.6},     {2, 3, 4.1},      {4, 7, 6.5},      {8, 8, 3.6},
    {9, 15, 9.8},      {16, 16, 8.2},   {17, 24, 13.2},   {25, 32, 6.2},    {33, 48, 4.3},
    {49, 64, 3.6},     {65, 96, 2.1},   {97, 128, 1.1},   {129, 192, 1.2},  {193, 256, 0.2},
    {257, 384, 1.7},   {385, 511, 0.7}, {512, 512, 24.4}, {513, 1024, 0.9}, {1025, 2048, 0.2},
    {2049, 4096, 0.9},
};

const struct copy_sizes copy_sizes[] = {
    {"uniform64", ROWS(uniform)},
    {"spec2017", ROWS(spec2017)},
    {"google_a", ROWS(google_a)},
};
const size_t copy_sizes_count = sizeof(copy_sizes) / sizeof(copy_sizes[0]);

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double total_share(const struct copy_sizes *sizes)
{
    double total = 0;
    for (size_t i = 0; i < sizes->count; i++)
        total += sizes->rows[i].share;
    return total;
}

static uint16_t draw_size(const struct copy_sizes *sizes, double total, uint64_t *state)
{
    double left = (double)(next_random(state) >> 11) * 0x1p-53 * total;
    const struct copy_sizes_row *row = sizes->rows, *last = row + sizes->count - 1;
    while (row < last && left >= row->share) {
        left -= row->share;
        row++;
    }
    return (uint16_t)(row->first + next_random(state) % (unsigned)(row->last - row->first + 1));
}

struct copy_request *copy_draw(const struct copy_sizes *sizes, uint16_t reach)
{
    struct copy_request *list = malloc(COPY_REQUESTS * sizeof(*list));
    if (!list)
        return NULL;
    uint64_t state = 0x9e3779b97f4a7c15u;
    double total = total_share(sizes);
    for (size_t i = 0; i < COPY_REQUESTS; i++) {
        list[i].size = draw_size(sizes, total, &state);
        list[i].dst = (uint16_t)(next_random(&state) % reach);
        list[i].src = (uint16_t)(next_random(&state) % reach);
    }
    return list;
}
