/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Positions: every tile exactly once, there and back, in the order that is drawn, at any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <time.h>

#include "tiling/tseed_positions.h"

#include "pool_fixture.h"

static const tseed_gridset_t *mercator(void)
{
    return tseed_gridset_builtin("EPSG:3857");
}

/* Tiles of one unit at level 0: 70 x 40, then 140 x 80; bounds are tiles. */
static tseed_gridset_t units(int top_left, double height)
{
    tseed_gridset_t set = {
        .name = "units",
        .extent = {0, 0, 70, height},
        .top_left = top_left,
        .origin_y = top_left ? height : 0,
        .tile_width = 1,
        .tile_height = 1,
        .meters_per_unit = 1,
        .levels = 2,
        .resolution = {1, 0.5},
    };

    assert_null(tseed_gridset_finish(&set, pool));
    return set;
}

static void assert_range(const tseed_range_t *range, int64_t minx, int64_t miny, int64_t maxx,
                         int64_t maxy)
{
    assert_int_equal(range->minx, minx);
    assert_int_equal(range->miny, miny);
    assert_int_equal(range->maxx, maxx);
    assert_int_equal(range->maxy, maxy);
}

static void test_positions__whole_worlds_have_known_counts(void **state)
{
    const tseed_gridset_t *wgs84 = tseed_gridset_builtin("EPSG:4326");
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, wgs84, &wgs84->extent, &(tseed_shape_t){0, 12, 1, 1});
    assert_int_equal(positions.tiles, 44739242);
    assert_int_equal(positions.count, 44739242);
    tseed_positions_init(&positions, mercator(), &mercator()->extent,
                         &(tseed_shape_t){0, 20, 4, 4});
    assert_int_equal(positions.tiles, INT64_C(1466015503701));
    /* One metatile at levels 0 and 1 each, from there on a sixteenth of the tiles. */
    assert_int_equal(positions.count, 2 + (INT64_C(1466015503701) - 5) / 16);
}

static void test_positions__blocks_follow_each_other_as_drawn(void **state)
{
    /* Columns 30 to 33, rows 30 to 32: four blocks that meet at column 32, row 32. */
    static const int64_t expected[][2] = {
        {30, 30}, {31, 30}, {30, 31}, {31, 31}, {32, 30}, {33, 30},
        {32, 31}, {33, 31}, {30, 32}, {31, 32}, {32, 32}, {33, 32},
    };
    tseed_gridset_t set = units(0, 40);
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, &set, &(tseed_bounds_t){30, 30, 34, 33},
                         &(tseed_shape_t){0, 0, 1, 1});
    assert_int_equal(positions.count, 12);
    for (int i = 0; i < 12; i++) {
        tseed_metatile_t metatile = tseed_positions_at(&positions, i);

        assert_range(&metatile.whole, expected[i][0], expected[i][1], expected[i][0],
                     expected[i][1]);
        assert_range(&metatile.wanted, expected[i][0], expected[i][1], expected[i][0],
                     expected[i][1]);
    }
}

static void test_positions__metatiles_are_aligned_to_the_grid(void **state)
{
    tseed_gridset_t set = units(0, 40);
    tseed_positions_t positions;
    tseed_metatile_t metatile;

    (void)state;
    /* 70 x 40 tiles in metatiles of 8 x 6: the last column is cut at 70, the last row at 40. */
    tseed_positions_init(&positions, &set, &(tseed_bounds_t){62, 35, 66, 38},
                         &(tseed_shape_t){0, 0, 8, 6});
    assert_int_equal(positions.tiles, 12);
    assert_int_equal(positions.count, 4);
    metatile = tseed_positions_at(&positions, 0);
    assert_range(&metatile.whole, 56, 30, 63, 35);
    assert_range(&metatile.wanted, 62, 35, 63, 35);
    metatile = tseed_positions_at(&positions, tseed_positions_of(&positions, 0, 65, 37));
    assert_range(&metatile.whole, 64, 36, 69, 39);
    assert_range(&metatile.wanted, 64, 36, 65, 37);
}

static void test_positions__levels_come_one_after_the_other(void **state)
{
    tseed_gridset_t set = units(0, 40);
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, &set, &set.extent, &(tseed_shape_t){0, 1, 4, 4});
    assert_int_equal(positions.tiles, 70 * 40 + 140 * 80);
    assert_int_equal(positions.count, 18 * 10 + 35 * 20);
    assert_int_equal(positions.first[0], 0);
    assert_int_equal(positions.first[1], 180);
    assert_int_equal(positions.metatiles[0], 180);
    assert_int_equal(positions.metatiles[1], 700);
    assert_int_equal(tseed_positions_at(&positions, 179).whole.z, 0);
    assert_int_equal(tseed_positions_at(&positions, 180).whole.z, 1);
}

/* Levels 0 to 6 of which 2 to 4 are derived, and all the ways a task may lie beside them. */
static void test_positions__derived_levels_come_last_and_from_the_highest_down(void **state)
{
    static const tseed_derived_t derived = {2, 5};
    static const struct {
        int start, stop, levels[8];
    } cases[] = {
        {0, 6, {0, 1, 5, 6, 4, 3, 2, -1}}, {0, 1, {0, 1, -1}}, {5, 6, {5, 6, -1}},
        {2, 4, {4, 3, 2, -1}},             {3, 3, {3, -1}},    {0, 3, {0, 1, 3, 2, -1}},
        {3, 6, {5, 6, 4, 3, -1}},          {1, 5, {1, 5, 4, 3, 2, -1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const tseed_shape_t shape = {cases[i].start, cases[i].stop, 1, 1};
        tseed_positions_t positions;
        int64_t first = 0;

        tseed_positions_init_derived(&positions, mercator(), &mercator()->extent, &shape, &derived);
        for (int k = 0; cases[i].levels[k] >= 0; k++) {
            const int z = cases[i].levels[k];

            assert_int_equal(tseed_derived_level(&derived, shape.zoom_start, shape.zoom_stop, k),
                             z);
            assert_int_equal(positions.first[z], first);
            assert_int_equal(tseed_positions_at(&positions, first).whole.z, z);
            assert_int_equal(tseed_positions_of(&positions, z, 0, 0), first);
            assert_int_equal(tseed_positions_tiles_before(&positions, first), first);
            first += INT64_C(1) << 2 * z;
        }
        assert_int_equal(positions.count, first);
        assert_int_equal(positions.tiles, first);
    }
}

static void test_positions__neighbours_share_a_page_of_32_by_32(void **state)
{
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, mercator(), &mercator()->extent,
                         &(tseed_shape_t){18, 18, 4, 4});
    for (int64_t page = 0; page < 40; page++) {
        tseed_range_t first = tseed_positions_at(&positions, 64 * page).whole;

        assert_int_equal(first.minx % 32, 0);
        assert_int_equal(first.miny % 32, 0);
        for (int64_t i = 1; i < 64; i++) {
            tseed_range_t next = tseed_positions_at(&positions, 64 * page + i).whole;

            assert_int_equal(next.minx / 32, first.minx / 32);
            assert_int_equal(next.miny / 32, first.miny / 32);
        }
    }
}

static void test_positions__tiles_of_others_have_none(void **state)
{
    tseed_gridset_t set = units(0, 40);
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, &set, &(tseed_bounds_t){10, 10, 20, 20},
                         &(tseed_shape_t){0, 0, 4, 4});
    assert_int_equal(tseed_positions_of(&positions, 0, 10, 10), 0);
    /* In the metatile of tile 10/10, but not in the task. */
    assert_int_equal(tseed_positions_of(&positions, 0, 9, 10), -1);
    assert_int_equal(tseed_positions_of(&positions, 0, 10, 20), -1);
    assert_int_equal(tseed_positions_of(&positions, 1, 10, 10), -1);
    assert_int_equal(tseed_positions_of(&positions, -1, 10, 10), -1);
    assert_int_equal(tseed_positions_of(&positions, 64, 10, 10), -1);
    assert_int_equal(tseed_positions_of(&positions, 0, -1, INT64_MAX), -1);
    assert_int_equal(tseed_positions_of(&positions, 0, INT64_MIN, 10), -1);
}

static void test_positions__nothing_to_do_is_no_position(void **state)
{
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, mercator(), &(tseed_bounds_t){3e7, 3e7, 4e7, 4e7},
                         &(tseed_shape_t){0, 30, 4, 4});
    assert_int_equal(positions.tiles, 0);
    assert_int_equal(positions.count, 0);
    assert_int_equal(tseed_positions_of(&positions, 0, 0, 0), -1);
}

static void test_positions__a_point_is_one_metatile_a_level(void **state)
{
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, mercator(), &(tseed_bounds_t){0, 0, 0, 0},
                         &(tseed_shape_t){0, 30, 8, 8});
    assert_int_equal(positions.tiles, 31);
    assert_int_equal(positions.count, 31);
    for (int z = 0; z < 31; z++) {
        tseed_metatile_t metatile = tseed_positions_at(&positions, z);
        int64_t middle = z ? INT64_C(1) << (z - 1) : 0;

        assert_int_equal(metatile.wanted.z, z);
        assert_range(&metatile.wanted, middle, middle, middle, middle);
    }
}

/* Walks a whole sequence and ticks every tile off on a board of the level's size. */
typedef struct {
    const tseed_positions_t *positions;
    unsigned char *seen[TSEED_LEVELS_MAX];
    int64_t tiles;
} walk_t;

static void check_whole(const tseed_positions_t *positions, const tseed_metatile_t *metatile)
{
    const tseed_range_t *whole = &metatile->whole;
    const tseed_gridset_t *set = positions->gridset;
    int64_t right = whole->minx + positions->shape.meta_width - 1;
    int64_t top = whole->miny + positions->shape.meta_height - 1;
    const tseed_range_t *wanted = &metatile->wanted;

    assert_int_equal(whole->minx % positions->shape.meta_width, 0);
    assert_int_equal(whole->miny % positions->shape.meta_height, 0);
    assert_true(whole->maxx == right ||
                (whole->maxx < right && whole->maxx == set->columns[whole->z] - 1));
    assert_true(whole->maxy == top ||
                (whole->maxy < top && whole->maxy == set->rows[whole->z] - 1));
    assert_int_equal(wanted->z, whole->z);
    assert_true(wanted->minx >= whole->minx && wanted->maxx <= whole->maxx);
    assert_true(wanted->miny >= whole->miny && wanted->maxy <= whole->maxy);
}

static void tick_off(walk_t *walk, const tseed_range_t *wanted, int64_t position)
{
    int64_t columns = walk->positions->gridset->columns[wanted->z];

    for (int64_t y = wanted->miny; y <= wanted->maxy; y++) {
        for (int64_t x = wanted->minx; x <= wanted->maxx; x++) {
            unsigned char *tile = &walk->seen[wanted->z][y * columns + x];

            assert_int_equal(*tile, 0);
            *tile = 1;
            walk->tiles++;
            assert_int_equal(tseed_positions_of(walk->positions, wanted->z, x, y), position);
        }
    }
}

/* Every tile of the ranges was ticked off, and so, the numbers being equal, no other. */
static void check_board(const walk_t *walk, int z)
{
    const tseed_range_t *range = &walk->positions->range[z];

    for (int64_t y = range->miny; y <= range->maxy; y++) {
        for (int64_t x = range->minx; x <= range->maxx; x++) {
            assert_int_equal(walk->seen[z][y * walk->positions->gridset->columns[z] + x], 1);
        }
    }
}

static void check_sequence(const tseed_gridset_t *set, const tseed_bounds_t *bounds,
                           const tseed_shape_t *shape)
{
    tseed_positions_t positions;
    walk_t walk = {.positions = &positions};
    int64_t expected = 0;

    tseed_positions_init(&positions, set, bounds, shape);
    for (int z = shape->zoom_start; z <= shape->zoom_stop; z++) {
        tseed_range_t range = tseed_range_of(set, z, bounds);

        expected += tseed_range_count(&range);
        walk.seen[z] = calloc((size_t)set->columns[z], (size_t)set->rows[z]);
    }
    for (int64_t position = 0; position < positions.count; position++) {
        tseed_metatile_t metatile = tseed_positions_at(&positions, position);

        assert_true(tseed_range_count(&metatile.wanted) > 0);
        assert_int_equal(tseed_positions_tiles_before(&positions, position), walk.tiles);
        check_whole(&positions, &metatile);
        tick_off(&walk, &metatile.wanted, position);
    }
    assert_int_equal(walk.tiles, expected);
    assert_int_equal(positions.tiles, expected);
    assert_int_equal(tseed_positions_tiles_before(&positions, positions.count), expected);
    for (int z = shape->zoom_start; z <= shape->zoom_stop; z++) {
        check_board(&walk, z);
        free(walk.seen[z]);
    }
}

static double between(double low, double high)
{
    return low + (high - low) * ((double)random() / 2147483648.0);
}

static void test_positions__every_tile_comes_exactly_once(void **state)
{
    /* Among them metatiles wider than a whole level, and than a block. */
    static const tseed_shape_t shapes[] = {
        {0, 1, 1, 1}, {0, 1, 4, 4}, {0, 0, 3, 2}, {1, 1, 8, 8}, {0, 1, 40, 5}, {0, 1, 100, 100},
    };
    tseed_gridset_t sets[] = {units(0, 40), units(1, 39.3), units(0, 39.3), units(1, 3)};

    (void)state;
    srandom(1569);
    for (int round = 0; round < 240; round++) {
        const tseed_gridset_t *set = &sets[round % 4];
        double minx = between(-5, set->extent.maxx);
        double miny = between(-5, set->extent.maxy);
        tseed_bounds_t bounds = {minx, miny, between(minx, set->extent.maxx + 5),
                                 between(miny, set->extent.maxy + 5)};

        check_sequence(set, &bounds, &shapes[round / 4 % 6]);
        if (round < 24) {
            check_sequence(set, &set->extent, &shapes[round / 4 % 6]);
        }
    }
}

static void test_positions__a_world_to_level_30_goes_there_and_back(void **state)
{
    static const tseed_shape_t shapes[] = {{0, 30, 1, 1}, {0, 30, 4, 4}, {5, 30, 3, 2}};

    (void)state;
    srandom(1884);
    for (int i = 0; i < 3; i++) {
        tseed_positions_t positions;
        tseed_metatile_t metatile;

        tseed_positions_init(&positions, mercator(), &mercator()->extent, &shapes[i]);
        for (int round = 0; round < 2000; round++) {
            int64_t position = ((int64_t)random() << 31 | random()) % positions.count;

            metatile = tseed_positions_at(&positions, position);
            assert_int_equal(tseed_positions_of(&positions, metatile.wanted.z, metatile.wanted.maxx,
                                                metatile.wanted.maxy),
                             position);
        }
        metatile = tseed_positions_at(&positions, positions.count - 1);
        assert_int_equal(metatile.wanted.z, 30);
        assert_int_equal(metatile.wanted.maxx, (INT64_C(1) << 30) - 1);
        assert_int_equal(metatile.wanted.maxy, (INT64_C(1) << 30) - 1);
    }
}

static void test_positions__starting_a_huge_task_takes_no_time(void **state)
{
    tseed_positions_t positions;
    clock_t start = clock(); /* of this process alone */

    (void)state;
    for (int i = 0; i < 1000; i++) {
        tseed_positions_init(&positions, mercator(), &mercator()->extent,
                             &(tseed_shape_t){0, 30, 4, 4});
        assert_true(tseed_positions_at(&positions, positions.count - 1).whole.z == 30);
    }
    assert_true(positions.tiles > INT64_C(1000000000000));
    /* A millisecond each would be much too slow already, even under sanitizers. */
    assert_true(clock() - start < CLOCKS_PER_SEC);
}

/* The task has the 8 x 8 tiles of the lower left quarter of level 4: metatiles 0 and 1 each way. */
static void test_positions__metatiles_outside_have_none(void **state)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:900913");
    const tseed_bounds_t quarter = {gridset->extent.minx, gridset->extent.miny, 0, 0};
    const tseed_shape_t shape = {4, 4, 4, 4};
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, gridset, &quarter, &shape);
    assert_int_equal(positions.count, 4);
    for (int64_t y = -1; y <= 2; y++) {
        for (int64_t x = -1; x <= 2; x++) {
            const int is_inside = x >= 0 && x < 2 && y >= 0 && y < 2;

            assert_int_equal(tseed_positions_of_metatile(&positions, 4, x, y) >= 0, is_inside);
        }
    }
    assert_int_equal(tseed_positions_of_metatile(&positions, 3, 0, 0), -1);
    assert_int_equal(tseed_positions_of_metatile(&positions, -1, 0, 0), -1);
    assert_int_equal(tseed_positions_of_metatile(&positions, TSEED_LEVELS_MAX, 0, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions__metatiles_outside_have_none),
        cmocka_unit_test(test_positions__whole_worlds_have_known_counts),
        cmocka_unit_test(test_positions__blocks_follow_each_other_as_drawn),
        cmocka_unit_test(test_positions__metatiles_are_aligned_to_the_grid),
        cmocka_unit_test(test_positions__levels_come_one_after_the_other),
        cmocka_unit_test(test_positions__derived_levels_come_last_and_from_the_highest_down),
        cmocka_unit_test(test_positions__neighbours_share_a_page_of_32_by_32),
        cmocka_unit_test(test_positions__tiles_of_others_have_none),
        cmocka_unit_test(test_positions__nothing_to_do_is_no_position),
        cmocka_unit_test(test_positions__a_point_is_one_metatile_a_level),
        cmocka_unit_test(test_positions__every_tile_comes_exactly_once),
        cmocka_unit_test(test_positions__a_world_to_level_30_goes_there_and_back),
        cmocka_unit_test(test_positions__starting_a_huge_task_takes_no_time),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
