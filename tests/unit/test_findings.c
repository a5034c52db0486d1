/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Findings: which metatiles lie below one, which have ground of it, and at the edges of the grid
 * too. The source is included: rectangles of metatiles are nobody else's matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tiling/tseed_findings.c"

#include "pool_fixture.h"

#define DEPTH 2

/* Tiles of 16 units at level 0, of 8 at level 1, of 4 at level 2. */
static tseed_gridset_t grid(double width, double height, int top_left)
{
    tseed_gridset_t set = {
        .name = "units",
        .extent = {0, 0, width, height},
        .top_left = top_left,
        .origin_y = top_left ? height : 0,
        .tile_width = 1,
        .tile_height = 1,
        .meters_per_unit = 1,
        .levels = 3,
        .resolution = {16, 8, 4},
    };

    assert_null(tseed_gridset_finish(&set, pool));
    return set;
}

static tseed_finding_t *plant(tseed_findings_t *findings, int z, int64_t x, int64_t y,
                              tseed_range_t range)
{
    tseed_finding_t *finding = tseed_findings_get(findings, z, x, y);

    finding->range = range;
    finding->shade = 1;
    finding->depth = DEPTH;
    finding->task = 1;
    return finding;
}

static void assert_metatiles(tseed_metatiles_t found, int64_t minx, int64_t miny, int64_t maxx,
                             int64_t maxy)
{
    assert_int_equal(found.minx, minx);
    assert_int_equal(found.miny, miny);
    assert_int_equal(found.maxx, maxx);
    assert_int_equal(found.maxy, maxy);
}

/* ---- ranges ---- */

static void test_findings__ranges_meet_and_have_each_other(void **state)
{
    const tseed_range_t a = {3, 0, 0, 4, 2}, b = {3, 4, 1, 9, 9}, right = {3, 5, 0, 9, 9},
                        above = {3, 0, 3, 4, 9}, deeper = {4, 0, 0, 4, 2}, corner = {3, 4, 1, 4, 2};

    (void)state;
    assert_true(tseed_range_meets(&a, &b));
    assert_true(tseed_range_meets(&b, &a));
    assert_false(tseed_range_meets(&a, &right));
    assert_false(tseed_range_meets(&a, &above));
    assert_false(tseed_range_meets(&a, &deeper));
    assert_true(tseed_range_has(&a, &a));
    assert_true(tseed_range_has(&a, &corner) && tseed_range_has(&b, &corner));
    assert_false(tseed_range_has(&a, &b) || tseed_range_has(&b, &a));
    assert_false(tseed_range_has(&a, &deeper) || tseed_range_has(&corner, &a));
}

/* ---- below, and touched ---- */

/* 6 x 6 tiles at level 0, 12 x 12 at level 1, in metatiles of 2 x 3. */
static void test_findings__metatiles_below_and_touched(void **state)
{
    const tseed_gridset_t set = grid(96, 96, 0);
    const tseed_bounds_t part = {24, 24, 72, 72};         /* tiles 3 to 8 of level 1 */
    tseed_finding_t finding = {.range = {0, 1, 1, 3, 3}}; /* tiles 2 to 7 of level 1 */
    tseed_positions_t all, some;

    (void)state;
    tseed_positions_init(&all, &set, &set.extent, &(tseed_shape_t){0, 2, 2, 3});
    tseed_positions_init(&some, &set, &part, &(tseed_shape_t){0, 2, 2, 3});
    assert_metatiles(below_of(&finding, &all, 1), 1, 1, 3, 1);
    assert_metatiles(touched_by(&finding, &all, 1), 1, 0, 3, 2);
    /* of the wanted tiles the finding has the first ones, but not the last ones */
    assert_metatiles(below_of(&finding, &some, 1), 1, 1, 3, 1);
    assert_metatiles(touched_by(&finding, &some, 1), 1, 1, 3, 2);
    finding.range = (tseed_range_t){0, 2, 2, 4, 4}; /* tiles 4 to 9 */
    assert_metatiles(below_of(&finding, &some, 1), 2, 2, 4, 2);
    assert_metatiles(touched_by(&finding, &some, 1), 2, 1, 4, 2);
    /* at its own level, and where the task wants nothing */
    finding.range = (tseed_range_t){0, 2, 3, 3, 5};
    assert_metatiles(below_of(&finding, &all, 0), 1, 1, 1, 1);
    finding.range = (tseed_range_t){0, 0, 0, 0, 0};
    assert_metatiles(below_of(&finding, &some, 1), 0, 0, -1, -1);
    assert_metatiles(touched_by(&finding, &some, 1), 0, 0, -1, -1);
}

/* A metatile lies below a finding only if all of its wanted tiles do. */
static void test_findings__half_a_metatile_is_not_below(void **state)
{
    const tseed_gridset_t set = grid(96, 96, 0);
    const tseed_finding_t one = {.range = {0, 1, 1, 1, 1}}; /* tiles 2 and 3 of level 1 */
    tseed_metatiles_t below;
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, &set, &set.extent, &(tseed_shape_t){0, 2, 4, 4});
    below = below_of(&one, &positions, 1);
    assert_int_equal(tseed_range_count(&below), 0);
    assert_metatiles(touched_by(&one, &positions, 1), 0, 0, 0, 0);
    below = below_of(&one, &positions, 2); /* tiles 4 to 7 */
    assert_metatiles(below, 1, 1, 1, 1);
}

/* ---- above ---- */

static const tseed_finding_t *above_anew(const tseed_findings_t *findings,
                                         const tseed_positions_t *positions,
                                         const tseed_tile_t *metatile, int is_anew)
{
    const tseed_tile_t tile = {metatile->z, metatile->x * positions->shape.meta_width,
                               metatile->y * positions->shape.meta_height};
    const tseed_range_t wanted = tseed_positions_metatile(positions, &tile).wanted;

    return tseed_findings_above(findings, positions->gridset, &wanted, is_anew, NULL, NULL);
}

static const tseed_finding_t *above(const tseed_findings_t *findings,
                                    const tseed_positions_t *positions, int z, int64_t x, int64_t y)
{
    return above_anew(findings, positions, &(tseed_tile_t){z, x, y}, 0);
}

/* 49 units are 4 tiles of 16 and 7 of 8: the last ones hang out with more than their half, at the
 * right and, as rows count from the bottom or from the top, at the top or the bottom. */
static void test_findings__are_found_above_tiles_that_hang_out(void **state)
{
    (void)state;
    for (int top_left = 0; top_left < 2; top_left++) {
        const tseed_gridset_t set = grid(49, 49, top_left);
        const int64_t row = top_left ? 0 : 3;
        tseed_findings_t *findings = tseed_findings_create(1, 1, DEPTH);
        const tseed_finding_t *corner, *right, *edge;
        tseed_positions_t positions;

        assert_int_equal(set.columns[0], 4);
        assert_int_equal(set.rows[1], 7);
        tseed_positions_init(&positions, &set, &set.extent, &(tseed_shape_t){0, 2, 1, 1});
        corner = plant(findings, 0, 3, row, (tseed_range_t){0, 3, row, 3, row});
        right = plant(findings, 0, 3, 1, (tseed_range_t){0, 3, 1, 3, 1});
        edge = plant(findings, 0, 1, row, (tseed_range_t){0, 1, row, 1, row});
        assert_ptr_equal(above(findings, &positions, 1, 6, top_left ? 0 : 6), corner);
        assert_ptr_equal(above(findings, &positions, 2, 12, top_left ? 0 : 12), corner);
        /* rows of level 0 are the tiles 2 and 3 of level 1, from the top one less */
        assert_ptr_equal(above(findings, &positions, 1, 6, top_left ? 1 : 2), right);
        assert_ptr_equal(above(findings, &positions, 1, 3, top_left ? 0 : 6), edge);
        assert_null(above(findings, &positions, 1, 4, top_left ? 0 : 6));
        assert_null(above(findings, &positions, 1, 0, top_left ? 0 : 6));
        tseed_findings_destroy(findings);
    }
}

/* A quarter of a metatile was looked at, the lower left or the upper right one: of the four
 * metatiles of the next level that lie in the metatile, one is below what was looked at. */
static void test_findings__of_a_part_are_above_that_part(void **state)
{
    static const tseed_range_t parts[] = {{0, 0, 0, 1, 1}, {0, 2, 2, 3, 3}};
    const tseed_gridset_t set = grid(64, 64, 0);

    (void)state;
    for (int64_t part = 0; part < 2; part++) {
        tseed_findings_t *findings = tseed_findings_create(4, 4, DEPTH);
        const tseed_finding_t *finding = plant(findings, 0, 0, 0, parts[part]);
        tseed_positions_t positions;

        tseed_positions_init(&positions, &set, &set.extent, &(tseed_shape_t){0, 2, 4, 4});
        for (int64_t i = 0; i < 4; i++) {
            const int is_below = i % 2 == part && i / 2 == part;

            assert_ptr_equal(above(findings, &positions, 1, i % 2, i / 2),
                             is_below ? finding : NULL);
        }
        tseed_findings_destroy(findings);
    }
}

/* The highest finding counts, but none above a hole; a hole of one colour prunes itself. */
static void test_findings__holes_end_what_is_above_them(void **state)
{
    const tseed_gridset_t set = grid(64, 64, 0);
    tseed_findings_t *findings = tseed_findings_create(1, 1, DEPTH);
    const tseed_finding_t *high = plant(findings, 0, 0, 0, (tseed_range_t){0, 0, 0, 0, 0});
    tseed_finding_t *hole = plant(findings, 1, 1, 1, (tseed_range_t){1, 1, 1, 1, 1});
    tseed_finding_t *own = plant(findings, 2, 0, 0, (tseed_range_t){2, 0, 0, 0, 0});
    tseed_positions_t positions;

    (void)state;
    tseed_positions_init(&positions, &set, &set.extent, &(tseed_shape_t){0, 2, 1, 1});
    assert_ptr_equal(above(findings, &positions, 2, 3, 3), high);
    tseed_findings_set_hole(findings, hole, 1);
    tseed_findings_set_hole(findings, hole, 1); /* once more is once */
    assert_ptr_equal(findings->holes, hole);
    assert_null(hole->next_hole);
    assert_ptr_equal(above(findings, &positions, 2, 3, 3), hole);
    assert_ptr_equal(above(findings, &positions, 2, 1, 1), high); /* beside it */
    assert_null(above(findings, &positions, 1, 1, 1));            /* itself */
    hole->shade = 0;
    assert_null(above(findings, &positions, 2, 3, 3));
    hole->shade = 1;
    hole->depth = DEPTH - 1;
    assert_null(above(findings, &positions, 2, 3, 3));
    /* one that is looked at again is no hole for itself */
    tseed_findings_set_hole(findings, own, 1);
    assert_null(above(findings, &positions, 2, 0, 0));
    assert_ptr_equal(above_anew(findings, &positions, &(tseed_tile_t){2, 0, 0}, 1), high);
    tseed_findings_set_hole(findings, hole, 0);
    assert_ptr_equal(findings->holes, own);
    assert_null(own->next_hole);
    assert_ptr_equal(above(findings, &positions, 2, 3, 3), high);
    tseed_findings_destroy(findings);
}

/* A hole that was seen by a task of a part ends what is above in that part only. */
static void test_findings__a_hole_counts_where_it_was_looked_at(void **state)
{
    const tseed_gridset_t set = grid(64, 64, 0);
    tseed_findings_t *findings = tseed_findings_create(4, 4, DEPTH);
    const tseed_finding_t *high = plant(findings, 0, 0, 0, (tseed_range_t){0, 0, 0, 3, 3});
    tseed_positions_t positions, part;

    (void)state;
    tseed_positions_init(&positions, &set, &set.extent, &(tseed_shape_t){0, 2, 4, 4});
    /* level 1, metatile 1/0: the left half of it */
    tseed_findings_set_hole(findings, plant(findings, 1, 1, 0, (tseed_range_t){1, 4, 0, 5, 3}), 1);
    tseed_positions_init(&part, &set, &(tseed_bounds_t){48, 0, 64, 32},
                         &(tseed_shape_t){0, 2, 4, 4});
    assert_null(above(findings, &positions, 1, 1, 0));
    assert_ptr_equal(above(findings, &part, 1, 1, 0), high);
    assert_ptr_equal(above(findings, &part, 2, 3, 0), high);
    assert_ptr_not_equal(above(findings, &positions, 2, 2, 0), high);
    tseed_findings_destroy(findings);
}

/* ---- each below ---- */

static void count(void *baton, tseed_finding_t *below)
{
    (void)below;
    ++*(int *)baton;
}

/* There are more metatiles below than findings at all, or fewer. */
static void test_findings__each_below_is_visited_whatever_the_level(void **state)
{
    const tseed_gridset_t *mercator = tseed_gridset_builtin("EPSG:3857");

    (void)state;
    for (int z = 4; z <= 14; z += 5) {
        const int64_t tiles = INT64_C(1) << z, half = tiles / 2, last = tiles / 4 - 1;
        tseed_findings_t *findings = tseed_findings_create(4, 4, DEPTH);
        const tseed_finding_t *east = plant(findings, 2, 0, 0, (tseed_range_t){2, 2, 0, 3, 3});
        int visited = 0;

        plant(findings, z, last, last,
              (tseed_range_t){z, tiles - 4, tiles - 4, tiles - 1, tiles - 1});
        plant(findings, z, half / 4, 0, (tseed_range_t){z, half, 0, half + 3, 3});
        plant(findings, z, half / 4 - 1, 0,
              (tseed_range_t){z, half - 4, 0, half - 1, 3}); /* west */
        plant(findings, z + 1, half / 2, 1, (tseed_range_t){z + 1, 2 * half, 4, 2 * half + 3, 7});
        tseed_findings_forget(
            findings, plant(findings, z, half / 4, 1, (tseed_range_t){z, half, 4, half + 3, 7}));
        tseed_findings_each_below(findings, mercator, east, count, &visited);
        assert_int_equal(visited, 3);
        assert_int_equal(tseed_findings_count(findings), 6);
        tseed_findings_destroy(findings);
    }
}

/* ---- the set ---- */

static void test_findings__what_is_gone_is_made_anew(void **state)
{
    tseed_findings_t *findings = tseed_findings_create(4, 4, DEPTH);
    tseed_finding_t *finding = plant(findings, 3, 1, 2, (tseed_range_t){3, 4, 8, 7, 11});

    (void)state;
    finding->is_changed = 1;
    finding->is_saved = 1;
    tseed_findings_set_hole(findings, finding, 1);
    tseed_findings_forget(findings, finding);
    assert_null(tseed_findings_find(findings, 3, 1, 2));
    assert_null(findings->holes);
    assert_ptr_equal(tseed_findings_get(findings, 3, 1, 2), finding);
    assert_true(finding->x == 1 && finding->y == 2 && finding->range.z == 3);
    assert_int_equal(tseed_range_count(&finding->range), 0);
    assert_false(finding->is_gone || finding->is_hole || finding->is_saved || finding->shade);
    assert_true(finding->is_changed);
    assert_int_equal(tseed_findings_count(findings), 1);
    assert_false(tseed_finding_prunes(findings, finding));
    finding->shade = 1;
    finding->depth = DEPTH - 1;
    assert_false(tseed_finding_prunes(findings, finding));
    finding->depth = DEPTH;
    assert_true(tseed_finding_prunes(findings, finding));
    tseed_findings_destroy(findings);
}

static void test_findings__many_are_holes_and_no_holes_any_more(void **state)
{
    tseed_findings_t *findings = tseed_findings_create(4, 4, DEPTH);
    int count_of[3] = {0};

    (void)state;
    for (int64_t x = 0; x < 100; x++) {
        tseed_findings_set_hole(findings, tseed_findings_get(findings, 9, x, 0), 1);
    }
    for (int64_t x = 0; x < 100; x += 3) {
        tseed_findings_set_hole(findings, tseed_findings_find(findings, 9, x, 0), 0);
    }
    for (const tseed_finding_t *hole = findings->holes; hole; hole = hole->next_hole) {
        assert_true(hole->is_hole);
        count_of[hole->x % 3]++;
    }
    assert_int_equal(count_of[0], 0);
    assert_int_equal(count_of[1], 33);
    assert_int_equal(count_of[2], 33);
    tseed_findings_destroy(findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings__ranges_meet_and_have_each_other),
        cmocka_unit_test(test_findings__metatiles_below_and_touched),
        cmocka_unit_test(test_findings__half_a_metatile_is_not_below),
        cmocka_unit_test(test_findings__are_found_above_tiles_that_hang_out),
        cmocka_unit_test(test_findings__of_a_part_are_above_that_part),
        cmocka_unit_test(test_findings__holes_end_what_is_above_them),
        cmocka_unit_test(test_findings__a_hole_counts_where_it_was_looked_at),
        cmocka_unit_test(test_findings__each_below_is_visited_whatever_the_level),
        cmocka_unit_test(test_findings__what_is_gone_is_made_anew),
        cmocka_unit_test(test_findings__many_are_holes_and_no_holes_any_more),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
