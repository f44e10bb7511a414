/* SPDX-License-Identifier: MIT */
#include "mm/compare.h"

#include <fastmm/mm.h>
#include <inttypes.h>
#include <string.h>

#define SLOTS 32768u /* more than twice the pages of all processes */

/*
 * Frame numbers say nothing by themselves; which entries have the same one does. Each page is
 * therefore named by the first entry, in order of process and page, that maps it.
 */
struct names {
    struct {
        uint64_t pfn;
        uint32_t name;
    } slot[SLOTS];
    uint32_t of[TRACE_PROCESSES][TRACE_PAGES]; /* 0: no frame known */
};

static uint32_t name_of(struct names *names, uint64_t pfn, uint32_t fresh)
{
    uint32_t at = (uint32_t)(pfn * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
    while (names->slot[at].name && names->slot[at].pfn != pfn)
        at = (at + 1) % SLOTS;
    if (!names->slot[at].name) {
        names->slot[at].pfn = pfn;
        names->slot[at].name = fresh;
    }
    return names->slot[at].name;
}

static void name_frames(struct names *names, const struct world *world,
                        const struct world_view *view)
{
    memset(names->slot, 0, sizeof(names->slot));
    for (unsigned p = 0; p < TRACE_PROCESSES; p++)
        for (unsigned i = 0; view->space[p].alive && i < world->count; i++) {
            uint64_t pfn = view->space[p].page[i].pfn;
            names->of[p][i] = pfn ? name_of(names, pfn, p * TRACE_PAGES + i + 1) : 0;
        }
}

static bool present(enum trace_kind kind)
{
    return trace_kind_class(kind) == TRACE_PRESENT;
}

static bool same_kind(enum trace_kind a, enum trace_kind b, bool frames)
{
    return frames ? a == b : trace_kind_class(a) == trace_kind_class(b);
}

static const char *page_difference(const struct comparison *c, const struct world_page *a,
                                   const struct world_page *b, bool same_frame)
{
    bool frames = c->channels & WORLD_FRAMES;
    if (!same_kind(a->kind, b->kind, frames))
        return "the kind of entry";
    if (a->uffd_wp != b->uffd_wp)
        return "uffd-wp";
    if ((c->channels & WORLD_RAW) && a->raw != b->raw)
        return "the raw entry";
    if ((c->channels & WORLD_PAGEMAP) && a->word != b->word)
        return "the word of pagemap";
    if ((c->channels & WORLD_PAGEMAP) && a->categories != b->categories)
        return "what PAGEMAP_SCAN says";
    if (frames && present(a->kind) && a->maps != b->maps)
        return "the map count";
    if (frames && (present(a->kind) || a->kind == TRACE_SWAP) && !same_frame)
        return "who shares the page";
    return NULL;
}

static bool same_mapping(const struct world_mapping *a, const struct world_mapping *b)
{
    return a->first == b->first && a->end == b->end && a->offset == b->offset &&
           !((a->flags ^ b->flags) & WORLD_MAPPING_FLAGS);
}

/* The first page at which the mappings differ, or -1. */
static int mapping_difference(const struct world_space *a, const struct world_space *b)
{
    unsigned i = 0;
    while (i < a->mappings && i < b->mappings && same_mapping(&a->mapping[i], &b->mapping[i]))
        i++;
    if (i < a->mappings)
        return (int)a->mapping[i].first;
    return i < b->mappings ? (int)b->mapping[i].first : -1;
}

static struct names names[2];

void compare_name_frames(const struct world *world, struct world_view *view)
{
    name_frames(&names[0], world, view);
    for (unsigned p = 0; p < TRACE_PROCESSES; p++)
        for (unsigned i = 0; view->space[p].alive && i < world->count; i++)
            view->space[p].page[i].pfn = names[0].of[p][i];
}

static bool compare_space(const struct comparison *c, unsigned p, struct difference *d)
{
    const struct world_space *a = &c->view[0]->space[p], *b = &c->view[1]->space[p];
    const struct world *w = c->world[0];
    d->process = p;
    for (unsigned i = 0; i < w->count; i++) {
        bool same_frame = names[0].of[p][i] == names[1].of[p][i];
        const char *what = page_difference(c, &a->page[i], &b->page[i], same_frame);
        if (what) {
            snprintf(d->text, sizeof(d->text),
                     "p%u, page %u: %s differs (pagemap %#" PRIx64 " and %#" PRIx64
                     ", PAGEMAP_SCAN %#x and %#x)",
                     p, w->first + i, what, a->page[i].word, b->page[i].word, a->page[i].categories,
                     b->page[i].categories);
            return true;
        }
    }
    int page = c->channels & WORLD_MAPPINGS ? mapping_difference(a, b) : -1;
    if (page >= 0) {
        snprintf(d->text, sizeof(d->text), "p%u: the mappings differ from page %d on", p, page);
        return true;
    }
    for (unsigned i = 0; (c->channels & WORLD_RSS) && i < 4; i++)
        if (a->rss[i] != b->rss[i]) {
            snprintf(d->text, sizeof(d->text),
                     "p%u: rss %s is %" PRId64 " on the %s, %" PRId64 " on the %s", p,
                     trace_rss_names[i], a->rss[i], w->name, b->rss[i], c->world[1]->name);
            return true;
        }
    return false;
}

bool compare_views(const struct comparison *c, struct difference *d)
{
    for (int i = 0; i < 2; i++)
        name_frames(&names[i], c->world[i], c->view[i]);
    for (unsigned p = 0; p < TRACE_PROCESSES; p++) {
        if (c->view[0]->space[p].alive != c->view[1]->space[p].alive) {
            d->process = p;
            snprintf(d->text, sizeof(d->text), "p%u lives in one world only", p);
            return true;
        }
        if (c->view[0]->space[p].alive && compare_space(c, p, d))
            return true;
    }
    return false;
}

/* --- Tables ---------------------------------------------------------------------------------- */

static void describe_raw(char *text, size_t size, uint64_t raw)
{
    snprintf(text, size, "%s%s%s%s%s %016" PRIx64,
             fastmm_pte_present(raw) ? (fastmm_pte_write(raw) ? "rw" : "ro") : "",
             fastmm_pte_present(raw) && fastmm_pte_dirty(raw) ? " dirty" : "",
             fastmm_pte_protnone(raw) ? " protnone" : "",
             fastmm_pte_present(raw) && fastmm_pte_special(raw) ? " special" : "",
             fastmm_pte_present(raw) ? "" : "swap format", raw);
}

/* "anon wp x2 =p0:5 rw dirty 8000000000000067": what is known of an entry. */
static void describe(char *text, size_t size, const struct world *world,
                     const struct world_page *page, uint32_t name)
{
    char maps[24] = "", frame[32] = "", raw[64] = "";
    if (page->maps >= 0)
        snprintf(maps, sizeof(maps), " x%" PRId64, page->maps);
    if (name && page->kind != TRACE_ZERO)
        snprintf(frame, sizeof(frame), " =p%u:%u", (name - 1) / TRACE_PAGES,
                 world->first + (name - 1) % TRACE_PAGES);
    if ((world->channels & WORLD_RAW) && page->kind != TRACE_NONE)
        describe_raw(raw, sizeof(raw), page->raw);
    snprintf(text, size, "%s%s%s%s %s", trace_kind_name(page->kind), page->uffd_wp ? " wp" : "",
             maps, frame, raw);
}

static void print_rss(FILE *out, const char *name, const int64_t rss[4])
{
    fprintf(out, "  rss on the %-7s", name);
    for (int i = 0; i < 4; i++)
        fprintf(out, " %s %" PRId64, trace_rss_names[i], rss[i]);
    putc('\n', out);
}

static void print_mappings(FILE *out, const char *name, const struct world_space *space)
{
    fprintf(out, "  mapped on the %s:", name);
    for (unsigned i = 0; i < space->mappings; i++) {
        const struct world_mapping *m = &space->mapping[i];
        fprintf(out, " %u..%u:%s%s%s%s", m->first, m->end, m->flags & FASTMM_VM_READ ? "r" : "",
                m->flags & FASTMM_VM_WRITE ? "w" : "", m->flags & FASTMM_VM_EXEC ? "x" : "",
                m->flags & FASTMM_VM_SHARED ? "s" : "p");
        if (m->offset)
            fprintf(out, "+%u", m->offset);
    }
    putc('\n', out);
}

void compare_print(FILE *out, const struct comparison *c, unsigned p)
{
    char left[160], right[160];
    for (int i = 0; i < 2; i++)
        name_frames(&names[i], c->world[i], c->view[i]);
    fprintf(out, "  p%u  %4s  %-64s %s\n", p, "page", c->world[0]->name, c->world[1]->name);
    for (unsigned i = 0; i < c->world[0]->count; i++) {
        const struct world_page *a = &c->view[0]->space[p].page[i];
        const struct world_page *b = &c->view[1]->space[p].page[i];
        if (a->kind == TRACE_NONE && b->kind == TRACE_NONE)
            continue;
        bool same = !page_difference(c, a, b, names[0].of[p][i] == names[1].of[p][i]);
        describe(left, sizeof(left), c->world[0], a, names[0].of[p][i]);
        describe(right, sizeof(right), c->world[1], b, names[1].of[p][i]);
        fprintf(out, "  %s   %4u  %-64s %s\n", same ? "  " : "->", c->world[0]->first + i, left,
                right);
    }
    for (int i = 0; i < 2; i++) {
        print_mappings(out, c->world[i]->name, &c->view[i]->space[p]);
        print_rss(out, c->world[i]->name, c->view[i]->space[p].rss);
    }
}

void compare_print_one(FILE *out, const struct world *world, const struct world_view *view,
                       unsigned p)
{
    char text[160];
    name_frames(&names[0], world, view);
    fprintf(out, "  p%u  page  %s\n", p, world->name);
    for (unsigned i = 0; i < world->count; i++) {
        if (view->space[p].page[i].kind == TRACE_NONE)
            continue;
        describe(text, sizeof(text), world, &view->space[p].page[i], names[0].of[p][i]);
        fprintf(out, "       %4u  %s\n", world->first + i, text);
    }
    print_mappings(out, world->name, &view->space[p]);
    print_rss(out, world->name, view->space[p].rss);
}
