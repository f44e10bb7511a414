/* SPDX-License-Identifier: MIT */
/*
 * JSON written as it is produced. The caller opens and closes in pairs; commas, indentation and
 * escapes are done here. A key is NULL inside an array and for the outermost value.
 */
#ifndef FASTMM_TOOLS_JSON_H
#define FASTMM_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    unsigned depth;
    bool follows; /* something stands before at this depth */
};

void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array_end(struct json *json);

void json_string(struct json *json, const char *key, const char *value); /* NULL: null */
void json_uint(struct json *json, const char *key, uint64_t value);
void json_number(struct json *json, const char *key, double value); /* not finite: null */
void json_bool(struct json *json, const char *key, bool value);

#endif
