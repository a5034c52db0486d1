/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Heat: a use counts half a week later, and order holds without a pass that decays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "quota/tseed_heat.h"

#define NOW  INT64_C(1790000000) /* September 2026 */
#define WEEK INT64_C(604800)
#define DAY  INT64_C(86400)

/* Within a ten-thousandth. */
static void assert_uses(tseed_heat_t heat, int64_t now, double expected)
{
    double uses = tseed_heat_uses(heat, now);

    if (fabs(uses - expected) > 1e-4 * expected) {
        fail_msg("%g uses instead of %g", uses, expected);
    }
}

static void test_heat__uses_add_up(void **state)
{
    tseed_heat_t heat = 0;

    (void)state;
    assert_true(tseed_heat_uses(0, NOW) == 0);
    for (int i = 1; i <= 1000; i++) {
        heat = tseed_heat_add(heat, 1, NOW);
    }
    assert_uses(heat, NOW, 1000);
    assert_uses(tseed_heat_add(heat, 5000, NOW), NOW, 6000);
    assert_int_equal(tseed_heat_add(heat, 0, NOW), heat);
}

static void test_heat__a_use_is_half_a_use_a_week_later(void **state)
{
    tseed_heat_t heat = tseed_heat_add(0, 64, NOW);

    (void)state;
    assert_uses(heat, NOW + WEEK, 32);
    assert_uses(heat, NOW + 6 * WEEK, 1);
    assert_uses(tseed_heat_add(heat, 3, NOW + 6 * WEEK), NOW + 6 * WEEK, 4);
}

/* Against the definition: the sum of 2 ^ -age in weeks. */
static void test_heat__is_the_decayed_sum_whatever_the_order(void **state)
{
    tseed_heat_t heat = 0;
    double sum = 0;
    unsigned seed = 4;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        int64_t at = NOW - rand_r(&seed) % (60 * DAY), uses = 1 + rand_r(&seed) % 9;

        heat = tseed_heat_add(heat, uses, at);
        sum += (double)uses * exp2((double)(at - NOW) / WEEK);
    }
    assert_true(fabs(tseed_heat_uses(heat, NOW) - sum) < 0.005 * sum);
}

static void test_heat__loved_last_year_is_colder_than_used_today(void **state)
{
    tseed_heat_t loved = tseed_heat_add(0, 1000000000, NOW - 365 * DAY);

    (void)state;
    assert_true(loved < tseed_heat_add(0, 1, NOW));
}

static void test_heat__single_uses_of_what_is_hot_are_not_lost(void **state)
{
    tseed_heat_t heat = tseed_heat_add(0, 500000, NOW);

    (void)state;
    assert_true(tseed_heat_add(heat, 1, NOW) > heat);
}

static void test_heat__odd_clocks_do_no_harm(void **state)
{
    (void)state;
    assert_true(tseed_heat_add(0, 1, 0) > 0);
    assert_true(tseed_heat_add(0, 1, -NOW) > 0);
    /* powers of two since the begin of 2020, before it none */
    assert_int_equal(tseed_heat_add(0, 4, 0), 2 << 20);
    assert_int_equal(tseed_heat_add(0, 4, INT64_C(1577836800) + WEEK / 2), 5 << 19);
    assert_int_equal(tseed_heat_add(0, 1, INT64_MAX), UINT32_MAX);
    assert_int_equal(tseed_heat_add(UINT32_MAX, INT64_MAX, NOW), UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heat__uses_add_up),
        cmocka_unit_test(test_heat__a_use_is_half_a_use_a_week_later),
        cmocka_unit_test(test_heat__is_the_decayed_sum_whatever_the_order),
        cmocka_unit_test(test_heat__loved_last_year_is_colder_than_used_today),
        cmocka_unit_test(test_heat__single_uses_of_what_is_hot_are_not_lost),
        cmocka_unit_test(test_heat__odd_clocks_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
