/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <math.h>
#include <string.h>

void text_csv(FILE *out, const char *field)
{
    if (!field[strcspn(field, ",\"\r\n")]) {
        fputs(field, out);
        return;
    }
    fputc('"', out);
    for (; *field; field++) {
        if (*field == '"')
            fputc('"', out);
        fputc(*field, out);
    }
    fputc('"', out);
}

/* Unquotes in place; returns what follows the closing quote, or NULL when there is none. */
static char *unquote(char *field)
{
    char *to = field;
    for (char *from = field + 1; *from; from++) {
        if (*from == '"' && *++from != '"') {
            *to = '\0';
            return from;
        }
        *to++ = *from;
    }
    return NULL;
}

int text_csv_split(char *line, char **fields, int most)
{
    line[strcspn(line, "\r\n")] = '\0';
    int count = 0;
    for (char *p = line;; p++) {
        char *field = p;
        if (*p == '"') {
            p = unquote(field);
            if (!p || (*p && *p != ','))
                return -1;
        } else {
            p += strcspn(p, ",");
            if (memchr(field, '"', (size_t)(p - field)))
                return -1;
        }
        if (count++ < most)
            fields[count - 1] = field;
        if (!*p)
            return count;
        *p = '\0';
    }
}

/* Length of the UTF-8 sequence at s, 0 when it is not one: overlong forms, surrogates, above
 * U+10FFFF. */
static int utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char first, last, low, high; /* lead bytes, and the range of the second */
        int length;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last)
            continue;
        if (s[1] < forms[i].low || s[1] > forms[i].high)
            return 0;
        for (int k = 2; k < forms[i].length; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

void text_json(FILE *out, const char *string)
{
    const unsigned char *s = (const unsigned char *)string;
    fputc('"', out);
    while (*s) {
        if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s++);
        } else if (*s < 0x20 || *s == 0x7f) {
            fprintf(out, "\\u%04x", *s++);
        } else if (*s < 0x80) {
            fputc(*s++, out);
        } else {
            int length = utf8_length(s);
            if (length)
                fwrite(s, 1, (size_t)length, out);
            else
                fputs("\\ufffd", out);
            s += length ? length : 1;
        }
    }
    fputc('"', out);
}

void text_json_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.9g", value);
    else
        fputs("null", out);
}
