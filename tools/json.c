/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <inttypes.h>
#include <math.h>

static void write_string(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f) /* bytes that may not be UTF-8 become their code points */
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void new_line(struct json *json)
{
    fputc('\n', json->out);
    for (unsigned i = 0; i < json->depth; i++)
        fputs("  ", json->out);
}

static void begin_value(struct json *json, const char *key)
{
    if (json->follows)
        fputc(',', json->out);
    if (json->depth)
        new_line(json);
    json->follows = true;
    if (key) {
        write_string(json->out, key);
        fputs(": ", json->out);
    }
}

static void open_with(struct json *json, const char *key, char bracket)
{
    begin_value(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->follows = false;
}

static void close_with(struct json *json, char bracket)
{
    bool empty = !json->follows;
    json->depth--;
    json->follows = true;
    if (!empty)
        new_line(json);
    fputc(bracket, json->out);
    if (json->depth == 0)
        fputc('\n', json->out);
}

void json_object(struct json *json, const char *key)
{
    open_with(json, key, '{');
}

void json_array(struct json *json, const char *key)
{
    open_with(json, key, '[');
}

void json_object_end(struct json *json)
{
    close_with(json, '}');
}

void json_array_end(struct json *json)
{
    close_with(json, ']');
}

void json_string(struct json *json, const char *key, const char *value)
{
    begin_value(json, key);
    if (value)
        write_string(json->out, value);
    else
        fputs("null", json->out);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void json_number(struct json *json, const char *key, double value)
{
    begin_value(json, key);
    if (isfinite(value))
        fprintf(json->out, "%.6g", value);
    else
        fputs("null", json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}
