/* SPDX-License-Identifier: MIT */
/* The exported twins of the inline functions, for callers that can't or needn't inline. */
#include <fastmm/bounded.h>
#include <fastmm/counter.h>
#include <fastmm/quota.h>

#define PROCEDURE(name, parameters, arguments) \
    void name##_call parameters                \
    {                                          \
        name arguments;                        \
    }

#define FUNCTION(type, name, parameters, arguments) \
    type name##_call parameters                     \
    {                                               \
        return name arguments;                      \
    }

FUNCTION(int, fastmm_counter_group_init, (struct fastmm_counter_group * g, unsigned n), (g, n))
FUNCTION(int, fastmm_counter_group_destroy, (struct fastmm_counter_group * g), (g))
FUNCTION(int64_t, fastmm_counter_group_sum, (const struct fastmm_counter_group *g, unsigned i),
         (g, i))
PROCEDURE(fastmm_counter_group_add, (struct fastmm_counter_group * g, unsigned i, int64_t v),
          (g, i, v))
PROCEDURE(fastmm_counter_group_sub, (struct fastmm_counter_group * g, unsigned i, int64_t v),
          (g, i, v))
PROCEDURE(fastmm_counter_group_inc, (struct fastmm_counter_group * g, unsigned i), (g, i))
PROCEDURE(fastmm_counter_group_dec, (struct fastmm_counter_group * g, unsigned i), (g, i))
PROCEDURE(fastmm_counter_group_add_foreign,
          (struct fastmm_counter_group * g, unsigned i, int64_t v), (g, i, v))

FUNCTION(int, fastmm_counter_init, (struct fastmm_counter * c), (c))
FUNCTION(int, fastmm_counter_destroy, (struct fastmm_counter * c), (c))
PROCEDURE(fastmm_counter_add, (struct fastmm_counter * c, int64_t v), (c, v))
PROCEDURE(fastmm_counter_sub, (struct fastmm_counter * c, int64_t v), (c, v))
PROCEDURE(fastmm_counter_inc, (struct fastmm_counter * c), (c))
PROCEDURE(fastmm_counter_dec, (struct fastmm_counter * c), (c))
PROCEDURE(fastmm_counter_add_foreign, (struct fastmm_counter * c, int64_t v), (c, v))
FUNCTION(int64_t, fastmm_counter_sum, (const struct fastmm_counter *c), (c))
FUNCTION(int64_t, fastmm_counter_sum_positive, (const struct fastmm_counter *c), (c))
PROCEDURE(fastmm_counter_set, (struct fastmm_counter * c, int64_t v), (c, v))
FUNCTION(int64_t, fastmm_counter_take, (struct fastmm_counter * c), (c))
FUNCTION(int, fastmm_counter_percpu, (struct fastmm_counter * c), (c))
FUNCTION(int, fastmm_counter_atomic, (struct fastmm_counter * c), (c))

PROCEDURE(fastmm_counter_bounded_add, (struct fastmm_counter_bounded * b, int64_t v), (b, v))
PROCEDURE(fastmm_counter_bounded_sub, (struct fastmm_counter_bounded * b, int64_t v), (b, v))
PROCEDURE(fastmm_counter_bounded_inc, (struct fastmm_counter_bounded * b), (b))
PROCEDURE(fastmm_counter_bounded_dec, (struct fastmm_counter_bounded * b), (b))
FUNCTION(int64_t, fastmm_counter_bounded_read, (const struct fastmm_counter_bounded *b), (b))
FUNCTION(int64_t, fastmm_counter_bounded_read_positive, (const struct fastmm_counter_bounded *b),
         (b))

FUNCTION(int, fastmm_quota_add, (struct fastmm_quota * q, int64_t v), (q, v))
PROCEDURE(fastmm_quota_return, (struct fastmm_quota * q, int64_t v), (q, v))
FUNCTION(int, fastmm_quota_range_add, (struct fastmm_quota_range * r, int64_t v), (r, v))
