/* SPDX-License-Identifier: MIT */
/* Which frames are free, reserved and in use, and pins. */
#include "frame.h"

#include "table.h"

int fastmm_frame_alloc(struct fastmm_machine *machine, enum fastmm_frame_kind kind, uint64_t *pfn)
{
    struct fastmm_frames *frames = &machine->frames;
    if (!fastmm_arena_spend(&machine->arena))
        return -ENOMEM;
    if (machine->free_head) {
        *pfn = machine->free_head;
        machine->free_head = frames->word[*pfn] & FRAME_NEXT_MASK;
        machine->frames_freed--;
    } else if (machine->next_fresh <= frames->highest) {
        *pfn = machine->next_fresh++;
    } else {
        return -ENOMEM;
    }
    frames->word[*pfn] = FRAME_KIND(kind);
    machine->frames_used++;
    return 0;
}

static void put_on_free_list(struct fastmm_machine *machine, uint64_t pfn)
{
    machine->frames.word[pfn] = machine->free_head;
    machine->free_head = pfn;
    machine->frames_freed++;
}

void fastmm_frame_free(struct fastmm_machine *machine, uint64_t pfn)
{
    put_on_free_list(machine, pfn);
    machine->frames_used--;
}

void fastmm_frame_claim(struct fastmm_machine *machine, uint64_t pfn, enum fastmm_frame_kind kind)
{
    machine->frames.word[pfn] = FRAME_KIND(kind);
    machine->frames_reserved--;
    machine->frames_used++;
}

int fastmm_machine_reserve(struct fastmm_machine *machine, uint64_t count, uint64_t align,
                           uint64_t *first)
{
    struct fastmm_frames *frames = &machine->frames;
    if (count == 0 || align == 0 || (align & (align - 1)))
        return -EINVAL;
    uint64_t start = (machine->next_fresh + align - 1) & ~(align - 1);
    if (start < machine->next_fresh || start > frames->highest ||
        count > frames->highest - start + 1 || !fastmm_arena_spend(&machine->arena))
        return -ENOMEM;
    while (machine->next_fresh < start)
        put_on_free_list(machine, machine->next_fresh++);
    for (uint64_t i = 0; i < count; i++)
        frames->word[start + i] = FRAME_KIND(FASTMM_FRAME_RESERVED);
    machine->next_fresh += count;
    machine->frames_reserved += count;
    *first = start;
    return 0;
}

int fastmm_machine_unreserve(struct fastmm_machine *machine, uint64_t first, uint64_t count)
{
    struct fastmm_frames *frames = &machine->frames;
    if (first < FRAME_FIRST || first > frames->highest || count > frames->highest - first + 1)
        return -EINVAL;
    for (uint64_t pfn = first; pfn < first + count; pfn++)
        if (pfn < machine->next_fresh && frame_kind(frames->word[pfn]) == FASTMM_FRAME_RESERVED) {
            put_on_free_list(machine, pfn);
            machine->frames_reserved--;
        }
    return 0;
}

struct fastmm_frames *fastmm_machine_frames(struct fastmm_machine *machine)
{
    return &machine->frames;
}

int fastmm_machine_frame(const struct fastmm_machine *machine, uint64_t pfn,
                         struct fastmm_frame_info *info)
{
    const struct fastmm_frames *frames = &machine->frames;
    if (pfn > frames->highest || (pfn < FRAME_FIRST && pfn != FASTMM_PFN_ZERO))
        return -EINVAL;
    uint64_t word = frames->word[pfn];
    struct fastmm_frame_info all = {.kind = frame_kind(word)};
    if (all.kind != FASTMM_FRAME_FREE) {
        all.refs = frame_refs(word);
        all.mapcount = frame_maps(word);
        all.pins = machine->pins[pfn];
        all.order = (unsigned)((word & FRAME_ORDER_MASK) >> FRAME_ORDER_SHIFT);
        all.dirty = (word & FRAME_DIRTY) != 0;
        all.young = (word & FRAME_YOUNG) && !frame_is_anon(word);
        all.exclusive = frame_exclusive(frames, pfn);
    }
    *info = all;
    return 0;
}

int fastmm_mm_pin(struct fastmm_mm *mm, uint64_t addr, uint64_t *pfn)
{
    struct fastmm_machine *machine = mm->machine;
    const struct fastmm_vma *vma = fastmm_mm_find(mm, addr);
    if (vma && (vma->flags & FASTMM_VM_PFNMAP))
        return -EINVAL; /* raw frames have no metadata to hold a pin */
    if (vma && (vma->flags & FASTMM_VM_SHARED) && vma->object->kind == FASTMM_OBJECT_FILE)
        return -EFAULT;
    const fastmm_pte_t *pte = fastmm_table_find(mm, addr);
    int rc = pte && fastmm_pte_present(*pte) && fastmm_pte_write(*pte)
                 ? 0 /* which tells the entry nothing */
                 : fastmm_mm_fault(mm, addr, FASTMM_WRITE);
    if (rc)
        return rc;
    /* A page that could just be written to is exclusive, or shared by intent. */
    uint64_t page = fastmm_pte_pfn(*fastmm_table_find(mm, addr));
    if (machine->frames.word[page] & FRAME_GUARDS)
        return -EOVERFLOW;
    machine->pins[page]++;
    machine->frames.word[page] = (machine->frames.word[page] + FRAME_REF) | FRAME_PINNED;
    mm->has_pinned = true;
    *pfn = page;
    return 0;
}

int fastmm_machine_unpin(struct fastmm_machine *machine, uint64_t pfn)
{
    struct fastmm_frames *frames = &machine->frames;
    if (pfn < FRAME_FIRST || pfn > frames->highest || machine->pins[pfn] == 0)
        return -EINVAL;
    if (--machine->pins[pfn] == 0)
        frames->word[pfn] &= ~FRAME_PINNED;
    frame_put(machine, pfn);
    return 0;
}
