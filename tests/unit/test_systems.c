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

static void assert_within(const tseed_bounds_t *part, const tseed_bounds_t *all)
{
    assert_true(part->minx >= all->minx - 1e-9 && part->maxx <= all->maxx + 1e-9);
    assert_true(part->miny >= all->miny - 1e-9 && part->maxy <= all->maxy + 1e-9);
}

static void check_sides(tseed_systems_t *systems, int srs, tseed_bounds_t e)
{
    const tseed_bounds_t all = degrees_of(systems, srs, e);

    for (int i = 0; i < 200; i++) {
        const double x = e.minx + (e.maxx - e.minx - 2) * i / 199;
        const double y = e.miny + (e.maxy - e.miny - 2) * i / 199;
        const tseed_bounds_t parts[] = {{x, e.miny, x + 2, e.miny + 2},
                                        {x, e.maxy - 2, x + 2, e.maxy},
                                        {e.minx, y, e.minx + 2, y + 2},
                                        {e.maxx - 2, y, e.maxx, y + 2}};

        for (size_t k = 0; k < 4; k++) {
            const tseed_bounds_t part = degrees_of(systems, srs, parts[k]);

            assert_within(&part, &all);
        }
    }
}

/* The sides of a box become curves, and the farthest point of a curve lies between the points that
 * are asked for. Boxes of two metres all along the sides show where the curves go. */
static void test_systems__a_box_holds_its_curved_sides(void **state)
{
    tseed_systems_t *systems = tseed_systems_create(pool);

    (void)state;
    check_sides(systems, 2056, (tseed_bounds_t){2420000, 1030000, 2900000, 1350000});
    check_sides(systems, 3035, (tseed_bounds_t){2426378, 1528101, 7293974, 5446513});
    check_sides(systems, 3978, (tseed_bounds_t){-2400000, -800000, 3100000, 3900000});
    check_sides(systems, 32633, (tseed_bounds_t){-100000, 4900000, 1100000, 8000000});
    /* in the south; over the equator on the west and on the east of the middle of a zone */
    check_sides(systems, 32733, (tseed_bounds_t){-107000, 2100000, 1100000, 5100000});
    check_sides(systems, 32633, (tseed_bounds_t){100000, -1030000, 400000, 1500000});
    check_sides(systems, 32633, (tseed_bounds_t){600000, -1030000, 900000, 1500000});
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
    const tseed_system_t *system;

    (void)state;
    assert_non_null(problem);
    assert_non_null(strstr(problem, "EPSG:990001"));
    assert_non_null(tseed_systems_find_epsg(&system, systems, 990001));
    assert_int_equal(system->north_east, -1);
    assert_true(system->meters_per_unit == 0 && !system->is_angular);
    assert_true(tseed_systems_is_near(system, &bounds));
    assert_non_null(tseed_systems_find(&system, systems, "NOBODY:1"));
}

/* As GDAL has it (EPSGTreatsAsNorthingEasting): around a pole both axes have one direction. */
static void test_systems__order_of_axes(void **state)
{
    static const struct {
        const char *name;
        int north;
    } rows[] = {{"EPSG:4326", 1},
                {"EPSG:3857", 0},
                {"EPSG:900913", 0},
                {"EPSG:2056", 0},
                {"EPSG:32632", 0},
                {"EPSG:3035", 1},
                {"EPSG:31467", 1},
                {"EPSG:5677", 0},
                {"EPSG:2180", 1},
                {"EPSG:4258", 1},
                {"EPSG:25832", 0},
                /* both south or both north */
                {"EPSG:3031", 0},
                {"EPSG:3032", 0},
                {"EPSG:3413", 0},
                {"EPSG:3571", 0},
                {"EPSG:3976", 0},
                {"EPSG:3995", 0},
                {"EPSG:3996", 0},
                {"EPSG:5041", 0},
                {"EPSG:5042", 0},
                {"EPSG:5482", 1},
                {"EPSG:6932", 0},
                {"EPSG:32661", 1},
                {"EPSG:32761", 1},
                /* neither north nor east is the first: a westing, a southing */
                {"EPSG:2053", 0},
                {"EPSG:5513", 0},
                {"OGC:CRS84", 0},
                {"urn:ogc:def:crs:OGC:1.3:CRS84", 0},
                {"urn:ogc:def:crs:EPSG::31467", 1}};
    tseed_systems_t *systems = tseed_systems_create(pool);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const tseed_system_t *system;

        if (strcmp(rows[i].name, "EPSG:900913") == 0) {
            assert_null(tseed_systems_find_epsg(&system, systems, 900913));
        } else {
            assert_null(tseed_systems_find(&system, systems, rows[i].name));
        }
        if (system->north_east != rows[i].north) {
            fail_msg("%s: %d", rows[i].name, system->north_east);
        }
    }
}

/* EPSG's units; degrees as OGC 07-057r7 and GeoWebCache have them. */
static void test_systems__metres_of_a_unit(void **state)
{
    static const struct {
        int srs;
        double meters;
        int is_angular;
    } rows[] = {{4326, 111319.49079327358, 1},
                {4258, 111319.49079327358, 1},
                {4269, 111319.49079327358, 1},
                {4807, 100187.54171394622, 1}, /* grads */
                {3857, 1, 0},
                {25832, 1, 0},
                {2225, 1200 / 3937., 0}, /* US survey feet */
                {2222, 0.3048, 0},
                {27573, 1, 0},
                {3078, 1, 0}};
    tseed_systems_t *systems = tseed_systems_create(pool);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const tseed_system_t *system;

        assert_null(tseed_systems_find_epsg(&system, systems, rows[i].srs));
        assert_near(system->meters_per_unit / rows[i].meters, 1, 1e-14);
        assert_int_equal(system->is_angular, rows[i].is_angular);
    }
}

static void test_systems__area_of_use(void **state)
{
    tseed_systems_t *systems = tseed_systems_create(pool);
    const tseed_bounds_t germany = {6, 47, 15, 55}, egypt = {27, 28, 33, 34},
                         fiji = {177, -19, 178, -17}, mongolia = {90, 47, 115, 51},
                         labrador = {-64, 52, -57, 59};
    const tseed_system_t *system;

    (void)state;
    tseed_systems_find_epsg(&system, systems, 31467);
    assert_true(tseed_systems_is_near(system, &germany));
    assert_false(tseed_systems_is_near(system, &egypt));
    assert_false(tseed_systems_is_near(system, &mongolia));
    assert_false(tseed_systems_is_near(system, &labrador));
    tseed_systems_find_epsg(&system, systems, 3460); /* goes over the antimeridian */
    assert_true(tseed_systems_is_near(system, &fiji));
    assert_false(tseed_systems_is_near(system, &germany));
}

static void test_systems__built_in_systems_say_what_they_are(void **state)
{
    const tseed_bounds_t north = {0, 88, 10, 89}, far_north = {0, 91.5, 10, 92};
    tseed_systems_t *systems = tseed_systems_create(pool);
    const tseed_system_t *system;

    (void)state;
    assert_null(tseed_systems_find_epsg(&system, systems, 4326));
    assert_true(system->north_east == 1 && system->is_angular == 1);
    assert_true(system->area.minx == -180 && system->area.miny == -90);
    assert_true(system->area.maxx == 180 && system->area.maxy == 90);
    /* six degrees around are near, their edge too */
    assert_true(tseed_systems_is_near(system, &(tseed_bounds_t){-200, 96, -186, 97}));
    assert_true(tseed_systems_is_near(system, &(tseed_bounds_t){186, -97, 187, -96}));
    assert_false(tseed_systems_is_near(system, &(tseed_bounds_t){-200, 0, -186.1, 1}));
    assert_false(tseed_systems_is_near(system, &(tseed_bounds_t){186.1, 0, 187, 1}));
    assert_null(tseed_systems_find_epsg(&system, systems, 102100));
    assert_true(system->north_east == 0 && system->is_angular == 0);
    assert_true(system->meters_per_unit == 1);
    assert_true(system->area.minx == -180 && system->area.miny == -85.06);
    assert_true(system->area.maxx == 180 && system->area.maxy == 85.06);
    assert_true(tseed_systems_is_near(system, &north)); /* within 6 degrees */
    assert_false(tseed_systems_is_near(system, &far_north));
}

/* Whoever asks may use the memory of the name for another one. */
static void test_systems__names_are_kept(void **state)
{
    tseed_systems_t *systems = tseed_systems_create(pool);
    const tseed_system_t *first, *again;
    char name[] = "EPSG:4258";

    (void)state;
    assert_null(tseed_systems_find(&first, systems, name));
    strcpy(name, "EPSG:2222");
    assert_null(tseed_systems_find(&again, systems, "EPSG:4258"));
    assert_ptr_equal(first, again);
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
        cmocka_unit_test(test_systems__metres_of_a_unit),
        cmocka_unit_test(test_systems__area_of_use),
        cmocka_unit_test(test_systems__names_are_kept),
        cmocka_unit_test(test_systems__built_in_systems_say_what_they_are),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
