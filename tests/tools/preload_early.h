/* SPDX-License-Identifier: MIT */
#ifndef FASTMM_TESTS_PRELOAD_EARLY_H
#define FASTMM_TESTS_PRELOAD_EARLY_H

enum { PRELOAD_EARLY = 1000 };

struct preload_early {
    unsigned char from[PRELOAD_EARLY], copied[PRELOAD_EARLY], filled[PRELOAD_EARLY];
};

int preload_early_answer(void);
__attribute__((visibility("default"))) const struct preload_early *preload_early_seen(void);

#endif
