/* SPDX-License-Identifier: MIT */
#include "utf8.h"

#include <stddef.h>

int utf8_length(const unsigned char *s)
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
