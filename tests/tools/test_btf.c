/* SPDX-License-Identifier: MIT */
/* Type information: what is found in a small one made by hand, and that each damage is refused. */
#include "test_main.h"

#include "mm/btf.h"

#include <stdlib.h>
#include <string.h>

#define KIND(kind, length) ((uint32_t)(kind) << 24 | (uint32_t)(length))
#define INT                1u
#define STRUCT             4u
#define UNION              5u
#define HEADER_WORDS       6u

/* struct a { int x; union { int y; struct c z; }; int b; }; struct c { int w; int b; } */
static const char names[] = "\0a\0x\0y\0z\0b\0c\0w";
enum { NAME_A = 1, NAME_X = 3, NAME_Y = 5, NAME_Z = 7, NAME_B = 9, NAME_C = 11, NAME_W = 13 };
static const uint32_t types[] = {
    0,      KIND(INT, 0),
    4,      32, /* 1: int */
    NAME_C, KIND(STRUCT, 2),
    8, /* 2: struct c */
    NAME_W, 1,
    0,      NAME_B,
    1,      32, /**/
    0,      KIND(UNION, 2),
    8, /* 3: the union */
    NAME_Y, 1,
    0,      NAME_Z,
    2,      0, /**/
    NAME_A, KIND(STRUCT, 3),
    16, /* 4: struct a */
    NAME_X, 1,
    0,      0,
    3,      32,
    NAME_B, 1,
    96, /**/
};

struct image {
    uint32_t header[HEADER_WORDS];
    uint32_t types[sizeof(types) / 4];
    char names[sizeof(names)];
};

static struct image sound(void)
{
    struct image image = {
        .header = {0x0001eb9f, 4 * HEADER_WORDS, 0, sizeof(types), sizeof(types), sizeof(names)}};
    memcpy(image.types, types, sizeof(types));
    memcpy(image.names, names, sizeof(names));
    return image;
}

enum { SIZE_OF_A = 24 }; /* its word in types[] */

#define IMAGE_BYTES (offsetof(struct image, names) + sizeof(names))

static bool find(const struct image *image, size_t size, const char *structure, const char *member,
                 uint32_t *offset)
{
    unsigned char *bytes = malloc(size + 1); /* exact, so that a sanitizer sees a read past it */
    memcpy(bytes, image, size);
    bool found = btf_offset(bytes, size, structure, member, offset);
    free(bytes);
    return found;
}

START_TEST(test_found)
{
    static const struct {
        const char *structure, *member;
        uint32_t offset;
    } rows[] = {{"a", "x", 0},  {"a", "y", 4}, {"a", "z", 4},
                {"a", "b", 12}, {"c", "w", 0}, {"c", "b", 4}};
    const struct image image = sound();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t offset = 99;
        ck_assert_msg(find(&image, IMAGE_BYTES, rows[i].structure, rows[i].member, &offset),
                      "%s.%s", rows[i].structure, rows[i].member);
        ck_assert_uint_eq(offset, rows[i].offset);
    }
}
END_TEST

START_TEST(test_not_found)
{
    static const char *const rows[][2] = {
        {"a", "w"}, {"a", "a"}, {"d", "x"}, {"", "x"}, {"x", "a"}};
    const struct image image = sound();
    uint32_t offset;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ck_assert_msg(!find(&image, IMAGE_BYTES, rows[i][0], rows[i][1], &offset), "%s.%s",
                      rows[i][0], rows[i][1]);
}
END_TEST

/* The last structure is the one looked for: nothing shorter than the whole has it. */
START_TEST(test_cut_short)
{
    struct image image = sound();
    uint32_t offset;
    for (size_t size = 0; size < IMAGE_BYTES; size++)
        ck_assert_msg(!find(&image, size, "a", "b", &offset), "cut to %zu bytes", size);
}
END_TEST

/* Each word of the header and of the types, made absurd: never a crash, and never a wild answer. */
START_TEST(test_damaged)
{
    static const uint32_t absurd[] = {0, 1, 3, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
    for (size_t word = 0; word < HEADER_WORDS + sizeof(types) / 4; word++)
        for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
            struct image image = sound();
            uint32_t offset = 0, *at = word < HEADER_WORDS ? &image.header[word]
                                                           : &image.types[word - HEADER_WORDS];
            *at = absurd[i];
            if (find(&image, IMAGE_BYTES, "a", "b", &offset))
                ck_assert_uint_lt(offset, image.types[SIZE_OF_A]);
        }
}
END_TEST

/* A union that holds itself without a name must not be looked into forever. */
START_TEST(test_endless)
{
    struct image image = sound();
    image.types[19] = 0; /* z loses its name, */
    image.types[20] = 3; /* and becomes the union itself */
    uint32_t offset;
    ck_assert(!find(&image, IMAGE_BYTES, "a", "w", &offset));
    ck_assert(find(&image, IMAGE_BYTES, "a", "b", &offset));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools.btf");
    TCase *tcase = tcase_create("types");
    tcase_add_test(tcase, test_found);
    tcase_add_test(tcase, test_not_found);
    tcase_add_test(tcase, test_cut_short);
    tcase_add_test(tcase, test_damaged);
    tcase_add_test(tcase, test_endless);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
