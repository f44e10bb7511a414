/* SPDX-License-Identifier: MIT */
/*
 * What `fastmm tune` measures, and what follows from it. Measuring fills plain tables; everything
 * concluded is a pure function of them, so that tests bring tables of machines that aren't here.
 */
#ifndef FASTMM_TOOLS_TUNE_H
#define FASTMM_TOOLS_TUNE_H

#include "json.h"
#include "measure.h"
#include "settings.h"
#include "tool.h"

#include <stdbool.h>

/* ---- Sizes: one job, several ways ------------------------------------------------------------ */

enum tune_way { TUNE_VECTOR, TUNE_REP, TUNE_STREAM, TUNE_LIBC, TUNE_WAYS };

/* The ways that the library can choose from stand before this. */
#define TUNE_OWN_WAYS TUNE_LIBC

#define TUNE_MAX_SIZES 40

struct tune_table {
    const char *job; /* "copy", "clear" */
    unsigned count;
    size_t size[TUNE_MAX_SIZES]; /* rising */
    struct sample at[TUNE_MAX_SIZES][TUNE_WAYS];
};

/* Neighbouring sizes with the same best way. */
struct tune_band {
    size_t first, last;
    enum tune_way best;
    double behind[TUNE_WAYS]; /* time over the best's at its worst size; 0: not measured */
};

/* The bands of a table, in order. A way that leads by less than the noise ends no band. */
unsigned tune_bands(const struct tune_table *table, struct tune_band bands[TUNE_MAX_SIZES]);

/*
 * The size from which `way` is never behind any of the ways in the mask `others` (1 << way) up to
 * and including `last`, and ahead of them on the whole; UINT64_MAX if there is none.
 */
uint64_t tune_crossover(const struct tune_table *table, enum tune_way way, unsigned others,
                        size_t last);

/* ---- The alias map of rep movsb -------------------------------------------------------------- */

/* One copy size: time by alias = (dst - src) & 4095. */
#define TUNE_MAX_ALIASES 512

struct tune_map {
    size_t size;
    unsigned count;
    unsigned alias[TUNE_MAX_ALIASES]; /* rising */
    struct sample at[TUNE_MAX_ALIASES];
};

/* Neighbouring aliases that are slow. */
struct tune_zone {
    unsigned first, last;
    unsigned worst; /* the alias in it that is slowest */
    double times;   /* how many times slower than usual, there */
};

/* The typical time of the map: its median. */
double tune_map_usual(const struct tune_map *map);

/* Zones at least TUNE_SLOW times slower than usual. Returns their number. */
#define TUNE_SLOW      1.5
#define TUNE_MAX_ZONES 8
/* From this on a zone is a trap: whoever meets it loses more than rep ever wins. */
#define TUNE_TRAP 2.0
/* In copies of at least this size; nobody uses rep for small ones that alias. */
#define TUNE_TRAP_SIZE 4096
unsigned tune_zones(const struct tune_map *map, struct tune_zone zones[TUNE_MAX_ZONES]);

/* ---- The knee of rep for short sizes --------------------------------------------------------- */

#define TUNE_MAX_SHORT 32

struct tune_short {
    unsigned count;
    size_t size[TUNE_MAX_SHORT]; /* rising */
    struct sample at[TUNE_MAX_SHORT];
};

/* The last size before the time leaves the level of the smallest one. */
struct tune_knee {
    size_t size;
    double level, beyond; /* ns up to it, and at the next measured size; 0: flat to the end */
};
struct tune_knee tune_find_knee(const struct tune_short *curve);

/* ---- Masked stores and loads at the edge of mapped memory ------------------------------------ */

struct tune_edges {
    bool measured;
    struct sample store_inside, store_edge, load_inside, load_edge, store_nothing;
};

/* ---- libc and its tunables ------------------------------------------------------------------- */

#define TUNE_MAX_PROBES 16

struct tune_probe {
    char name[40]; /* "copy 4 KiB, aliased" */
    struct sample plain, tuned;
};

struct tune_libc {
    const char *skipped; /* why nothing was tried, or NULL */
    char line[256];      /* the value of GLIBC_TUNABLES, or empty: none helps */
    double gain;         /* geometric mean over the probes */
    unsigned count;
    struct tune_probe probes[TUNE_MAX_PROBES];
};

/*
 * What to try, in this order, each on top of what helped before: streaming from where it wins; rep
 * from where it wins, or never where aliases make it a trap. An early streaming start makes up for
 * what giving up rep costs.
 */
#define TUNE_CANDIDATES 3
struct tune_results;
struct tune_candidate {
    char tunable[80];
};
unsigned tune_candidates(const struct tune_results *r,
                         struct tune_candidate candidates[TUNE_CANDIDATES]);

/* ---- All together ---------------------------------------------------------------------------- */

#define TUNE_MAPS 4

struct tune_results {
    double seconds;
    const char *vector;                   /* the implementation behind TUNE_VECTOR */
    unsigned avoided_first, avoided_last; /* aliases at which the library never uses rep movsb */
    size_t largest;                       /* bytes of the largest block measured */
    struct tune_table copy, clear;
    struct tune_map maps[TUNE_MAPS];
    struct tune_short rep_copy, rep_clear;
    struct tune_edges edges;
    struct tune_libc libc;
};

/* The slowest alias of copies large enough for a trap; times 1 and some alias if none is slow. */
struct tune_zone tune_worst_zone(const struct tune_results *r);

/*
 * The settings that the measurements call for. No rep for copies if there is a trap outside the
 * aliases at which the library avoids rep anyway.
 */
struct fastmm_copy_settings tune_settings(const struct tune_results *r);

/* "vectors", "rep", "streaming", "libc" as they stand in sentences and columns. */
const char *tune_way_name(enum tune_way way, const char *job);

/* The typical spread of everything measured. */
double tune_noise(const struct tune_results *r);

/* Everything but the libc part. 0, or -1 with *error. */
int tune_measure(struct tune_results *r, struct tool_error *error);

/* Fills r->libc, from what was measured before. 0, or -1 with *error. */
int tune_try_libc(struct tune_results *r, struct tool_error *error);

/* The child's half of tune_try_libc(): times libc's routines and prints them. */
int tune_probe_main(unsigned worst_alias);

void tune_report_text(const struct tune_results *r);
void tune_report_json(const struct tune_results *r, struct json *json);

#endif
