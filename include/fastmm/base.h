/* SPDX-License-Identifier: MIT */
/*
 * What every other public header stands on: how names are exported, which
 * version this is, how errors are reported, and how an object file compiled
 * against another layout is kept from linking.
 *
 * Errors. Every call that can fail returns 0 or a negative errno value; on
 * failure nothing has changed. Out-parameters come last and are written on
 * success only.
 *
 * Layout epochs. Inline bodies freeze the layout of the structs they touch into
 * the caller's object code. Each module therefore has an epoch, raised with
 * every change of such a layout, and the out-of-line functions that its inline
 * bodies fall back to carry the epoch in their symbol names. An object compiled
 * against one epoch fails to link (or to load) against a library of another; it
 * can't miscount. FASTMM_EPOCH_NAME() makes such a name.
 */
#ifndef FASTMM_BASE_H
#define FASTMM_BASE_H

#include <stddef.h>
#include <stdint.h>

#define FASTMM_VERSION_MAJOR 0
#define FASTMM_VERSION_MINOR 1
#define FASTMM_VERSION_PATCH 0

#ifdef __cplusplus
#    define FASTMM_BEGIN_DECLS extern "C" {
#    define FASTMM_END_DECLS   }
#else
#    define FASTMM_BEGIN_DECLS
#    define FASTMM_END_DECLS
#endif

/* A function that the shared library exports. Who embeds the sources may define it otherwise. */
#ifndef FASTMM_API
#    define FASTMM_API __attribute__((visibility("default")))
#endif

/* A hot path that must land in the caller's code, whatever the optimiser thinks of its size. */
#define FASTMM_INLINE static inline __attribute__((always_inline))

#define FASTMM_LIKELY(x)   __builtin_expect(!!(x), 1)
#define FASTMM_UNLIKELY(x) __builtin_expect(!!(x), 0)

#define FASTMM_EPOCH_PASTE(name, epoch) name##_e##epoch
#define FASTMM_EPOCH_NAME(name, epoch)  FASTMM_EPOCH_PASTE(name, epoch)

FASTMM_BEGIN_DECLS

/*
 * The version of the library that is linked, as major * 10000 + minor * 100 + patch. A program
 * compares it with the FASTMM_VERSION_* macros, which are those it was compiled against.
 * Safe from any thread and from signal handlers.
 */
FASTMM_API unsigned fastmm_version(void);

FASTMM_END_DECLS

#endif
