/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Halving: the four tiles below a tile cover its ground; grid sets in which they would not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tiling/tseed_range.h"

#include "pool_fixture.h"

static tseed_gridset_t made(int top_left, double height, double second, int tile)
{
    tseed_gridset_t set = {
        .name = "made",
        .extent = {0, 0, 100, height},
        .top_left = top_left,
        .origin_y = top_left ? height : 0,
        .tile_width = tile,
        .tile_height = tile,
        .meters_per_unit = 1,
        .levels = 2,
        .resolution = {1, second},
    };

    assert_null(tseed_gridset_finish(&set, pool));
    return set;
}

/* The ground of the tiles below is the ground of the tile. */
static void assert_covers(const tseed_gridset_t *gridset, int z, int64_t x, int64_t y)
{
    const tseed_range_t tile = {z, x, y, x, y};
    const tseed_range_t below = tseed_halving_below(gridset, &tile);
    const tseed_bounds_t ground = tseed_range_bounds(gridset, &tile);
    const tseed_bounds_t covered = tseed_range_bounds(gridset, &below);
    const double slack = gridset->resolution[z] / 1000;

    assert_int_equal(below.z, z + 1);
    assert_int_equal(below.maxx - below.minx, 1);
    assert_int_equal(below.maxy - below.miny, 1);
    assert_true(covered.minx > ground.minx - slack && covered.minx < ground.minx + slack);
    assert_true(covered.maxx > ground.maxx - slack && covered.maxx < ground.maxx + slack);
    assert_true(covered.miny > ground.miny - slack && covered.miny < ground.miny + slack);
    assert_true(covered.maxy > ground.maxy - slack && covered.maxy < ground.maxy + slack);
}

static void test_halving__four_tiles_cover_the_ground_of_one(void **state)
{
    static const char *const names[] = {"EPSG:4326", "EPSG:3857", "EPSG:900913"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        const tseed_gridset_t *gridset = tseed_gridset_builtin(names[i]);

        for (int z = 0; z < gridset->levels - 1; z++) {
            assert_null(tseed_halving_check(gridset, z, pool));
            assert_covers(gridset, z, 0, 0);
            assert_covers(gridset, z, gridset->columns[z] - 1, gridset->rows[z] - 1);
            assert_covers(gridset, z, gridset->columns[z] / 3, gridset->rows[z] / 2);
        }
    }
}

/* 100 units are 4 rows of 32 at level 0, and 7 of 16 at level 1: the lowest row of level 0 has half
 * a row of tiles below it that lies outside of the grid. */
static void test_halving__rows_from_the_top_hang_out_at_the_bottom(void **state)
{
    const tseed_gridset_t top = made(1, 100, 0.5, 32), bottom = made(0, 100, 0.5, 32);
    tseed_range_t below;

    (void)state;
    assert_int_equal(top.rows[0], 4);
    assert_int_equal(top.rows[1], 7);
    assert_null(tseed_halving_check(&top, 0, pool));
    below = tseed_halving_below(&top, &(tseed_range_t){0, 0, 0, 0, 0});
    assert_int_equal(below.miny, -1);
    assert_int_equal(below.maxy, 0);
    below = tseed_halving_below(&bottom, &(tseed_range_t){0, 1, 0, 2, 3});
    assert_int_equal(below.minx, 2);
    assert_int_equal(below.maxx, 5);
    assert_int_equal(below.miny, 0);
    assert_int_equal(below.maxy, 7);
    for (int y = 0; y < 4; y++) {
        assert_covers(&top, 0, 1, y);
        assert_covers(&bottom, 0, 1, y);
    }
}

static void test_halving__other_grid_sets_are_refused(void **state)
{
    tseed_gridset_t set = made(0, 100, 0.4, 32);

    (void)state;
    assert_non_null(strstr(tseed_halving_check(&set, 0, pool), "does not halve from level 0"));
    set = made(0, 100, 0.5, 25);
    assert_non_null(strstr(tseed_halving_check(&set, 0, pool), "25x25"));
    set = made(0, 100, 0.5, 32);
    assert_non_null(strstr(tseed_halving_check(&set, 1, pool), "no level 2 below level 1"));
    set.resolution[1] = 0.50000001; /* a millionth of a pixel over the whole extent */
    assert_null(tseed_halving_check(&set, 0, pool));
}

/* A hundredth of a pixel over the longer axis is allowed: 20,000 rows of one pixel, and a factor
 * that is off by a millionth, are twice that. */
static void test_halving__looks_at_the_longer_axis(void **state)
{
    tseed_gridset_t high = made(0, 20000, 0.5000005, 2), low = made(0, 100, 0.5000005, 2);

    (void)state;
    assert_non_null(strstr(tseed_halving_check(&high, 0, pool), "does not halve"));
    assert_null(tseed_halving_check(&low, 0, pool)); /* 100 pixels a side */
    high.tile_width = 3;
    assert_non_null(strstr(tseed_halving_check(&high, 0, pool), "3x2"));
    high.tile_width = 2;
    high.tile_height = 3;
    assert_non_null(strstr(tseed_halving_check(&high, 0, pool), "2x3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halving__four_tiles_cover_the_ground_of_one),
        cmocka_unit_test(test_halving__rows_from_the_top_hang_out_at_the_bottom),
        cmocka_unit_test(test_halving__looks_at_the_longer_axis),
        cmocka_unit_test(test_halving__other_grid_sets_are_refused),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
