/* SPDX-License-Identifier: MIT */
/*
 * The page cache of a file or shmem segment: frame numbers by page index, in chunks that exist
 * once a page of them does. The cache holds one reference to each of its pages.
 *
 * A page of shmem that is swapped out leaves the entry of its slot in place of the number, which is
 * larger than any: the slot belongs to the object, and no address space counts it.
 */
#include "frame.h"
#include "swap.h"

#include <errno.h>

#define MAX_PAGES (UINT64_C(1) << 32)

static uint64_t chunk_count(const struct fastmm_object *object)
{
    return (object->pages + OBJECT_CHUNK - 1) / OBJECT_CHUNK;
}

int fastmm_object_create(struct fastmm_machine *machine, enum fastmm_object_kind kind,
                         uint64_t pages, struct fastmm_object **object)
{
    if (pages == 0 || pages > MAX_PAGES ||
        (kind != FASTMM_OBJECT_FILE && kind != FASTMM_OBJECT_SHMEM))
        return -EINVAL;
    struct fastmm_object *made = fastmm_arena_zalloc(&machine->arena, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->machine = machine;
    made->pages = pages;
    made->kind = kind;
    made->refs = 1;
    made->chunks = fastmm_arena_zalloc(&machine->arena, chunk_count(made) * sizeof(*made->chunks));
    if (!made->chunks) {
        fastmm_arena_free(&machine->arena, made, sizeof(*made));
        return -ENOMEM;
    }
    made->next = machine->first_object;
    made->link = &machine->first_object;
    if (made->next)
        made->next->link = &made->next;
    machine->first_object = made;
    machine->objects++;
    *object = made;
    return 0;
}

static bool is_slot(uint64_t value)
{
    return value >= FASTMM_PFN_LIMIT;
}

/* What the object has of a page ceases to exist. */
static void drop_value(struct fastmm_machine *machine, uint64_t *value)
{
    if (is_slot(*value))
        fastmm_swap_put(machine, *value);
    else if (*value)
        frame_put(machine, *value);
    *value = 0;
}

static void free_chunk(struct fastmm_object *object, uint64_t *chunk)
{
    struct fastmm_machine *machine = object->machine;
    for (unsigned i = 0; i < OBJECT_CHUNK; i++)
        drop_value(machine, chunk + i);
    fastmm_arena_free(&machine->arena, chunk, OBJECT_CHUNK * sizeof(*chunk));
}

void fastmm_object_put(struct fastmm_object *object)
{
    struct fastmm_machine *machine = object->machine;
    if (--object->refs)
        return;
    for (uint64_t i = 0; i < chunk_count(object); i++)
        if (object->chunks[i])
            free_chunk(object, object->chunks[i]);
    fastmm_arena_free(&machine->arena, object->chunks,
                      chunk_count(object) * sizeof(*object->chunks));
    *object->link = object->next;
    if (object->next)
        object->next->link = object->link;
    machine->objects--;
    fastmm_arena_free(&machine->arena, object, sizeof(*object));
}

uint64_t fastmm_object_peek(const struct fastmm_object *object, uint64_t index)
{
    const uint64_t *chunk = object->chunks[index / OBJECT_CHUNK];
    uint64_t value = chunk ? chunk[index % OBJECT_CHUNK] : 0;
    return value && !is_slot(value) ? value : FASTMM_PFN_NONE;
}

/* Where the number or the slot of the page at `index` is kept, or NULL for want of memory. */
static uint64_t *slot_of(struct fastmm_object *object, uint64_t index)
{
    uint64_t **chunk = &object->chunks[index / OBJECT_CHUNK];
    if (!*chunk)
        *chunk = fastmm_arena_zalloc(&object->machine->arena, OBJECT_CHUNK * sizeof(**chunk));
    return *chunk ? *chunk + index % OBJECT_CHUNK : NULL;
}

static enum fastmm_frame_kind frame_kind_of(const struct fastmm_object *object)
{
    return object->kind == FASTMM_OBJECT_SHMEM ? FASTMM_FRAME_SHMEM : FASTMM_FRAME_FILE;
}

int fastmm_object_page(struct fastmm_object *object, uint64_t index, uint64_t *pfn)
{
    struct fastmm_machine *machine = object->machine;
    uint64_t *slot = slot_of(object, index);
    if (!slot)
        return -ENOMEM;
    if (!*slot || is_slot(*slot)) {
        uint64_t made;
        int rc = fastmm_frame_alloc(machine, frame_kind_of(object), &made);
        if (rc)
            return rc;
        /* Swap gives up what it had, which is what a dirty page is. */
        machine->frames.word[made] += FRAME_REF | (*slot ? FRAME_DIRTY : 0);
        drop_value(machine, slot);
        *slot = made;
    }
    *pfn = *slot;
    return 0;
}

void fastmm_object_page_out(struct fastmm_object *object, uint64_t index)
{
    struct fastmm_machine *machine = object->machine;
    uint64_t *value = &object->chunks[index / OBJECT_CHUNK][index % OBJECT_CHUNK];
    bool written = machine->frames.word[*value] & FRAME_DIRTY;
    fastmm_pte_t slot = written ? fastmm_swap_find_free(machine) : 0;
    if (written && !slot)
        return;
    drop_value(machine, value);
    if (slot) {
        fastmm_swap_get(machine, slot);
        *swap_slot(machine, slot) |= SWAP_EXCLUSIVE;
    }
    *value = slot;
}

void fastmm_object_drop(struct fastmm_object *object, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end && i < object->pages; i++) {
        uint64_t *chunk = object->chunks[i / OBJECT_CHUNK];
        if (chunk)
            drop_value(object->machine, chunk + i % OBJECT_CHUNK);
    }
}

int fastmm_object_adopt(struct fastmm_object *object, uint64_t index, uint64_t pfn)
{
    struct fastmm_machine *machine = object->machine;
    uint64_t *slot = slot_of(object, index);
    if (!slot)
        return -ENOMEM;
    fastmm_frame_claim(machine, pfn, frame_kind_of(object));
    machine->frames.word[pfn] += FRAME_REF | (*slot ? FRAME_DIRTY : 0);
    drop_value(machine, slot);
    *slot = pfn;
    return 0;
}

int fastmm_object_read(struct fastmm_object *object, uint64_t first, uint64_t count)
{
    if (first > object->pages || count > object->pages - first)
        return -EINVAL;
    int rc = 0;
    uint64_t pfn;
    for (uint64_t i = first; i < first + count && !rc; i++)
        rc = fastmm_object_page(object, i, &pfn);
    return rc;
}
