/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "copy/setup.h"

#include <fastmm/copy.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE    ((size_t)2 << 20)
#define LIST_REACH   8192 /* of offsets: source and destination stay in the first-level cache */
#define LIST_BYTES   ((size_t)LIST_REACH + 8192)
#define MIXED_REACH  4096
#define COLD_ARENA   ((size_t)256 << 20)
#define DIGEST_CALLS 777

/* Both blocks start 2048 bytes into a page and apart by `alias` modulo a page. */
static unsigned char *map(size_t bytes, int value)
{
    size_t all = bytes + HUGE_PAGE;
    unsigned char *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, all, MADV_HUGEPAGE);
    memset(p, value, all);
    return p;
}

static unsigned char *huge_aligned(unsigned char *p)
{
    return p + (-(uintptr_t)p & (HUGE_PAGE - 1));
}

static int force(struct bench *b)
{
    uint64_t needs = (uint64_t)b->spec->args[COPY_ARG_NEEDS];
    if ((fastmm_cpu_native()->usable & needs) != needs)
        return bench_skip(b, "built for features that this CPU lacks");
    int64_t impl = b->spec->args[COPY_ARG_IMPL];
    struct fastmm_copy_settings settings = {0};
    const char *reason = "";
    if (impl != COPY_FORCE_NONE)
        settings.implementation = fastmm_copy_impl_name((uint32_t)impl);
    if (fastmm_copy_configure(&settings, &reason) != 0)
        return bench_skip(b, "%s", reason);
    return 0;
}

struct bench_case copy_case(const struct copy_rival *rival, int64_t size, int64_t alias,
                            copy_loop *loop)
{
    struct bench_case c = {.args = {size, alias, COPY_FORCE_NONE, (int64_t)rival->needs},
                           .setup = copy_setup_fixed,
                           .teardown = copy_teardown,
                           .digest = copy_digest,
                           .loop = loop};
    return c;
}

/* Room for `bytes` in both buffers, all written once. */
static int prepare(struct bench *b, size_t bytes)
{
    int skipped = force(b);
    if (skipped)
        return skipped;
    struct copy_data *data = calloc(1, sizeof(*data));
    if (!data)
        return bench_skip(b, "out of memory");
    b->data = data;
    data->map_bytes = bytes + HUGE_PAGE;
    data->maps[0] = map(bytes, 1);
    data->maps[1] = map(bytes, 2);
    if (!data->maps[0] || !data->maps[1])
        return bench_skip(b, "no %zu bytes of memory", 2 * data->map_bytes);
    data->dst = huge_aligned(data->maps[0]);
    data->src = huge_aligned(data->maps[1]);
    for (size_t i = 0; i < bytes; i++)
        data->src[i] = (unsigned char)(i * 2654435761u >> 13);
    return 0;
}

int copy_setup_fixed(struct bench *b)
{
    size_t size = (size_t)b->spec->args[COPY_ARG_SIZE];
    int skipped = prepare(b, size + 8192);
    if (skipped)
        return skipped;
    struct copy_data *data = b->data;
    data->size = size;
    data->dst += (size_t)b->spec->args[COPY_ARG_ALIAS] & 4095;
    b->bytes = (double)size;
    return 0;
}

static int prepare_list(struct bench *b, const struct copy_sizes *sizes, uint16_t reach)
{
    int skipped = prepare(b, LIST_BYTES);
    if (skipped)
        return skipped;
    struct copy_data *data = b->data;
    data->list = copy_draw(sizes, reach);
    return data->list ? 0 : bench_skip(b, "out of memory");
}

int copy_setup_list(struct bench *b)
{
    return prepare_list(b, b->spec->config, LIST_REACH);
}

int copy_setup_mixed(struct bench *b)
{
    uint16_t size = (uint16_t)b->spec->args[COPY_ARG_SIZE];
    struct copy_sizes_row row = {size, size, 1};
    struct copy_sizes sizes = {"one", &row, 1};
    b->bytes = size;
    return prepare_list(b, &sizes, MIXED_REACH);
}

int copy_setup_cold(struct bench *b)
{
    int skipped = prepare(b, COLD_ARENA);
    if (skipped)
        return skipped;
    struct copy_data *data = b->data;
    data->size = (size_t)b->spec->args[COPY_ARG_SIZE];
    data->arena = COLD_ARENA;
    b->bytes = (double)data->size;
    return 0;
}

void copy_teardown(struct bench *b)
{
    struct copy_data *data = b->data;
    if (!data)
        return;
    for (int i = 0; i < 2; i++)
        if (data->maps[i])
            munmap(data->maps[i], data->map_bytes);
    free(data->list);
    free(data);
    b->data = NULL;
    fastmm_copy_configure(NULL, NULL);
}

/* Of some calls from a known state: all of a small buffer, a line out of each page of a large one.
 */
uint64_t copy_digest(struct bench *b)
{
    struct copy_data *data = b->data;
    size_t bytes = data->map_bytes - HUGE_PAGE, step = bytes > ((size_t)1 << 20) ? 4032 : 64;
    unsigned char *start = huge_aligned(data->maps[0]);
    memset(start, 0x5a, bytes);
    data->at = 0;
    b->spec->loop(b, data->list ? DIGEST_CALLS : 1);
    uint64_t digest = 0;
    for (size_t i = 0; i + 64 <= bytes; i += step)
        digest = bench_digest(digest, start + i, 64);
    return digest;
}
