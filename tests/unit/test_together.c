/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The table of savings: complete, and asked in either order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "savings/tseed_together.h"

#define PAIR(a, b, how, why) [TSEED_##a][TSEED_##b] = 1,

static void test_together__each_pair_stands_once(void **state)
{
    static const int pairs[TSEED_SAVINGS][TSEED_SAVINGS] = {TSEED_TOGETHER_LIST(PAIR)};
    int count = 0;

    (void)state;
    for (int a = 0; a < TSEED_SAVINGS; a++) {
        for (int b = 0; b < TSEED_SAVINGS; b++) {
            assert_int_equal(pairs[a][b], a < b);
            count += pairs[a][b];
            assert_int_equal(tseed_together_how(a, b), tseed_together_how(b, a));
        }
    }
#define ONE(...) +1
    assert_int_equal(count, TSEED_TOGETHER_LIST(ONE));
}

static void test_together__a_layer_has_one_of_two(void **state)
{
    tseed_layer_t layer = {.most_width = 16, .uniform = {.is_on = 1}, .reseed_all = 1};
    tseed_saving_kind_t other;

    (void)state;
    assert_null(tseed_together_problem(&layer, &other));
    layer.derived = (tseed_derived_t){0, 3};
    assert_non_null(tseed_together_problem(&layer, &other));
    assert_int_equal(other, TSEED_PRUNED);
    assert_string_equal(tseed_together_off(other), "TileSeedPrune off");
    layer.uniform.is_on = 0;
    assert_null(tseed_together_problem(&layer, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together__each_pair_stands_once),
        cmocka_unit_test(test_together__a_layer_has_one_of_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
