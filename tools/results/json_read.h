/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of JSON (RFC 8259), for result files that may come from anywhere: what isn't JSON
 * is refused by line and column, and so are a key that comes twice, depth beyond 32, bytes that
 * aren't UTF-8, U+0000 in strings and numbers that a double can't hold.
 */
#ifndef FASTMM_RESULTS_JSON_READ_H
#define FASTMM_RESULTS_JSON_READ_H

#include "tool.h"

#include <stdbool.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    bool truth;
    double number;
    const char *string;
    const char *key; /* in an object */
    unsigned count;  /* of the members, which hang at `first` by `next` in their order */
    const struct json_value *first, *next;
};

struct json_document {
    const struct json_value *root;
    struct json_chunk *chunks;
};

enum { JSON_DEPTH_MAX = 32 };

/* 0, or -1 with *error starting with "name:line:column: " and nothing to free. */
int json_parse(const char *name, const char *text, size_t size, struct json_document *out,
               struct tool_error *error);
void json_free(struct json_document *document);

/* NULL when `value` is NULL, no object, or has no such key. */
const struct json_value *json_get(const struct json_value *value, const char *key);
/* What is there, or NULL if there is nothing of that kind. */
const struct json_value *json_get_kind(const struct json_value *value, const char *key,
                                       enum json_kind kind);
/* The string there, or NULL. */
const char *json_get_string(const struct json_value *value, const char *key);

#endif
