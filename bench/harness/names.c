/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <ctype.h>
#include <string.h>

static const char *skip_parts(const char *name, int parts)
{
    while (name && parts--) {
        name = strchr(name, '/');
        if (name)
            name++;
    }
    return name;
}

static const char *check_key(const char *part, size_t length)
{
    const char *colon = memchr(part, ':', length);
    if (!colon)
        return "a part after the implementation must be key:value";
    if (colon == part || colon + 1 == part + length)
        return "a key or its value is empty";
    return NULL;
}

const char *name_check(const char *name, const char *primitive)
{
    size_t prefix = strlen(primitive);
    if (strncmp(name, primitive, prefix) != 0 || name[prefix] != '/')
        return "must start with the primitive and '/'";
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("/_:.-+", *c))
            return "may hold letters, digits and _ : . - + only";

    int parts = 0;
    for (const char *part = name; part; part = skip_parts(part, 1)) {
        size_t length = strcspn(part, "/");
        if (length == 0)
            return "has an empty part";
        if (parts++ < 3) {
            if (memchr(part, ':', length))
                return "primitive, job and implementation come before the keys";
            continue;
        }
        const char *wrong = check_key(part, length);
        if (wrong)
            return wrong;
    }
    return parts < 3 ? "must be <primitive>/<job>/<implementation>[/key:value]..." : NULL;
}

static bool glob(const char *p, const char *pattern_end, const char *s)
{
    const char *retry_p = NULL, *retry_s = NULL;
    while (*s) {
        if (p < pattern_end && *p == '*') {
            retry_p = ++p;
            retry_s = s;
        } else if (p < pattern_end && (*p == '?' || *p == *s)) {
            p++;
            s++;
        } else if (retry_p) {
            p = retry_p;
            s = ++retry_s;
        } else {
            return false;
        }
    }
    while (p < pattern_end && *p == '*')
        p++;
    return p == pattern_end;
}

bool name_glob(const char *pattern, const char *name)
{
    return glob(pattern, pattern + strlen(pattern), name);
}

bool name_match(const char *patterns, const char *name)
{
    bool matched = false;
    for (const char *p = patterns; *p;) {
        size_t length = strcspn(p, " ");
        bool unwanted = *p == '!';
        if (length && glob(p + unwanted, p + length, name)) {
            if (unwanted)
                return false;
            matched = true;
        }
        p += length;
        p += strspn(p, " ");
    }
    return matched;
}

const char *name_value(const char *name, const char *key, size_t key_length, size_t *length)
{
    for (const char *part = skip_parts(name, 3); part; part = skip_parts(part, 1)) {
        if (strncmp(part, key, key_length) != 0 || part[key_length] != ':')
            continue;
        const char *value = part + key_length + 1;
        *length = strcspn(value, "/");
        return value;
    }
    *length = 0;
    return NULL;
}

bool name_keys_equal(const char *a, const char *b, const char *keys)
{
    if (strcmp(keys, "-") == 0)
        return true;
    for (const char *key = keys; *key;) {
        size_t length = strcspn(key, " "), in_a, in_b;
        const char *value_a = name_value(a, key, length, &in_a);
        const char *value_b = name_value(b, key, length, &in_b);
        if (!value_a != !value_b || in_a != in_b || (in_a && memcmp(value_a, value_b, in_a) != 0))
            return false;
        key += length;
        key += strspn(key, " ");
    }
    return true;
}

const char *name_keys(const char *name)
{
    const char *keys = skip_parts(name, 3);
    return keys ? keys : "";
}
