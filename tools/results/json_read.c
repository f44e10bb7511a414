/* SPDX-License-Identifier: MIT */
#include "json_read.h"

#include "need.h"
#include "utf8.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Values and strings live in chunks that are freed together. */
struct json_chunk {
    struct json_chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

enum { CHUNK = 1 << 16, KEYS_MAX = 4096 };

struct reader {
    const char *name, *at, *end, *start;
    struct json_chunk *chunks;
    struct tool_error *error;
    unsigned depth;
};

static void *take(struct reader *r, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (!r->chunks || r->chunks->size - r->chunks->used < size) {
        size_t room = size > CHUNK ? size : CHUNK;
        struct json_chunk *chunk = need(malloc(sizeof(*chunk) + room));
        *chunk = (struct json_chunk){r->chunks, 0, room};
        r->chunks = chunk;
    }
    void *out = r->chunks->bytes + r->chunks->used;
    r->chunks->used += size;
    return out;
}

static void *refuse(struct reader *r, const char *what)
{
    unsigned line = 1;
    const char *begin = r->start;
    for (const char *p = r->start; p < r->at; p++)
        if (*p == '\n') {
            line++;
            begin = p + 1;
        }
    tool_fail(r->error, "%s:%u:%zu: %s", r->name, line, (size_t)(r->at - begin) + 1, what);
    return NULL;
}

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static char skip_blanks(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
    return peek(r);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_digits(struct reader *r)
{
    while (is_digit(peek(r)))
        r->at++;
}

static bool scan_number(struct reader *r)
{
    if (peek(r) == '-')
        r->at++;
    if (!is_digit(peek(r)))
        return false;
    if (peek(r) == '0')
        r->at++;
    else
        skip_digits(r);
    if (peek(r) == '.') {
        r->at++;
        if (!is_digit(peek(r)))
            return false;
        skip_digits(r);
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        r->at++;
        if (peek(r) == '+' || peek(r) == '-')
            r->at++;
        if (!is_digit(peek(r)))
            return false;
        skip_digits(r);
    }
    return true;
}

static struct json_value *read_number(struct reader *r, struct json_value *value)
{
    char text[128];
    const char *start = r->at;
    if (!scan_number(r))
        return refuse(r, "no number");
    size_t length = (size_t)(r->at - start);
    if (length >= sizeof(text))
        return refuse(r, "a number with more than 127 characters");
    memcpy(text, start, length);
    text[length] = '\0';
    value->kind = JSON_NUMBER;
    value->number = strtod(text, NULL);
    return isfinite(value->number) ? value : refuse(r, "a number that is too large");
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* The four digits of a \u escape; -1 if they aren't. */
static int read_hex(struct reader *r)
{
    int code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int digit = hex_digit(peek(r));
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static char *put_utf8(char *to, unsigned code)
{
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *to++ = (char)(leads[more] | (code >> (6 * more)));
    while (more--)
        *to++ = (char)(0x80 | ((code >> (6 * more)) & 0x3f));
    return to;
}

/* Behind "\u". NULL if it makes no character. */
static char *read_code(struct reader *r, char *to)
{
    int code = read_hex(r);
    if (code >= 0xd800 && code < 0xdc00) {
        if (peek(r) != '\\' || r->end - r->at < 2 || r->at[1] != 'u')
            return NULL;
        r->at += 2;
        int low = read_hex(r);
        if (low < 0xdc00 || low > 0xdfff)
            return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code <= 0 || (code >= 0xdc00 && code < 0xe000)) {
        return NULL;
    }
    return put_utf8(to, (unsigned)code);
}

static char *read_escape(struct reader *r, char *to)
{
    static const char from[] = "\"\\/bfnrt", made[] = "\"\\/\b\f\n\r\t";
    char c = peek(r);
    const char *found = c ? strchr(from, c) : NULL;
    r->at++;
    if (c == 'u')
        return read_code(r, to);
    if (!found)
        return NULL;
    *to = made[found - from];
    return to + 1;
}

/* A character that isn't escaped, which may have several bytes. The text ends with a zero. */
static char *read_plain(struct reader *r, char *to)
{
    const unsigned char *s = (const unsigned char *)r->at;
    int length = *s < 0x20 ? 0 : *s < 0x80 ? 1 : utf8_length(s);
    if (!length)
        return NULL;
    memcpy(to, s, (size_t)length);
    r->at += length;
    return to + length;
}

static const char *read_string(struct reader *r)
{
    /* A string is never longer than what it is written as. */
    const char *close = r->at + 1;
    while (close < r->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= r->end)
        return refuse(r, "a string that doesn't end");
    char *string = take(r, (size_t)(close - r->at)), *to = string;
    r->at++;
    while (to && *r->at != '"') {
        if (*r->at == '\\') {
            r->at++;
            to = read_escape(r, to);
        } else {
            to = read_plain(r, to);
        }
    }
    if (!to)
        return refuse(r, "a character that no string may have");
    *to = '\0';
    r->at++;
    return string;
}

static struct json_value *read_value(struct reader *r);

static struct json_value *read_member(struct reader *r, const struct json_value *object)
{
    const char *key = NULL;
    if (object->kind == JSON_OBJECT) {
        if (skip_blanks(r) != '"')
            return refuse(r, "a key is missing");
        key = read_string(r);
        if (!key)
            return NULL;
        if (object->count >= KEYS_MAX) /* looking for an earlier one takes its time */
            return refuse(r, "too many keys in one object");
        if (json_get(object, key))
            return refuse(r, "a key that was there before");
        if (skip_blanks(r) != ':')
            return refuse(r, "a colon is missing");
        r->at++;
    }
    struct json_value *value = read_value(r);
    if (value)
        value->key = key;
    return value;
}

static struct json_value *read_members(struct reader *r, struct json_value *value, char close)
{
    const struct json_value **end = &value->first;
    if (++r->depth > JSON_DEPTH_MAX)
        return refuse(r, "too deep");
    r->at++;
    if (skip_blanks(r) != close)
        for (;;) {
            struct json_value *member = read_member(r, value);
            if (!member)
                return NULL;
            *end = member;
            end = (const struct json_value **)&member->next;
            value->count++;
            if (skip_blanks(r) != ',')
                break;
            r->at++;
        }
    if (peek(r) != close)
        return refuse(r, close == ']' ? "',' or ']' is missing" : "',' or '}' is missing");
    r->at++;
    r->depth--;
    return value;
}

static struct json_value *read_word(struct reader *r, struct json_value *value)
{
    static const struct {
        const char *word;
        enum json_kind kind;
        bool truth;
    } words[] = {
        {"null", JSON_NULL, false}, {"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(r->end - r->at) >= length && memcmp(r->at, words[i].word, length) == 0) {
            r->at += length;
            value->kind = words[i].kind;
            value->truth = words[i].truth;
            return value;
        }
    }
    return refuse(r, "no value");
}

static struct json_value *read_value(struct reader *r)
{
    struct json_value *value = take(r, sizeof(*value));
    *value = (struct json_value){0};
    switch (skip_blanks(r)) {
    case '{':
        value->kind = JSON_OBJECT;
        return read_members(r, value, '}');
    case '[':
        value->kind = JSON_ARRAY;
        return read_members(r, value, ']');
    case '"':
        value->kind = JSON_STRING;
        value->string = read_string(r);
        return value->string ? value : NULL;
    default:
        return is_digit(peek(r)) || peek(r) == '-' ? read_number(r, value) : read_word(r, value);
    }
}

int json_parse(const char *name, const char *text, size_t size, struct json_document *out,
               struct tool_error *error)
{
    struct reader r = {.name = name, .error = error};
    /* A copy that a zero ends, so that no sequence can be read past the end. */
    char *copy = need(malloc(size + 1));
    memcpy(copy, text, size);
    copy[size] = '\0';
    r.at = r.start = copy;
    r.end = copy + size;
    out->root = read_value(&r);
    if (out->root && (skip_blanks(&r) || r.at != r.end))
        out->root = refuse(&r, "something stands behind the value");
    free(copy);
    out->chunks = r.chunks;
    if (!out->root)
        json_free(out);
    return out->root ? 0 : -1;
}

void json_free(struct json_document *document)
{
    while (document->chunks) {
        struct json_chunk *chunk = document->chunks;
        document->chunks = chunk->next;
        free(chunk);
    }
    document->root = NULL;
}

const struct json_value *json_get(const struct json_value *value, const char *key)
{
    if (!value || value->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_value *member = value->first; member; member = member->next)
        if (strcmp(member->key, key) == 0)
            return member;
    return NULL;
}

const struct json_value *json_get_kind(const struct json_value *value, const char *key,
                                       enum json_kind kind)
{
    const struct json_value *found = json_get(value, key);
    return found && found->kind == kind ? found : NULL;
}

const char *json_get_string(const struct json_value *value, const char *key)
{
    const struct json_value *found = json_get_kind(value, key, JSON_STRING);
    return found ? found->string : NULL;
}
