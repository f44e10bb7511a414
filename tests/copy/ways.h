/* SPDX-License-Identifier: MIT */
/*
 * Every way into the library that copies, moves or fills: each implementation by itself, the inline
 * bodies, the exported twins and the variants. The same tests run over all of them.
 */
#ifndef FASTMM_TESTS_COPY_WAYS_H
#define FASTMM_TESTS_COPY_WAYS_H

#include <check.h>
#include <stddef.h>

struct way {
    const char *name;
    void (*copy)(void *dst, const void *src, size_t n);
    void (*move)(void *dst, const void *src, size_t n); /* NULL, as the others: has none */
    void (*fill)(void *dst, int value, size_t n);
    int only_zero; /* 1: fill takes no value but 0 */
    int impl;      /* enum fastmm_copy_impl that this CPU must be able to run, or -1 */
};

extern const struct way ways[];
extern const int way_count;

/* The way of that index; ends the test as skipped if this CPU can't go it. */
const struct way *way_or_skip(int index);

struct way_test {
    const TTest *test;
    int (*is_for)(const struct way *way); /* NULL: for all */
};

/* One test case for each way, named by it, with the tests for it; each gets the index as _i. */
void add_way_cases(Suite *suite, const struct way_test *tests, size_t count);

/* One test case `name` whose tests run over all ways. */
void add_known_case(Suite *suite, const char *name, const TTest *const *tests, size_t count);

#endif
