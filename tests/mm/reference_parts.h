/* SPDX-License-Identifier: MIT */
/* What the files of the reference model share. */
#ifndef FASTMM_TESTS_MM_REFERENCE_PARTS_H
#define FASTMM_TESTS_MM_REFERENCE_PARTS_H

#include "reference.h"

bool ref_is_private(const struct ref_slot *s);
bool ref_is_file(const struct ref_slot *s);
bool ref_entry_wp(const struct ref_slot *s);
void ref_clear_entry(struct ref_slot *s);
void ref_drop_entry(struct ref *r, struct ref_slot *s);
void ref_isolate(struct ref *r, int mm, int first, int end);
void ref_isolate_changing(struct ref *r, int mm, int first, int end, uint32_t mask, uint32_t value);
bool ref_adjacent(const struct ref_slot *s, int upper);
bool ref_any(const struct ref *r, int mm, int first, int end); /* is anything mapped there? */
void ref_settle(struct ref *r, int mm);
bool ref_whole(const struct ref *r, int mm, int first, int end);
void ref_flag_anon(struct ref *r, int mm, int slot);
void ref_flag_guard(struct ref *r, int mm, int slot);
bool ref_awaits_write(const struct ref_slot *s);
int ref_references(const struct ref *r, int page);
int ref_new_page(struct ref *r, bool anon, int object);
void ref_release_slot(struct ref *r, uint64_t offset);
bool ref_shared_rw_by_default(const struct ref_slot *s);
void ref_set_page(const struct ref *r, struct ref_slot *s, int page, bool write, bool wp);

#endif
