/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_RESULTS_UTF8_H
#define FASTMM_RESULTS_UTF8_H

/*
 * Length of the UTF-8 sequence of two bytes or more at s, which a zero ends; 0 when it is none:
 * overlong forms, surrogates, above U+10FFFF.
 */
int utf8_length(const unsigned char *s);

#endif
