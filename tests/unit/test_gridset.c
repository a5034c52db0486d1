/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Grid sets against GeoWebCache's definitions, OGC's scale sets and national grids as published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <math.h>
#include <string.h>

#include "tiling/tseed_gridset.h"

#include "pool_fixture.h"

static void assert_near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-12 * fabs(expected))) {
        fail_msg("%.17g is not %.17g", actual, expected);
    }
}

/* swisstopo's WMTS in LV95: top-left origin, resolutions that are no powers of two, bottom rows
 * that hang out. */
static tseed_gridset_t swiss(void)
{
    return (tseed_gridset_t){
        .name = "Landeskarte (LV95): 1.0 – Übersicht",
        .srs = 2056,
        .extent = {2420000, 1030000, 2900000, 1350000},
        .top_left = 1,
        .origin_x = 2420000,
        .origin_y = 1350000,
        .tile_width = 256,
        .tile_height = 256,
        .meters_per_unit = 1,
        .levels = 10,
        .resolution = {4000, 500, 250, 100, 50, 20, 10, 2.5, 1.5, 0.5},
    };
}

static tseed_gridset_t world(void)
{
    return *tseed_gridset_builtin("EPSG:4326");
}

static void assert_refused(tseed_gridset_t gridset, const char *part)
{
    const char *problem = tseed_gridset_finish(&gridset, pool);

    assert_non_null(problem);
    if (!strstr(problem, part)) {
        fail_msg("\"%s\" does not say \"%s\"", problem, part);
    }
    assert_int_not_equal(problem[strlen(problem) - 1], '.');
}

static void test_gridset__wgs84_is_geowebcaches(void **state)
{
    const tseed_gridset_t *set = tseed_gridset_builtin("EPSG:4326");

    (void)state;
    assert_string_equal(set->name, "EPSG:4326");
    assert_int_equal(set->srs, 4326);
    assert_int_equal(set->levels, 22);
    assert_true(set->extent.minx == -180 && set->extent.miny == -90);
    assert_true(set->extent.maxx == 180 && set->extent.maxy == 90);
    assert_true(set->origin_x == -180 && set->origin_y == -90);
    assert_int_equal(set->top_left, 0);
    assert_int_equal(set->north_east, 1);
    assert_int_equal(set->tile_width, 256);
    assert_int_equal(set->tile_height, 256);
    assert_true(set->meters_per_unit == 111319.49079327358);
    assert_true(set->resolution[0] == 0.703125);
    assert_true(set->resolution[12] == 1.71661376953125e-4);
    assert_true(set->resolution[21] == 3.3527612686157227e-7);
}

static void test_gridset__web_mercator_is_geowebcaches(void **state)
{
    static const char *const names[] = {"EPSG:900913", "EPSG:3857"};
    static const int codes[] = {900913, 3857};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const tseed_gridset_t *set = tseed_gridset_builtin(names[i]);

        assert_string_equal(set->name, names[i]);
        assert_int_equal(set->srs, codes[i]);
        assert_int_equal(set->levels, 31);
        assert_true(set->extent.minx == -20037508.34 && set->extent.maxy == 20037508.34);
        assert_true(set->origin_x == -20037508.34 && set->origin_y == -20037508.34);
        assert_int_equal(set->north_east, 0);
        assert_true(set->meters_per_unit == 1);
        assert_true(set->resolution[0] == 156543.03390625);
        assert_true(set->resolution[18] == 0.5971642833948135);
        assert_near(set->resolution[30], 1.4579206137568690e-4);
    }
}

static void test_gridset__builtin_levels_are_powers_of_two(void **state)
{
    const tseed_gridset_t *wgs84 = tseed_gridset_builtin("EPSG:4326");
    const tseed_gridset_t *mercator = tseed_gridset_builtin("EPSG:3857");

    (void)state;
    for (int z = 0; z < 22; z++) {
        assert_int_equal(wgs84->columns[z], INT64_C(2) << z);
        assert_int_equal(wgs84->rows[z], INT64_C(1) << z);
    }
    for (int z = 0; z < 31; z++) {
        assert_int_equal(mercator->columns[z], INT64_C(1) << z);
        assert_int_equal(mercator->rows[z], INT64_C(1) << z);
    }
}

static void test_gridset__unknown_names_are_not_built_in(void **state)
{
    (void)state;
    assert_null(tseed_gridset_builtin("EPSG:2056"));
    assert_null(tseed_gridset_builtin("epsg:4326"));
    assert_null(tseed_gridset_builtin(""));
}

static void test_gridset__national_grid_has_its_published_sizes(void **state)
{
    /* MatrixWidth and MatrixHeight of wmts.geo.admin.ch's capabilities. */
    static const int64_t columns[] = {1, 4, 8, 19, 38, 94, 188, 750, 1250, 3750};
    static const int64_t rows[] = {1, 3, 5, 13, 25, 63, 125, 500, 834, 2500};
    tseed_gridset_t set = swiss();

    (void)state;
    assert_null(tseed_gridset_finish(&set, pool));
    for (int z = 0; z < set.levels; z++) {
        assert_int_equal(set.columns[z], columns[z]);
        assert_int_equal(set.rows[z], rows[z]);
    }
}

static void test_gridset__columns_count_from_a_remote_origin(void **state)
{
    tseed_gridset_t set = world();

    (void)state;
    set.extent = (tseed_bounds_t){5, 45, 15, 55};
    set.levels = 3;
    assert_null(tseed_gridset_finish(&set, pool));
    /* Tiles of 180, 90 and 45 degrees from -180 -90: 195 and 145 degrees have to be covered. */
    assert_int_equal(set.columns[0], 2);
    assert_int_equal(set.rows[0], 1);
    assert_int_equal(set.columns[1], 3);
    assert_int_equal(set.rows[1], 2);
    assert_int_equal(set.columns[2], 5);
    assert_int_equal(set.rows[2], 4);
}

static void test_gridset__level_0_is_one_tile_along_the_shorter_side(void **state)
{
    tseed_gridset_t wide = world();
    tseed_gridset_t high = world();
    /* The Spearfish grid of GeoWebCache's manual: 94.93 m a pixel at level 0. */
    tseed_gridset_t square = {.extent = {587334.20625, 4912451.9275, 611635.54375, 4936753.265},
                              .tile_width = 256,
                              .tile_height = 256};

    (void)state;
    tseed_gridset_levels(&wide, 3);
    assert_int_equal(wide.levels, 3);
    assert_true(wide.resolution[0] == 0.703125);
    assert_true(wide.resolution[2] == 0.17578125);
    high.extent = (tseed_bounds_t){0, -90, 90, 90};
    high.tile_width = 512;
    tseed_gridset_levels(&high, 2);
    assert_true(high.resolution[0] == 0.17578125);
    tseed_gridset_levels(&square, 30);
    assert_true(fabs(square.resolution[0] - 94.9270) < 1e-4);
}

static void test_gridset__halved_levels_double_the_tiles_down_to_the_last(void **state)
{
    tseed_gridset_t set = swiss();

    (void)state;
    set.tile_width = 300;
    set.tile_height = 300;
    tseed_gridset_levels(&set, 31);
    assert_null(tseed_gridset_finish(&set, pool));
    for (int z = 0; z < set.levels; z++) {
        assert_int_equal(set.rows[z], INT64_C(1) << z);
        assert_int_equal(set.columns[z], z ? INT64_C(3) << (z - 1) : 2);
    }
}

static void test_gridset__scale_denominators_are_ogcs(void **state)
{
    (void)state;
    /* OGC 07-057r7, tables E.1 (GlobalCRS84Scale) and E.4 (GoogleMapsCompatible). */
    assert_near(tseed_gridset_resolution_of_scale(tseed_gridset_builtin("EPSG:4326"), 500e6),
                1.25764139776733);
    assert_near(tseed_gridset_resolution_of_scale(tseed_gridset_builtin("EPSG:4326"), 100),
                2.51528279553466e-7);
    assert_near(
        tseed_gridset_resolution_of_scale(tseed_gridset_builtin("EPSG:3857"), 559082264.0287178),
        156543.0339280410);
    assert_near(
        tseed_gridset_resolution_of_scale(tseed_gridset_builtin("EPSG:3857"), 2132.729583849784),
        0.5971642834779395);
}

static void test_gridset__refuses_levels_that_cannot_be(void **state)
{
    tseed_gridset_t set = swiss();

    (void)state;
    set.levels = 0;
    assert_refused(set, "0 levels are not possible, 1 to 64 are");
    tseed_gridset_levels(&set, 65);
    assert_refused(set, "65 levels are not possible");
    set = swiss();
    set.resolution[3] = 250;
    assert_refused(set, "resolution 250 of level 3 is not below the 250 of level 2");
    set.resolution[3] = 300;
    assert_refused(set, "resolution 300 of level 3 is not below the 250 of level 2");
    assert_refused(set, "from coarse to fine");
    set.resolution[1] = 4000;
    assert_refused(set, "resolution 4000 of level 1 is not below the 4000 of level 0");
    set = swiss();
    set.resolution[3] = 0;
    assert_refused(set, "resolution 0 of level 3");
    set.resolution[0] = INFINITY;
    assert_refused(set, "of level 0");
    set.resolution[0] = NAN;
    assert_refused(set, "of level 0");
}

static void test_gridset__refuses_an_empty_extent(void **state)
{
    tseed_gridset_t set = swiss();

    (void)state;
    set.extent.maxx = set.extent.minx;
    assert_refused(set, "the extent 2420000 1030000 2420000 1350000 is empty");
    set = swiss();
    set.extent.miny = 1350001;
    assert_refused(set, "miny < maxy");
    set.extent.miny = 1e300;
    assert_refused(set, "the extent 2420000 1e+300 2900000 1350000");
    set.extent.miny = NAN;
    assert_refused(set, "the extent");
    set.extent.miny = -INFINITY;
    assert_refused(set, "the extent");
}

static void test_gridset__refuses_an_origin_inside_the_extent(void **state)
{
    tseed_gridset_t set = swiss();

    (void)state;
    set.origin_x = 2420001;
    assert_refused(set, "x 2420000 or less");
    set = swiss();
    set.origin_y = 1349999;
    assert_refused(set, "top-left origin 2420000 1349999");
    assert_refused(set, "y 1350000 or more");
    set.top_left = 0;
    assert_refused(set, "y 1030000 or less");
    set.origin_y = NAN;
    assert_refused(set, "do not cover the extent");
}

static void test_gridset__refuses_impossible_tiles_and_units(void **state)
{
    tseed_gridset_t set = swiss();

    (void)state;
    set.tile_width = 0;
    assert_refused(set, "0x256 pixels");
    set.tile_width = 4097;
    assert_refused(set, "4096x4096");
    set = swiss();
    set.meters_per_unit = 0;
    assert_refused(set, "0 meters per unit");
}

static void test_gridset__refuses_more_tiles_than_can_be_counted(void **state)
{
    tseed_gridset_t set = *tseed_gridset_builtin("EPSG:3857");

    (void)state;
    /* Levels 0 to z of a square have (4^(z+1) - 1) / 3 tiles: below 2^63 up to level 31. */
    tseed_gridset_levels(&set, 32);
    assert_null(tseed_gridset_finish(&set, pool));
    tseed_gridset_levels(&set, 33);
    assert_refused(set, "levels 0 to 32 have more than 2^63-1 tiles");
    tseed_gridset_levels(&set, 64);
    assert_refused(set, "level 32");
    set.levels = 1;
    set.resolution[0] = 1e-12;
    assert_refused(set, "2^53");
    set.resolution[0] = 1e-300;
    assert_refused(set, "level 0 would be");
}

/* So many columns and rows of tiles of one unit. */
static tseed_gridset_t tiles_of(double columns, double rows)
{
    return (tseed_gridset_t){
        .name = "units",
        .extent = {0, 0, columns, rows},
        .tile_width = 1,
        .tile_height = 1,
        .meters_per_unit = 1,
        .levels = 1,
        .resolution = {1},
    };
}

static void test_gridset__has_2_to_the_53_tiles_across_at_most(void **state)
{
    tseed_gridset_t most = tiles_of(9007199254740992.0, 1);

    (void)state;
    assert_null(tseed_gridset_finish(&most, pool));
    assert_int_equal(most.columns[0], INT64_C(1) << 53);
    assert_int_equal(most.rows[0], 1);
    assert_refused(tiles_of(9007199254740994.0, 1), "level 0 would be");
    most = tiles_of(1, 9007199254740992.0);
    assert_null(tseed_gridset_finish(&most, pool));
    assert_refused(tiles_of(1, 9007199254740994.0), "level 0 would be");
}

/* 2^63 - 1 is 454279 x 20303320287433. */
static void test_gridset__has_2_to_the_63_tiles_less_one_at_most(void **state)
{
    tseed_gridset_t most = tiles_of(20303320287433.0, 454279);

    (void)state;
    assert_null(tseed_gridset_finish(&most, pool));
    assert_refused(tiles_of(20303320287433.0, 454280), "levels 0 to 0 have more than 2^63-1 tiles");
}

static void test_gridset__codes_of_web_mercator_are_one(void **state)
{
    static const int64_t codes[] = {900913, 3857, 102100, 102113};

    (void)state;
    for (int i = 0; i < 16; i++) {
        assert_true(tseed_srs_same(codes[i / 4], codes[i % 4]));
    }
    assert_true(tseed_srs_same(4326, 4326));
    assert_false(tseed_srs_same(4326, 3857));
    assert_false(tseed_srs_same(4326, 4258));
}

static void test_gridset__print_ignores_what_moves_no_tile(void **state)
{
    tseed_gridset_t set = *tseed_gridset_builtin("EPSG:900913");
    const char *print = tseed_gridset_print(&set, pool);

    (void)state;
    assert_int_equal(strspn(print, "0123456789abcdef"), 40);
    assert_int_equal(strlen(print), 40);
    assert_string_equal(print, tseed_gridset_print(tseed_gridset_builtin("EPSG:3857"), pool));
    set.name = "Web: Ü.1";
    set.north_east = 1;
    set.resolution[40] = 7;
    assert_string_equal(print, tseed_gridset_print(&set, pool));
}

static void test_gridset__print_tells_everything_else(void **state)
{
    tseed_gridset_t set[10];
    const char *print[10];

    (void)state;
    for (int i = 0; i < 10; i++) {
        set[i] = swiss();
    }
    set[1].srs = 21781;
    set[2].extent.maxx += 0.001;
    set[3].top_left = 0;
    set[4].origin_x -= 1;
    set[5].origin_y += 1;
    set[6].tile_width = 512;
    set[7].tile_height = 512;
    set[8].resolution[9] = nextafter(0.5, 1);
    set[9].levels = 9;
    for (int i = 0; i < 10; i++) {
        print[i] = tseed_gridset_print(&set[i], pool);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(print[i], print[k]);
        }
    }
}

/* A millionth of a tile, and what rounding may add; never more than a tenth. */
static void test_gridset__slack_grows_with_the_numbers(void **state)
{
    (void)state;
    assert_near(tseed_gridset_slack(0, 0, 1), 1e-6);
    /* 4 x 2^-52 x (3e9 + 1e9) / 2 */
    assert_near(tseed_gridset_slack(-3e9, 1e9, 2), 1e-6 + 8e9 * 0x1p-52);
    assert_near(tseed_gridset_slack(3e9, -1e9, 2), 1e-6 + 8e9 * 0x1p-52);
    assert_near(tseed_gridset_slack(1e30, 1e30, 1), 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gridset__wgs84_is_geowebcaches),
        cmocka_unit_test(test_gridset__web_mercator_is_geowebcaches),
        cmocka_unit_test(test_gridset__builtin_levels_are_powers_of_two),
        cmocka_unit_test(test_gridset__unknown_names_are_not_built_in),
        cmocka_unit_test(test_gridset__national_grid_has_its_published_sizes),
        cmocka_unit_test(test_gridset__columns_count_from_a_remote_origin),
        cmocka_unit_test(test_gridset__level_0_is_one_tile_along_the_shorter_side),
        cmocka_unit_test(test_gridset__halved_levels_double_the_tiles_down_to_the_last),
        cmocka_unit_test(test_gridset__scale_denominators_are_ogcs),
        cmocka_unit_test(test_gridset__refuses_levels_that_cannot_be),
        cmocka_unit_test(test_gridset__refuses_an_empty_extent),
        cmocka_unit_test(test_gridset__refuses_an_origin_inside_the_extent),
        cmocka_unit_test(test_gridset__refuses_impossible_tiles_and_units),
        cmocka_unit_test(test_gridset__refuses_more_tiles_than_can_be_counted),
        cmocka_unit_test(test_gridset__has_2_to_the_53_tiles_across_at_most),
        cmocka_unit_test(test_gridset__has_2_to_the_63_tiles_less_one_at_most),
        cmocka_unit_test(test_gridset__codes_of_web_mercator_are_one),
        cmocka_unit_test(test_gridset__print_ignores_what_moves_no_tile),
        cmocka_unit_test(test_gridset__print_tells_everything_else),
        cmocka_unit_test(test_gridset__slack_grows_with_the_numbers),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
