/* SPDX-License-Identifier: MIT */
/* CSV and JSON, escaped as their definitions (RFC 4180, RFC 8259) want. */
#ifndef FASTMM_BENCH_TEXT_H
#define FASTMM_BENCH_TEXT_H

#include <stdio.h>

/* One field, quoted when it must be. */
void text_csv(FILE *out, const char *field);

/*
 * Takes a line apart in place into at most `most` fields and returns how many there were, which may
 * be more than `most`; -1 for a quote that isn't closed or stands where none may. The line's end is
 * not part of the last field.
 */
int text_csv_split(char *line, char **fields, int most);

/* A quoted string. Bytes that aren't UTF-8 become U+FFFD. */
void text_json(FILE *out, const char *string);

/* A number with nine digits; JSON has no infinities and no NaN, so those become null. */
void text_json_number(FILE *out, double value);

#endif
