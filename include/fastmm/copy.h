/* SPDX-License-Identifier: MIT */
/*
 * Copying, moving, clearing and filling memory, with routes chosen for the CPU at run time.
 *
 * From simple to advanced: the four everyday calls; whole pages; huge ranges; streaming; variants;
 * then what was chosen and why, and how to choose otherwise.
 *
 * What holds for every call below
 * - n = 0 reads and writes nothing, whatever the pointers are, NULL included. No attribute tells
 *   the compiler that a pointer isn't NULL.
 * - n is a full 64-bit size. No byte outside the given ranges is read or written on any path.
 * - Overlapping ranges are defined for fastmm_move() only; ranges that merely touch are fine.
 * - Safe from any thread, from signal handlers, before main and after fork: no locks, no
 *   allocation, no system call, errno untouched. The first call of a process also looks at the CPU.
 * - The direction flag is clear on entry, as the ABI says. If a caller breaks that rule, the right
 *   bytes are written all the same. No call returns with the flag set unless it was entered so.
 * - Plain stores, except where "streaming" is said; what is streamed is ordered before any later
 *   store of the same thread by the time the call returns.
 *
 * Inline and not. fastmm_copy() and its kin are inline up to FASTMM_COPY_INLINE_MAX bytes and call
 * the library above. A constant size is left to the compiler. Each has an exported twin with the
 * suffix _call, for callers that want small code or a pointer to the function.
 *
 * Checking. When FASTMM_CHECKED is defined (the CMake option of that name defines it for the
 * library and whoever links it, installed or not), each call first refuses ranges that wrap around
 * the address space, sizes above PTRDIFF_MAX and overlap outside fastmm_move(), before a byte is
 * touched: see fastmm_copy_set_handler().
 *
 * Sanitizers. In code compiled for the address, memory or thread sanitizer the inline calls go
 * through the compiler's own built-ins, so that each access is seen. A library built with
 * FASTMM_SANITIZE does its work in instrumented loops.
 */
#ifndef FASTMM_COPY_H
#define FASTMM_COPY_H

#include <fastmm/cpu.h>

#define FASTMM_COPY_EPOCH 1

/* Sizes up to this are handled in the caller's code, given a CPU with the registers for it. */
#define FASTMM_COPY_INLINE_MAX 128

/* The bytes of a page for fastmm_page_clear() and fastmm_page_copy(). */
#define FASTMM_COPY_PAGE 4096

/* Bytes around `hot` that fastmm_clear_huge() leaves in the cache. */
#define FASTMM_CLEAR_HOT_BYTES 65536

/* "Never" for a threshold. */
#define FASTMM_COPY_NEVER SIZE_MAX

/* The ways to do it. Each is whole: any size, alignment and (in move) overlap. */
enum fastmm_copy_impl {
    FASTMM_COPY_SCALAR, /* 8-byte words, plain C */
    FASTMM_COPY_SSE2,   /* 16-byte vectors */
    FASTMM_COPY_AVX2,   /* 32-byte vectors */
    FASTMM_COPY_AVX512, /* 64-byte vectors */
    FASTMM_COPY_REP,    /* rep movsb, rep stosb */
    FASTMM_COPY_STREAM, /* non-temporal stores, fenced */
    FASTMM_COPY_IMPL_COUNT
};

/* What a route is asked for. */
enum fastmm_copy_op {
    FASTMM_COPY_OP_COPY,
    FASTMM_COPY_OP_MOVE,
    FASTMM_COPY_OP_FILL, /* and clear */
    FASTMM_COPY_OP_COUNT
};

/* Why a route or a threshold is what it is. fastmm_copy_why() puts it in words. */
enum fastmm_copy_reason {
    FASTMM_COPY_WHY_BUILTIN,         /* nothing better is known */
    FASTMM_COPY_WHY_FORCED,          /* the settings say so */
    FASTMM_COPY_WHY_WIDEST,          /* the widest vectors that may be used */
    FASTMM_COPY_WHY_CLOCK,           /* 512-bit vectors lower the clock of this part */
    FASTMM_COPY_WHY_SMALL,           /* below every threshold: vectors */
    FASTMM_COPY_WHY_NO_ERMS,         /* rep isn't advertised as fast, or fast strings are off */
    FASTMM_COPY_WHY_VENDOR_UNKNOWN,  /* rep was never measured on parts of this vendor */
    FASTMM_COPY_WHY_FAMILY_SLOW_REP, /* rep is known to be slow on this family */
    FASTMM_COPY_WHY_ERMS,            /* rep from the size where ERMS parts win */
    FASTMM_COPY_WHY_FSRM,            /* rep from the size where FSRM parts win */
    FASTMM_COPY_WHY_REP_CACHED,      /* rep wins once both blocks leave the first-level cache */
    FASTMM_COPY_WHY_REP_SIZE,        /* the size is in the window where rep wins */
    FASTMM_COPY_WHY_ALIAS,           /* rep would win, but source and destination alias */
    FASTMM_COPY_WHY_MISALIGNED,      /* rep would win, but not with this destination */
    FASTMM_COPY_WHY_OVERLAP,         /* rep and streaming can't run backward */
    FASTMM_COPY_WHY_CACHE,           /* a share of the last-level cache */
    FASTMM_COPY_WHY_CACHE_FLOOR,     /* no plausible cache size: the floor */
    FASTMM_COPY_WHY_CACHE_CEILING,   /* the cache is larger than one thread can use: the ceiling */
    FASTMM_COPY_WHY_STREAM_SIZE,     /* at or above the streaming threshold */
    FASTMM_COPY_WHY_REP_STREAMS,     /* rep does without reading the destination on this family */
    FASTMM_COPY_WHY_CLAMPED,         /* moved to the nearest size that makes sense */
    FASTMM_COPY_WHY_COUNT
};

/* A threshold in bytes and where it comes from (enum fastmm_copy_reason). */
struct fastmm_copy_threshold {
    uint64_t bytes;
    uint32_t why;
    uint32_t reserved;
};

struct fastmm_copy_thresholds {
    struct fastmm_copy_threshold rep_min, rep_end, stream_min;
};

/*
 * What was decided for one CPU. Rep is used for sizes in [rep_min, rep_end), outside the alias zone
 * rep_alias_first <= (dst - src) & 4095 <= rep_alias_last and with a destination aligned to
 * rep_align; streaming from stream_min upwards where rep isn't used; vectors otherwise.
 */
struct fastmm_copy_plan {
    uint32_t vector; /* enum fastmm_copy_impl: the implementation for ordinary sizes */
    uint32_t vector_why;
    uint32_t inline_level; /* FASTMM_COPY_LEVEL_* for inline bodies */
    uint32_t forced; /* 1: `vector` does everything; the thresholds below are FASTMM_COPY_NEVER */
    uint32_t rep_alias_first;
    uint32_t rep_alias_last;
    uint32_t rep_align;
    uint32_t reserved;
    struct fastmm_copy_thresholds copy; /* and move */
    struct fastmm_copy_thresholds fill; /* and clear */
};

/*
 * What may be set. All zero is the default: everything derived from the CPU. A threshold is bytes,
 * 0 to derive it, or FASTMM_COPY_NEVER.
 */
struct fastmm_copy_settings {
    const char *implementation; /* force one by name for all sizes above the inline ones, or NULL */
    uint64_t disable;           /* bits 1 << enum fastmm_cpu_feature to do without */
    uint64_t copy_rep_min;      /* at least FASTMM_COPY_REP_FLOOR */
    uint64_t fill_rep_min;      /* at least FASTMM_COPY_REP_FLOOR */
    uint64_t copy_stream_min;   /* at least FASTMM_COPY_STREAM_FLOOR */
    uint64_t fill_stream_min;   /* at least FASTMM_COPY_STREAM_FLOOR */
};

/* Below these a threshold makes no sense on any CPU. */
#define FASTMM_COPY_REP_FLOOR    256
#define FASTMM_COPY_STREAM_FLOOR (64 * 1024)

/* Where one request goes. */
struct fastmm_copy_route {
    uint32_t impl; /* enum fastmm_copy_impl */
    uint32_t why;  /* enum fastmm_copy_reason */
};

/* What a checking build found wrong with a call. */
enum fastmm_copy_fault {
    FASTMM_COPY_FAULT_OVERLAP, /* the blocks overlap and the call isn't a move */
    FASTMM_COPY_FAULT_WRAP,    /* a block reaches past the end of the address space */
    FASTMM_COPY_FAULT_SIZE     /* more than PTRDIFF_MAX bytes */
};

/* `src` is NULL for a clear or fill. */
typedef void (*fastmm_copy_handler)(enum fastmm_copy_fault fault, const void *dst, const void *src,
                                    size_t n);

FASTMM_BEGIN_DECLS

/* ---- Everyday ------------------------------------------------------------------------------- */

/* Copies n bytes; the blocks must not overlap. Returns dst. */
FASTMM_INLINE void *fastmm_copy(void *dst, const void *src, size_t n);

/* As fastmm_copy(), for blocks that may overlap. Returns dst. */
FASTMM_INLINE void *fastmm_move(void *dst, const void *src, size_t n);

/* Writes n zero bytes. Returns dst. */
FASTMM_INLINE void *fastmm_clear(void *dst, size_t n);

/* Writes the low byte of `value` n times. Returns dst. */
FASTMM_INLINE void *fastmm_fill(void *dst, int value, size_t n);

FASTMM_API void *fastmm_copy_call(void *dst, const void *src, size_t n);
FASTMM_API void *fastmm_move_call(void *dst, const void *src, size_t n);
FASTMM_API void *fastmm_clear_call(void *dst, size_t n);
FASTMM_API void *fastmm_fill_call(void *dst, int value, size_t n);

/* ---- Pages ---------------------------------------------------------------------------------- */

/*
 * FASTMM_COPY_PAGE bytes, at any alignment, fastest at that of a page. The page stays cached. For
 * several pages or larger ones fastmm_clear() and fastmm_copy() do as well: these are they, with
 * the size given.
 */
FASTMM_API void fastmm_page_clear(void *page);
FASTMM_API void fastmm_page_copy(void *dst, const void *src);

/* ---- Huge ranges and streaming -------------------------------------------------------------- */

/*
 * Clears n bytes that, most of them, won't be used soon: a huge page about to be handed out, for
 * one. Streams past the cache except FASTMM_CLEAR_HOT_BYTES around dst + hot (moved inwards at
 * either end; all of a shorter block), which are written last and stay cached, whatever thresholds
 * or implementation are set. 0, or -EINVAL when n is not 0 and hot >= n. `hot` means nothing for
 * n = 0.
 */
FASTMM_API int fastmm_clear_huge(void *dst, size_t n, size_t hot);

/*
 * As fastmm_copy(), fastmm_clear() for data that nobody on this core reads soon: non-temporal
 * stores, ordered on return. Several times slower than the plain calls for what is in the cache.
 */
FASTMM_API void *fastmm_copy_stream(void *dst, const void *src, size_t n);
FASTMM_API void *fastmm_clear_stream(void *dst, size_t n);

/* ---- Variants ------------------------------------------------------------------------------- */

/*
 * As fastmm_copy(), with masked AVX-512 stores up to FASTMM_COPY_INLINE_MAX bytes where the CPU has
 * them: no branch on the size, so faster when sizes can't be predicted. A load of the destination
 * soon afterwards waits for the store to reach the cache (masked stores aren't forwarded), so
 * slower when the bytes are used at once.
 */
FASTMM_INLINE void *fastmm_copy_masked(void *dst, const void *src, size_t n);
FASTMM_API void *fastmm_copy_masked_call(void *dst, const void *src, size_t n);

/* ---- What is there -------------------------------------------------------------------------- */

/* "sse2"; NULL for numbers outside the enum. */
FASTMM_API const char *fastmm_copy_impl_name(uint32_t impl);

/* The implementation of that name, or -ENOENT. */
FASTMM_API int fastmm_copy_impl_by_name(const char *name);

/* 1 if the implementation was built for this architecture and *cpu can run it, else 0. */
FASTMM_API int fastmm_copy_impl_usable(uint32_t impl, const struct fastmm_cpu *cpu);

/*
 * One implementation by itself, past every threshold. 0, -EINVAL for numbers outside the enum, or
 * -ENOTSUP when this CPU can't run it.
 */
FASTMM_API int fastmm_copy_with(uint32_t impl, void *dst, const void *src, size_t n);
FASTMM_API int fastmm_move_with(uint32_t impl, void *dst, const void *src, size_t n);
FASTMM_API int fastmm_fill_with(uint32_t impl, void *dst, int value, size_t n);

/* ---- What was chosen, and choosing otherwise ------------------------------------------------ */

/*
 * The plan for any CPU; a pure function. `settings` may be NULL. 0, or a negative errno with
 * *reason (when not NULL) a string that says which setting is refused and why: -ENOENT for an
 * unknown implementation, -ENOTSUP for one that this CPU can't run or a threshold of one that isn't
 * there, -EINVAL for a threshold or a feature bit that makes no sense.
 */
FASTMM_API int fastmm_copy_plan_for(const struct fastmm_cpu *cpu,
                                    const struct fastmm_copy_settings *settings,
                                    struct fastmm_copy_plan *plan, const char **reason);

/* The plan in force. */
FASTMM_API void fastmm_copy_plan_get(struct fastmm_copy_plan *plan);

/*
 * Puts settings into force for the whole process, NULL for the defaults; errors as above, which
 * leave everything as it was. Calls of other threads that run meanwhile may mix old and new
 * thresholds, each of them correct. Two threads that configure at once must agree by themselves.
 */
FASTMM_API int fastmm_copy_configure(const struct fastmm_copy_settings *settings,
                                     const char **reason);

/* Where *plan sends one request beyond the inline sizes. The blocks aren't touched. Never fails. */
FASTMM_API struct fastmm_copy_route fastmm_copy_route_for(const struct fastmm_copy_plan *plan,
                                                          enum fastmm_copy_op op, const void *dst,
                                                          const void *src, size_t n);

/* A reason in words; "?" outside the enum. */
FASTMM_API const char *fastmm_copy_why(uint32_t reason);

/* ---- Checking ------------------------------------------------------------------------------- */

/*
 * Sets what a checking build calls when it refuses a call, NULL for the default, which traps. When
 * the handler returns, the refused call does too, with nothing done. Returns the handler before.
 * The handler runs in the caller's context: in a signal handler, if the call was made in one.
 */
FASTMM_API fastmm_copy_handler fastmm_copy_set_handler(fastmm_copy_handler handler);

FASTMM_END_DECLS

#include <fastmm/copy_inline.h>

#endif
