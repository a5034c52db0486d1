/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reference systems against published coordinates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "tiling/tseed_systems.h"

#include "pool_fixture.h"

static void assert_near(double actual, double expected, double most)
{
    if (!(fabs(actual - expected) <= most)) {
        fail_msg("%.17g is not %.17g", actual, expected);
    }
}

static tseed_bounds_t degrees_of(tseed_systems_t *systems, int srs, tseed_bounds_t bounds)
{
    tseed_bounds_t degrees;

    assert_null(tseed_systems_degrees(&degrees, systems, srs, &bounds));
    return degrees;
}

/* The fundamental point of LV95, 2600000 1200000, is the old observatory in Bern: 7 26 19.08 east,
 * 46 57 3.90 north in WGS 84 (swisstopo, formulas and constants for the Swiss projection). */
static void test_systems__a_point_of_a_national_system(void **state)
{
    tseed_systems_t *systems = tseed_systems_create(pool);
    tseed_bounds_t bern =
        degrees_of(systems, 2056, (tseed_bounds_t){2599999, 1199999, 2600001, 1200001});

    (void)state;
    assert_near((bern.minx + bern.maxx) / 2, 7 + 26 / 60. + 19.08 / 3600, 1e-5);
    assert_near((bern.miny + bern.maxy) / 2, 46 + 57 / 60. + 3.90 / 3600, 1e-5);
    assert_true(bern.maxx - bern.minx < 1e-4 && bern.maxy - bern.miny < 1e-4);
}

/* The sides of a box become curves: its middle lies further north than its corners. */
static void test_systems__a_box_holds_its_curved_sides(void **state)
{
    const tseed_bounds_t extent = {2420000, 1030000, 2900000, 1350000};
    tseed_systems_t *systems = tseed_systems_create(pool);
    tseed_bounds_t all = degrees_of(systems, 2056, extent);

    (void)state;
    for (int i = 0; i <= 8; i++) {
        double x = extent.minx + (extent.maxx - extent.minx - 2) * i / 8;

        for (int k = 0; k <= 8; k++) {
            double y = extent.miny + (extent.maxy - extent.miny - 2) * k / 8;
            tseed_bounds_t part = degrees_of(systems, 2056, (tseed_bounds_t){x, y, x + 2, y + 2});

            assert_true(part.minx >= all.minx - 2e-4 && part.maxx <= all.maxx + 2e-4);
            assert_true(part.miny >= all.miny - 2e-4 && part.maxy <= all.maxy + 2e-4);
        }
    }
    assert_true(all.minx > 5 && all.maxx < 11.5 && all.miny > 45.3 && all.maxy < 48.4);
}

static void test_systems__built_in_systems_need_no_database(void **state)
{
    tseed_systems_t *systems = tseed_systems_create(pool);
    tseed_bounds_t world = degrees_of(
        systems, 900913, (tseed_bounds_t){-20037508.34, -20037508.34, 20037508.34, 20037508.34});
    tseed_bounds_t part = degrees_of(systems, 4326, (tseed_bounds_t){-10, 20, 30, 40});

    (void)state;
    assert_near(world.minx, -180, 1e-6);
    assert_near(world.maxy, 85.0511287, 1e-6);
    assert_true(part.minx == -10 && part.miny == 20 && part.maxx == 30 && part.maxy == 40);
}

/* The Pacific in EPSG:3832, whose central meridian is 150 east. */
static void test_systems__beyond_the_antimeridian_is_everywhere(void **state)
{
    tseed_systems_t *systems = tseed_systems_create(pool);
    tseed_bounds_t box = degrees_of(systems, 3832, (tseed_bounds_t){0, -2e6, 6e6, 2e6});

    (void)state;
    assert_true(box.minx == -180 && box.maxx == 180);
    assert_true(box.miny > -19 && box.maxy < 19);
}

static void test_systems__what_is_unknown(void **state)
{
    const tseed_bounds_t bounds = {0, 0, 1, 1};
    tseed_systems_t *systems = tseed_systems_create(pool);
    tseed_bounds_t degrees;
    const char *problem = tseed_systems_degrees(&degrees, systems, 990001, &bounds);

    (void)state;
    assert_non_null(problem);
    assert_non_null(strstr(problem, "EPSG:990001"));
    assert_int_equal(tseed_systems_north_east(systems, 990001), -1);
}

static void test_systems__order_of_axes(void **state)
{
    static const struct {
        int srs, north;
    } rows[] = {{4326, 1}, {3857, 0},  {900913, 0}, {2056, 0}, {32632, 0},
                {3035, 1}, {31467, 1}, {2180, 1},   {4258, 1}, {25832, 0}};
    tseed_systems_t *systems = tseed_systems_create(pool);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(tseed_systems_north_east(systems, rows[i].srs), rows[i].north);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systems__a_point_of_a_national_system),
        cmocka_unit_test(test_systems__a_box_holds_its_curved_sides),
        cmocka_unit_test(test_systems__built_in_systems_need_no_database),
        cmocka_unit_test(test_systems__beyond_the_antimeridian_is_everywhere),
        cmocka_unit_test(test_systems__what_is_unknown),
        cmocka_unit_test(test_systems__order_of_axes),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
