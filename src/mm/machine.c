/* SPDX-License-Identifier: MIT */
/* The life of a machine: its configuration, its arrays, and its swap areas. */
#include "machine.h"

#include "frame.h"
#include "span.h"
#include "swap.h"

#include <errno.h>
#include <string.h>

#define MAX_FRAMES (UINT64_C(1) << 32)

static uint64_t frame_count(const struct fastmm_machine *machine)
{
    return machine->frames.highest + 1;
}

static void free_arrays(struct fastmm_machine *machine)
{
    struct arena *arena = &machine->arena;
    struct fastmm_frames *frames = &machine->frames;
    fastmm_arena_free(arena, frames->word, frame_count(machine) * sizeof(*frames->word));
    fastmm_arena_free(arena, machine->pins, frame_count(machine) * sizeof(*machine->pins));
    fastmm_swap_free_areas(machine);
}

static int alloc_arrays(struct fastmm_machine *machine)
{
    struct arena *arena = &machine->arena;
    struct fastmm_frames *frames = &machine->frames;
    frames->word = fastmm_arena_zalloc(arena, frame_count(machine) * sizeof(*frames->word));
    machine->pins = fastmm_arena_zalloc(arena, frame_count(machine) * sizeof(*machine->pins));
    return frames->word && machine->pins ? 0 : -ENOMEM;
}

/* The machine itself lives in its own arena: move that out before closing it. */
static void close_machine(struct fastmm_machine *machine)
{
    free_arrays(machine);
    struct arena arena = machine->arena;
    fastmm_arena_close(&arena);
}

int fastmm_machine_create(const struct fastmm_machine_config *config,
                          struct fastmm_machine **machine)
{
    unsigned levels = config->levels ? config->levels : 4;
    if ((levels != 4 && levels != 5) || config->frames == 0 || config->frames > MAX_FRAMES ||
        !config->map != !config->unmap)
        return -EINVAL;

    int rc;
    const struct span_ops *ops = fastmm_span_ops(config->impl, &rc);
    if (!ops)
        return rc;

    struct arena arena;
    fastmm_arena_open(&arena, config);
    struct fastmm_machine *made = fastmm_arena_zalloc(&arena, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->arena = arena;
    made->levels = levels;
    made->span_ops = ops;
    made->soft_dirty = config->soft_dirty ? FASTMM_PTE_SOFT_DIRTY : 0;
    made->user_end = fastmm_va_user_end(levels);
    made->frames.highest = FRAME_FIRST + config->frames - 1;
    made->next_fresh = FRAME_FIRST;
    if (alloc_arrays(made)) {
        close_machine(made);
        return -ENOMEM;
    }
    made->frames.word[FASTMM_PFN_ZERO] = FRAME_KIND(FASTMM_FRAME_ZERO) | FRAME_REF;
    *machine = made;
    return 0;
}

int fastmm_machine_destroy(struct fastmm_machine *machine)
{
    if (machine->mms || machine->objects)
        return -EBUSY;
    close_machine(machine);
    return 0;
}

void fastmm_machine_get_stats(const struct fastmm_machine *machine,
                              struct fastmm_machine_stats *stats)
{
    uint64_t fresh = machine->frames.highest + 1 - machine->next_fresh;
    *stats = (struct fastmm_machine_stats){
        .frames_used = machine->frames_used,
        .frames_free = machine->frames_freed + fresh,
        .frames_reserved = machine->frames_reserved,
        .mms = machine->mms,
        .objects = machine->objects,
        .tables = machine->tables,
        .blocks = machine->arena.blocks,
        .swap_used = machine->swap_used,
        .pfn_reservations = machine->pfn_reservations,
        .huge_arena_bytes = machine->arena.huge_bytes,
    };
}

void fastmm_machine_fail_after(struct fastmm_machine *machine, uint64_t successes)
{
    machine->arena.budget = successes;
}

int fastmm_check_range(const struct fastmm_machine *machine, uint64_t start, uint64_t end)
{
    if ((start | end) & (FASTMM_PAGE_SIZE - 1))
        return -EINVAL;
    if (end < start || end > machine->user_end)
        return -ERANGE;
    return start == end ? -EINVAL : 0;
}
