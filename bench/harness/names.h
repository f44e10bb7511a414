/* SPDX-License-Identifier: MIT */
/*
 * Names of cases: <primitive>/<job>/<implementation>[/key:value]... How they are checked, matched
 * by patterns and paired by keys.
 */
#ifndef FASTMM_BENCH_NAMES_H
#define FASTMM_BENCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* NULL, or what is wrong with a name that must start with "<primitive>/". */
const char *name_check(const char *name, const char *primitive);

/* A pattern matches the whole name: '*' is any run of characters, '?' any one of them. */
bool name_glob(const char *pattern, const char *name);

/*
 * Patterns separated by blanks: true when at least one matches and none that starts with '!' does.
 * "-" matches nothing.
 */
bool name_match(const char *patterns, const char *name);

/* The value of a key in a name, not terminated; NULL and length 0 when the name lacks it. */
const char *name_value(const char *name, const char *key, size_t key_length, size_t *length);

/* Whether two names have equal values, or both none, for each of the keys separated by blanks. */
bool name_keys_equal(const char *a, const char *b, const char *keys);

/* The part of a name after the implementation: its keys, or "" when there are none. */
const char *name_keys(const char *name);

#endif
