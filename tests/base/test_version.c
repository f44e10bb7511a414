/* SPDX-License-Identifier: MIT */
#include "test_main.h"

#include <fastmm/base.h>

START_TEST(linked_version_is_that_of_the_header)
{
    ck_assert_uint_eq(fastmm_version(), FASTMM_VERSION_MAJOR * 10000 + FASTMM_VERSION_MINOR * 100 +
                                            FASTMM_VERSION_PATCH);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base.version");
    TCase *tc = tcase_create("version");
    tcase_add_test(tc, linked_version_is_that_of_the_header);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
