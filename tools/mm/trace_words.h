/* SPDX-License-Identifier: MIT */
/* The words of the trace format, which its reader and its writer share. */
#ifndef FASTMM_TOOLS_MM_TRACE_WORDS_H
#define FASTMM_TOOLS_MM_TRACE_WORDS_H

#include "mm/trace.h"

struct trace_word {
    const char *text;
    uint32_t value;
};

/* What follows a verb. */
enum trace_shape {
    SHAPE_NOTHING,
    SHAPE_RANGE,    /* FIRST COUNT */
    SHAPE_PAGES,    /* FIRST [COUNT] */
    SHAPE_PROTECT,  /* FIRST COUNT PROT */
    SHAPE_MAP,      /* FIRST COUNT PROT [private|shared OBJECT [OFFSET]] [FLAG...] */
    SHAPE_REMAP,    /* FIRST COUNT SIZE [TARGET] */
    SHAPE_REGISTER, /* FIRST COUNT [FEATURE...] */
    SHAPE_MATCH,    /* FIRST COUNT [CATEGORY...] */
    SHAPE_FORK,     /* CHILD */
    SHAPE_NUMBER,   /* NUMBER */
    SHAPE_EXPECT,   /* FIRST [COUNT] KIND [ATTRIBUTE...] */
    SHAPE_RSS       /* COUNTER NUMBER */
};

struct trace_verb_words {
    const char *name;
    enum trace_shape shape;
};

extern const struct trace_verb_words trace_verbs[TRACE_VERBS];
extern const struct trace_word trace_prots[], trace_map_flags[], trace_features[],
    trace_categories[], trace_attributes[]; /* each ended by a NULL text */

#endif
