/* SPDX-License-Identifier: MIT */
#include "mm/recording.h"

#include "mm/compare.h"
#include "mm/trace_words.h"

#include <fastmm/mm.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct trace_word channel_words[] = {
    {"entries", WORLD_ENTRIES}, {"frames", WORLD_FRAMES},     {"rss", WORLD_RSS},
    {"raw", WORLD_RAW},         {"mappings", WORLD_MAPPINGS}, {NULL, 0},
};

/* --- Writing --------------------------------------------------------------------------------- */

void recording_begin(struct recorder *r, const struct trace *trace, const struct world *world)
{
    const struct trace objects = {
        .object = {trace->object[0], trace->object[1], trace->object[2], trace->object[3]}};
    trace_print(r->out, &objects);
    fprintf(r->out, "| shows");
    for (const struct trace_word *word = channel_words; word->text; word++)
        if (world->channels & word->value)
            fprintf(r->out, " %s", word->text);
    putc('\n', r->out);
    r->last.space[0].alive = true;
    for (unsigned p = 0; p < TRACE_PROCESSES; p++)
        for (unsigned i = 0; i < TRACE_PAGES; i++)
            r->last.space[p].page[i] = (struct world_page){.kind = TRACE_NONE, .maps = -1};
}

static bool same_page(const struct world_page *a, const struct world_page *b, unsigned apart)
{
    return a->kind == b->kind && a->uffd_wp == b->uffd_wp && a->maps == b->maps &&
           a->raw == b->raw && (a->pfn ? a->pfn + apart : 0) == b->pfn;
}

static void write_pages(FILE *out, unsigned p, const struct world *world,
                        const struct world_space *last, const struct world_space *now)
{
    for (unsigned i = 0, end; i < world->count; i = end) {
        const struct world_page *page = &now->page[i];
        end = i + 1;
        if (same_page(&last->page[i], page, 0))
            continue;
        while (end < world->count && same_page(page, &now->page[end], end - i) &&
               !same_page(&last->page[end], &now->page[end], 0))
            end++;
        fprintf(out, "| p%u page %u %u %s", p, world->first + i, end - i,
                trace_kind_name(page->kind));
        if (page->uffd_wp)
            fputs(" wp", out);
        if (page->maps >= 0)
            fprintf(out, " x%" PRId64, page->maps);
        if (page->pfn)
            fprintf(out, " #%" PRIu64, page->pfn);
        if (page->raw)
            fprintf(out, " %" PRIx64, page->raw);
        putc('\n', out);
    }
}

static void write_mappings(FILE *out, unsigned p, const struct world_space *now)
{
    fprintf(out, "| p%u mapped", p);
    for (unsigned i = 0; i < now->mappings; i++)
        fprintf(out, " %u %u %u %u", now->mapping[i].first, now->mapping[i].end,
                (unsigned)(now->mapping[i].flags & WORLD_MAPPING_FLAGS), now->mapping[i].offset);
    putc('\n', out);
}

static bool same_mappings(const struct world_space *a, const struct world_space *b)
{
    bool same = a->mappings == b->mappings;
    for (unsigned i = 0; same && i < a->mappings; i++)
        same = !memcmp(&a->mapping[i], &b->mapping[i], sizeof(a->mapping[i]));
    return same;
}

void recording_step(struct recorder *r, const struct trace_op *op, int outcome,
                    const struct world *world, const struct world_view *view)
{
    static struct world_view now;
    now = *view;
    compare_name_frames(world, &now);
    trace_print_op(r->out, op);
    fprintf(r->out, "| = %d\n", outcome);
    for (unsigned p = 0; p < TRACE_PROCESSES; p++) {
        const struct world_space *last = &r->last.space[p], *space = &now.space[p];
        if (last->alive != space->alive)
            fprintf(r->out, "| p%u %s\n", p, space->alive ? "lives" : "ends");
        r->last.space[p].alive = space->alive;
        if (!space->alive)
            continue;
        if (memcmp(last->rss, space->rss, sizeof(space->rss)))
            fprintf(r->out, "| p%u rss %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", p,
                    space->rss[0], space->rss[1], space->rss[2], space->rss[3]);
        if (!same_mappings(last, space))
            write_mappings(r->out, p, space);
        write_pages(r->out, p, world, last, space);
        r->last.space[p] = *space;
    }
}

/* --- Reading --------------------------------------------------------------------------------- */

struct words {
    const char *at;
    char word[40];
};

/* The next word; empty at the end. */
static const char *next_word(struct words *w)
{
    size_t length = 0;
    while (*w->at == ' ' || *w->at == '\t' || *w->at == '\r')
        w->at++;
    while (*w->at && *w->at != ' ' && *w->at != '\t' && *w->at != '\r') {
        if (length + 1 < sizeof(w->word))
            w->word[length++] = *w->at;
        w->at++;
    }
    w->word[length] = '\0';
    return w->word;
}

static bool to_number(const char *text, int base, int64_t least, int64_t most, int64_t *number)
{
    char *end;
    *number = strtoll(text, &end, base);
    return end != text && !*end && *number >= least && *number <= most;
}

static bool next_number(struct words *w, int64_t least, int64_t most, int64_t *number)
{
    return to_number(next_word(w), 10, least, most, number);
}

static bool read_channels(struct words *w, struct recorded_step *step)
{
    while (*next_word(w)) {
        const struct trace_word *word = channel_words;
        while (word->text && strcmp(word->text, w->word) != 0)
            word++;
        if (!word->text)
            return false;
        step->channels |= word->value;
    }
    return true;
}

static bool read_rss(struct words *w, struct world_space *space)
{
    for (int i = 0; i < 4; i++)
        if (!next_number(w, INT32_MIN, INT32_MAX, &space->rss[i]))
            return false;
    return true;
}

static bool read_mappings(struct words *w, struct world_space *space)
{
    space->mappings = 0;
    while (*next_word(w)) {
        int64_t first, end, flags, offset;
        if (space->mappings == TRACE_PAGES || !to_number(w->word, 10, 0, TRACE_PAGES, &first) ||
            !next_number(w, first + 1, TRACE_PAGES, &end) ||
            !next_number(w, 0, WORLD_MAPPING_FLAGS, &flags) ||
            !next_number(w, 0, TRACE_PAGES, &offset))
            return false;
        space->mapping[space->mappings++] = (struct world_mapping){
            .first = (unsigned)first,
            .end = (unsigned)end,
            .flags = (uint32_t)flags,
            .offset = (unsigned)offset,
        };
    }
    return true;
}

static bool read_page(struct words *w, struct world_page *page)
{
    *page = (struct world_page){.maps = -1};
    next_word(w);
    while (page->kind < TRACE_KINDS && strcmp(w->word, trace_kind_name(page->kind)) != 0)
        page->kind++;
    if (page->kind == TRACE_KINDS)
        return false;
    while (*next_word(w)) {
        int64_t number;
        char *end;
        if (!strcmp(w->word, "wp"))
            page->uffd_wp = true;
        else if (*w->word == 'x' && to_number(w->word + 1, 10, 0, INT32_MAX, &number))
            page->maps = number;
        else if (*w->word == '#' && to_number(w->word + 1, 10, 1, INT32_MAX, &number))
            page->pfn = (uint64_t)number;
        else if ((page->raw = strtoull(w->word, &end, 16)) == 0 || *end)
            return false;
    }
    return true;
}

static bool read_pages(struct words *w, const struct world *world, struct world_space *space)
{
    struct world_page page;
    int64_t first, count;
    if (!next_number(w, world->first, world->first + world->count - 1, &first) ||
        !next_number(w, 1, world->first + world->count - first, &count) || !read_page(w, &page))
        return false;
    for (int64_t i = 0; i < count; i++) {
        space->page[first - world->first + i] = page;
        page.pfn += page.pfn != 0;
    }
    return true;
}

static bool read_process(struct words *w, const struct world *world, struct world_view *view)
{
    int64_t p;
    if (*w->word != 'p' || !to_number(w->word + 1, 10, 0, TRACE_PROCESSES - 1, &p))
        return false;
    struct world_space *space = &view->space[p];
    next_word(w);
    if (!strcmp(w->word, "rss"))
        return read_rss(w, space);
    if (!strcmp(w->word, "mapped"))
        return read_mappings(w, space);
    if (!strcmp(w->word, "page"))
        return read_pages(w, world, space);
    space->alive = !strcmp(w->word, "lives");
    return space->alive || !strcmp(w->word, "ends");
}

int recording_read(const struct trace_note *note, const struct world *world,
                   struct recorded_step *step, struct world_view *view, struct tool_error *error)
{
    struct words w = {.at = note->text};
    bool sound;
    int64_t outcome;
    next_word(&w);
    if (!strcmp(w.word, "shows")) {
        sound = read_channels(&w, step);
    } else if (!strcmp(w.word, "=")) {
        sound = step->has_outcome = next_number(&w, -4095, 16, &outcome);
        step->outcome = sound ? (int)outcome : 0;
    } else {
        sound = read_process(&w, world, view);
    }
    return sound ? 0 : tool_fail(error, "line %u: this recording makes no sense", note->line);
}
