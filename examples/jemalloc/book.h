/* SPDX-License-Identifier: MIT */
/*
 * Which pages the hooks mapped. jemalloc also hands them extents that it got before they were
 * installed; those belong to its own hooks and are in no figure of ours.
 */
#ifndef BOOK_H
#define BOOK_H

#include <stddef.h>

enum book_mark { BOOK_MAPPED, BOOK_COMMITTED, BOOK_MARKS };

/* Makes room for marks on [p, p + bytes). 0, or -1: no memory. */
int book_prepare(const void *p, size_t bytes);

/* Sets or takes away a mark on pages for which there is room. Safe beside calls on other pages. */
void book_mark(enum book_mark mark, const void *p, size_t bytes);
void book_unmark(enum book_mark mark, const void *p, size_t bytes);

int book_has(enum book_mark mark, const void *p);

/* All bytes with the mark. Nothing else may run. */
size_t book_bytes(enum book_mark mark);

#endif
