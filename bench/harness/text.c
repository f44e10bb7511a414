/* SPDX-License-Identifier: MIT */
#include "text.h"

#include "utf8.h"

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
