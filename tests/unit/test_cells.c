/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Cells: which positions form them, and that they part a level without gap or overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tiling/tseed_cells.h"

#include "pool_fixture.h"

static const tseed_gridset_t *mercator(void)
{
    return tseed_gridset_builtin("EPSG:3857");
}

static void assert_positions(const int64_t *found, int count, const int64_t *expected, int wanted)
{
    assert_int_equal(count, wanted);
    for (int i = 0; i < wanted; i++) {
        assert_int_equal(found[i], expected[i]);
    }
}

/* Level 4 has 16 x 16 tiles: 4 x 4 metatiles, numbered row by row in one block. */
static void test_cells__take_neighbours_of_several_rows(void **state)
{
    static const int64_t upper_right[] = {10, 11, 14, 15}, row[] = {4, 5, 6, 7};
    int64_t found[TSEED_CELL_MOST];
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, mercator(), &mercator()->extent, &(tseed_shape_t){4, 4, 4, 4});
    assert_positions(found, tseed_cells_at(found, &positions, 14, (tseed_cell_shape_t){2, 2}),
                     upper_right, 4);
    assert_positions(found, tseed_cells_at(found, &positions, 5, (tseed_cell_shape_t){4, 1}), row,
                     4);
    assert_int_equal(tseed_cells_at(found, &positions, 3, (tseed_cell_shape_t){4, 4}), 16);
    assert_int_equal(tseed_cells_at(found, &positions, 9, (tseed_cell_shape_t){1, 1}), 1);
    assert_int_equal(found[0], 9);
}

/* A quarter of level 5 in the middle: columns and rows 8 to 23 of tiles. */
static void test_cells__are_cut_where_the_task_ends(void **state)
{
    const double quarter = mercator()->extent.maxx / 2;
    const tseed_bounds_t middle = {-quarter + 1, -quarter + 1, quarter - 1, quarter - 1};
    static const int64_t corner[] = {0, 1, 4, 5};
    int64_t found[TSEED_CELL_MOST];
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, mercator(), &middle, &(tseed_shape_t){5, 5, 4, 4});
    assert_int_equal(positions.count, 16);
    assert_positions(found, tseed_cells_at(found, &positions, 0, (tseed_cell_shape_t){4, 4}),
                     corner, 4);
}

/* Each position is in its cell, and the cells together have each position once. */
static void assert_parted(const tseed_shape_t *shape, const tseed_bounds_t *bounds,
                          tseed_cell_shape_t cell)
{
    tseed_positions_t positions;
    int64_t sum = 0;

    tseed_positions_init(&positions, mercator(), bounds, shape);
    for (int64_t at = 0; at < positions.count; at++) {
        int64_t found[TSEED_CELL_MOST];
        const int count = tseed_cells_at(found, &positions, at, cell);
        int is_in = 0;

        for (int i = 0; i < count; i++) {
            is_in |= found[i] == at;
            assert_true(i == 0 || found[i] > found[i - 1]);
        }
        assert_true(is_in);
        sum += found[0] == at ? count : 0;
    }
    assert_int_equal(sum, positions.count);
}

static void test_cells__part_every_level_without_overlap(void **state)
{
    const tseed_bounds_t *world = &mercator()->extent;
    const tseed_bounds_t odd = {-3e6, -7.1e6, 12.3e6, 1e6};

    (void)state;
    for (int side = 1; side <= 8; side *= 2) {
        assert_parted(&(tseed_shape_t){0, 6, 4, 4}, world, (tseed_cell_shape_t){side, side});
        assert_parted(&(tseed_shape_t){3, 8, 4, 4}, &odd, (tseed_cell_shape_t){side, side});
        assert_parted(&(tseed_shape_t){3, 7, 3, 5}, &odd, (tseed_cell_shape_t){side, 2});
        assert_parted(&(tseed_shape_t){3, 6, 1, 1}, &odd, (tseed_cell_shape_t){2, side});
    }
}

static void test_cells__keep_to_the_most_that_may_be_asked(void **state)
{
    const tseed_shape_t unit = {0, 20, 4, 4}, odd = {0, 20, 3, 20};
    tseed_cell_shape_t cell = tseed_cells_largest(&unit, 16, 16);

    (void)state;
    assert_true(cell.columns == 4 && cell.rows == 4);
    cell = tseed_cells_largest(&unit, 15, 1000);
    assert_true(cell.columns == 2 && cell.rows == 8);
    cell = tseed_cells_largest(&odd, 16, 32);
    assert_true(cell.columns == 4 && cell.rows == 1);
}

static void test_cells__halve_down_to_one_metatile(void **state)
{
    tseed_cell_shape_t cell = {4, 4};
    static const int columns[] = {4, 2, 2, 1, 1}, rows[] = {2, 2, 1, 1, 1};

    (void)state;
    for (int i = 0; i < 5; i++) {
        cell = tseed_cells_half(cell);
        assert_int_equal(cell.columns, columns[i]);
        assert_int_equal(cell.rows, rows[i]);
    }
}

static void test_cells__bound_ranges(void **state)
{
    const tseed_range_t a = {5, 8, 0, 11, 3}, b = {5, 4, 4, 7, 7}, none = {5, 0, 0, -1, -1};
    const tseed_range_t one = {5, 20, 9, 20, 9};
    tseed_range_t bound = tseed_cells_bound(&a, &b);

    (void)state;
    assert_true(bound.minx == 4 && bound.miny == 0 && bound.maxx == 11 && bound.maxy == 7);
    bound = tseed_cells_bound(&a, &none);
    assert_true(bound.minx == 8 && bound.maxy == 3);
    bound = tseed_cells_bound(&a, &one);
    assert_true(bound.minx == 8 && bound.miny == 0 && bound.maxx == 20 && bound.maxy == 9);
}

static tseed_range_t metatile(const tseed_shape_t *shape, int64_t x, int64_t y)
{
    return (tseed_range_t){9, x * shape->meta_width, y * shape->meta_height,
                           (x + 1) * shape->meta_width - 1, (y + 1) * shape->meta_height - 1};
}

/* Metatiles of 4 x 3 tiles: blocks have 8 x 10 of them. */
static void test_cells__share_metatiles(void **state)
{
    static const tseed_shape_t shape = {0, 20, 4, 3};
    static const struct {
        int64_t x, y;
        int is_same;
    } others[] = {{8, 8, 1},  {9, 8, 1},  {8, 9, 1},  {11, 9, 1}, {7, 8, 0},
                  {12, 8, 0}, {8, 10, 0}, {8, 11, 0}, {8, 7, 0},  {12, 10, 0}};
    const tseed_range_t one = metatile(&shape, 8, 8);

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const tseed_range_t other = metatile(&shape, others[i].x, others[i].y);

        assert_int_equal(tseed_cells_share(&shape, &one, &other, (tseed_cell_shape_t){4, 4}),
                         others[i].is_same);
    }
}

static void assert_around(const tseed_shape_t *shape, tseed_range_t range, int columns, int rows)
{
    const tseed_cell_shape_t cell = tseed_cells_around(shape, &range);

    assert_int_equal(cell.columns, columns);
    assert_int_equal(cell.rows, rows);
}

static void test_cells__around_ranges(void **state)
{
    static const tseed_shape_t shape = {0, 20, 4, 3};

    (void)state;
    assert_around(&shape, (tseed_range_t){9, 8, 6, 11, 8}, 1, 1);
    assert_around(&shape, (tseed_range_t){9, 8, 6, 15, 14}, 2, 4); /* 2 x 3 metatiles */
    assert_around(&shape, (tseed_range_t){9, 0, 0, 19, 23}, 8, 8); /* 5 x 8 */
    assert_around(&shape, (tseed_range_t){9, 0, 0, 127, 2}, 8, 1); /* 32 x 1 */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells__take_neighbours_of_several_rows),
        cmocka_unit_test(test_cells__are_cut_where_the_task_ends),
        cmocka_unit_test(test_cells__part_every_level_without_overlap),
        cmocka_unit_test(test_cells__keep_to_the_most_that_may_be_asked),
        cmocka_unit_test(test_cells__halve_down_to_one_metatile),
        cmocka_unit_test(test_cells__bound_ranges),
        cmocka_unit_test(test_cells__share_metatiles),
        cmocka_unit_test(test_cells__around_ranges),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
