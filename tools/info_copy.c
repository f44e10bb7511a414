/* SPDX-License-Identifier: MIT */
/* Which way the library copies and clears on a CPU, from which size, and why. */
#include "info.h"
#include "tool.h"

#include <stdio.h>

/* Requests that differ in what decides: the job, and how the blocks lie to each other. */
static const struct request {
    const char *name, *key;
    enum fastmm_copy_op op;
    uintptr_t dst, src; /* only the low bits matter */
} requests[] = {
    {"copy", "copy", FASTMM_COPY_OP_COPY, 0x100000, 0x900800},
    {"copy, aliased by 8 bytes", "copy_aliased", FASTMM_COPY_OP_COPY, 0x100008, 0x900000},
    {"copy, odd destination", "copy_odd", FASTMM_COPY_OP_COPY, 0x100401, 0x900c00},
    {"clear and fill", "fill", FASTMM_COPY_OP_FILL, 0x100000, 0},
};

#define REQUEST_COUNT (sizeof(requests) / sizeof(requests[0]))

/* Sizes with the same route. */
struct band {
    uint64_t first, end; /* end: UINT64_MAX for no end */
    struct fastmm_copy_route route;
};

#define MAX_BANDS 4 /* the thresholds of a job are three */

static struct fastmm_copy_route route(const struct fastmm_copy_plan *plan, const struct request *r,
                                      uint64_t n)
{
    return fastmm_copy_route_for(plan, r->op, (void *)r->dst, (const void *)r->src, (size_t)n);
}

/* The next threshold above n, or UINT64_MAX. */
static uint64_t next_threshold(const struct fastmm_copy_plan *plan, const struct request *r,
                               uint64_t n)
{
    const struct fastmm_copy_thresholds *t =
        r->op == FASTMM_COPY_OP_FILL ? &plan->fill : &plan->copy;
    const uint64_t all[] = {t->rep_min.bytes, t->rep_end.bytes, t->stream_min.bytes};
    uint64_t next = UINT64_MAX;
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] > n && all[i] < next)
            next = all[i];
    return next;
}

static unsigned find_bands(const struct fastmm_copy_plan *plan, const struct request *r,
                           struct band bands[MAX_BANDS])
{
    unsigned count = 0;
    for (uint64_t n = FASTMM_COPY_INLINE_MAX + 1; n < UINT64_MAX;) {
        struct fastmm_copy_route here = route(plan, r, n);
        uint64_t end = next_threshold(plan, r, n);
        if (count && bands[count - 1].route.impl == here.impl &&
            bands[count - 1].route.why == here.why)
            bands[count - 1].end = end;
        else if (count < MAX_BANDS)
            bands[count++] = (struct band){n, end, here};
        n = end;
    }
    return count;
}

static void print_thresholds(const char *job, const struct fastmm_copy_thresholds *t)
{
    const struct {
        const char *name;
        const struct fastmm_copy_threshold *threshold;
    } rows[] = {
        {"rep from", &t->rep_min}, {"rep until", &t->rep_end}, {"streaming from", &t->stream_min}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tool_size size;
        printf("    %-6s%-16s%-10s%s\n", i ? "" : job, rows[i].name,
               tool_size(&size, rows[i].threshold->bytes), fastmm_copy_why(rows[i].threshold->why));
    }
}

/* Inline bodies of 65 bytes and more take AVX-512. */
static unsigned inline_max(const struct fastmm_copy_plan *plan)
{
    return plan->inline_level == FASTMM_COPY_LEVEL_EVEX ? FASTMM_COPY_INLINE_MAX : 64;
}

void info_copy_text(const struct fastmm_copy_plan *plan)
{
    printf("\n%-*sup to %u bytes in the caller's code; beyond:\n", INFO_INDENT, "Copy and clear",
           inline_max(plan));
    for (size_t i = 0; i < REQUEST_COUNT; i++) {
        struct band bands[MAX_BANDS];
        unsigned count = find_bands(plan, &requests[i], bands);
        printf("  %s\n", requests[i].name);
        for (unsigned b = 0; b < count; b++) {
            struct tool_size size;
            if (bands[b].end == UINT64_MAX)
                printf("    %-18s", b ? "above" : "all sizes");
            else
                printf("    below %-12s", tool_size(&size, bands[b].end));
            printf("%-8s%s\n", fastmm_copy_impl_name(bands[b].route.impl),
                   fastmm_copy_why(bands[b].route.why));
        }
    }
    puts("  thresholds");
    print_thresholds("copy", &plan->copy);
    print_thresholds("clear", &plan->fill);
    printf("  vectors are %s: %s\n", fastmm_copy_impl_name(plan->vector),
           fastmm_copy_why(plan->vector_why));
}

static void put_threshold(struct json *json, const char *key, const struct fastmm_copy_threshold *t)
{
    json_object(json, key);
    if (t->bytes == FASTMM_COPY_NEVER)
        json_string(json, "bytes", "never");
    else
        json_uint(json, "bytes", t->bytes);
    json_string(json, "why", fastmm_copy_why(t->why));
    json_object_end(json);
}

static void put_thresholds(struct json *json, const char *key,
                           const struct fastmm_copy_thresholds *t)
{
    json_object(json, key);
    put_threshold(json, "rep_min", &t->rep_min);
    put_threshold(json, "rep_end", &t->rep_end);
    put_threshold(json, "stream_min", &t->stream_min);
    json_object_end(json);
}

void info_copy_json(const struct fastmm_copy_plan *plan, struct json *json)
{
    json_object(json, "copy");
    json_string(json, "vector", fastmm_copy_impl_name(plan->vector));
    json_string(json, "vector_why", fastmm_copy_why(plan->vector_why));
    json_uint(json, "inline_max", inline_max(plan));
    put_thresholds(json, "copy_thresholds", &plan->copy);
    put_thresholds(json, "fill_thresholds", &plan->fill);
    json_object(json, "routes");
    for (size_t i = 0; i < REQUEST_COUNT; i++) {
        struct band bands[MAX_BANDS];
        unsigned count = find_bands(plan, &requests[i], bands);
        json_array(json, requests[i].key);
        for (unsigned b = 0; b < count; b++) {
            json_object(json, NULL);
            json_uint(json, "from", bands[b].first);
            json_string(json, "use", fastmm_copy_impl_name(bands[b].route.impl));
            json_string(json, "why", fastmm_copy_why(bands[b].route.why));
            json_object_end(json);
        }
        json_array_end(json);
    }
    json_object_end(json);
    json_object_end(json);
}
