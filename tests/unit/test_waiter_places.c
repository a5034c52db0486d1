/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Places: one alone leaves half of them, and nobody goes without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "pool_fixture.h"
#include "seeder/tseed_flight.h"

/* Takes as many places as it gets. */
static int take_all(tseed_waiter_places_t *places, const char *layer, const char *client)
{
    int taken = 0;

    while (!tseed_waiter_places_take(places, layer, client, pool)) {
        taken++;
    }
    return taken;
}

static void test_waiter_places__one_alone_gets_half(void **state)
{
    tseed_waiter_places_t *places =
        tseed_waiter_places_create(100, TSEED_WAITER_PLACES_FREE, 100, pool);

    (void)state;
    assert_int_equal(take_all(places, "a", "x"), 50);
    assert_int_equal(take_all(places, "b", "x"), 25);
    for (int i = 0; i < 20; i++) { /* whoever comes gets one, as long as there are any */
        const char *name = apr_psprintf(pool, "layer %d", i);

        assert_null(tseed_waiter_places_take(places, name, "x", pool));
    }
}

static void test_waiter_places__a_number_is_kept_to(void **state)
{
    tseed_waiter_places_t *places = tseed_waiter_places_create(100, 70, 10, pool);
    const char *why;

    (void)state;
    assert_int_equal(take_all(places, "a", "x"), 10);
    why = tseed_waiter_places_take(places, "b", "x", pool);
    assert_non_null(strstr(why, "client"));
    assert_int_equal(take_all(places, "a", ""), 60);
    why = tseed_waiter_places_take(places, "a", "y", pool);
    assert_non_null(strstr(why, "layer 'a'"));
    assert_int_equal(take_all(places, "b", ""), 30);
    why = tseed_waiter_places_take(places, "c", "z", pool);
    assert_non_null(strstr(why, "100 requests"));
}

static void test_waiter_places__what_is_given_back_can_be_had_again(void **state)
{
    tseed_waiter_places_t *places = tseed_waiter_places_create(3, 2, 1, pool);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_null(tseed_waiter_places_take(places, "a", "x", pool));
        assert_null(tseed_waiter_places_take(places, "a", "y", pool));
        assert_non_null(tseed_waiter_places_take(places, "a", "z", pool));
        tseed_waiter_places_leave(places, "a", "x");
        assert_null(tseed_waiter_places_take(places, "a", "z", pool));
        tseed_waiter_places_leave(places, "a", "y");
        tseed_waiter_places_leave(places, "a", "z");
    }
}

static void test_waiter_places__the_only_place_can_be_had(void **state)
{
    tseed_waiter_places_t *places =
        tseed_waiter_places_create(1, TSEED_WAITER_PLACES_FREE, TSEED_WAITER_PLACES_FREE, pool);

    (void)state;
    assert_null(tseed_waiter_places_take(places, "a", "x", pool));
    assert_non_null(tseed_waiter_places_take(places, "b", "y", pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiter_places__one_alone_gets_half),
        cmocka_unit_test(test_waiter_places__a_number_is_kept_to),
        cmocka_unit_test(test_waiter_places__what_is_given_back_can_be_had_again),
        cmocka_unit_test(test_waiter_places__the_only_place_can_be_had),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
