/* SPDX-License-Identifier: MIT */
/*
 * The same function many times over, each at another place: where code lies moves a short loop by
 * more than the effects that are looked for. The copies' entries lie 0, 4, ... 60 bytes behind a
 * multiple of 64; what shifts them are no-ops before the entry, which nobody executes.
 */
#ifndef FASTMM_BENCH_CLAIMS_PLACED_H
#define FASTMM_BENCH_CLAIMS_PLACED_H

enum { PLACEMENTS = 16, PLACEMENT_STEP = 4 };

/* Before a function: copy `p` of it, in a section of the given name. */
#define PLACED(p, in)                                  \
    __attribute__((noinline, aligned(64), section(in), \
                   patchable_function_entry(PLACEMENT_STEP * (p), PLACEMENT_STEP * (p))))

/* m(0, ...) m(1, ...) ... */
#define EACH_PLACEMENT(m, ...)                                                                    \
    m(0, __VA_ARGS__) m(1, __VA_ARGS__) m(2, __VA_ARGS__) m(3, __VA_ARGS__) m(4, __VA_ARGS__)     \
        m(5, __VA_ARGS__) m(6, __VA_ARGS__) m(7, __VA_ARGS__) m(8, __VA_ARGS__) m(9, __VA_ARGS__) \
            m(10, __VA_ARGS__) m(11, __VA_ARGS__) m(12, __VA_ARGS__) m(13, __VA_ARGS__)           \
                m(14, __VA_ARGS__) m(15, __VA_ARGS__)

/* Names of parts joined by '_', macros among them expanded. */
#define JOIN2_(a, b)   a##_##b
#define JOIN2(a, b)    JOIN2_(a, b)
#define JOIN3(a, b, c) JOIN2(JOIN2(a, b), c)
#define TEXT_(x)       #x
#define TEXT(x)        TEXT_(x)

/*
 * Copy 0 has a section of its own, so that the linker tells where it starts and stops, and with it
 * how large the function is. The others share one.
 */
#define SECTION_0(of)  "claim_text_" TEXT(of)
#define SECTION_1(of)  "claim_text"
#define SECTION_2(of)  SECTION_1(of)
#define SECTION_3(of)  SECTION_1(of)
#define SECTION_4(of)  SECTION_1(of)
#define SECTION_5(of)  SECTION_1(of)
#define SECTION_6(of)  SECTION_1(of)
#define SECTION_7(of)  SECTION_1(of)
#define SECTION_8(of)  SECTION_1(of)
#define SECTION_9(of)  SECTION_1(of)
#define SECTION_10(of) SECTION_1(of)
#define SECTION_11(of) SECTION_1(of)
#define SECTION_12(of) SECTION_1(of)
#define SECTION_13(of) SECTION_1(of)
#define SECTION_14(of) SECTION_1(of)
#define SECTION_15(of) SECTION_1(of)
#define SECTION(p, of) SECTION_##p(of)

#define DECLARE_SIZE(of)                                                                     \
    extern const char JOIN2(__start_claim_text, of)[] __attribute__((visibility("hidden"))); \
    extern const char JOIN2(__stop_claim_text, of)[] __attribute__((visibility("hidden")));
/* Bytes of the function's text. */
#define SIZE(of) (unsigned)(JOIN2(__stop_claim_text, of) - JOIN2(__start_claim_text, of))

/*
 * The parts of a variant named `name` in a file that is compiled for several CONFIGs: its copies by
 * m(p, name, ...), which defines PLACED_NAME(name, p), and name_text(), which gives the size. Then
 * the value of a struct of the copies and that function.
 */
#define PLACED_NAME(name, p) JOIN2(name, p)
#define NAME_PLACED(p, name) PLACED_NAME(name, p),
#define DEFINE_PLACED(m, name, ...)         \
    EACH_PLACEMENT(m, name, __VA_ARGS__)    \
    DECLARE_SIZE(JOIN2(name, CONFIG))       \
    static unsigned JOIN2(name, text)(void) \
    {                                       \
        return SIZE(JOIN2(name, CONFIG));   \
    }
#define PLACED_COPIES(name)                                    \
    {                                                          \
        {EACH_PLACEMENT(NAME_PLACED, name)}, JOIN2(name, text) \
    }

#endif
