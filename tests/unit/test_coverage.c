/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Coverages: which cells a window has, what is there of them, and the document that says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "pool_fixture.h"
#include "protocol/tseed_coverage.h"

/* ---- windows ---- */

/* All of level 10 of a grid of one tile at level 0: 1024 x 1024 tiles, 32 x 32 pages. */
static const tseed_range_t level = {10, 0, 0, 1023, 1023};

static void assert_window(const tseed_window_t *is, int shift, int64_t x, int64_t y, int columns,
                          int rows)
{
    assert_int_equal(is->shift, shift);
    assert_int_equal(is->x, x);
    assert_int_equal(is->y, y);
    assert_int_equal(is->columns, columns);
    assert_int_equal(is->rows, rows);
}

static void test_coverage__cells_are_as_small_as_their_number_allows(void **state)
{
    tseed_window_t window = tseed_window_of(&level, &level, 32);

    (void)state;
    assert_window(&window, 0, 0, 0, 32, 32);
    window = tseed_window_of(&level, &level, 31);
    assert_window(&window, 1, 0, 0, 16, 16);
    window = tseed_window_of(&level, &level, 1);
    assert_window(&window, 5, 0, 0, 1, 1);
}

/* Tiles 33..96 x 500..500 lie in pages 1..3 x 15. Cells of two pages: 0..1 x 7. */
static void test_coverage__cells_lie_where_the_tiles_are(void **state)
{
    const tseed_range_t wanted = {10, 33, 500, 96, 500};
    tseed_window_t window = tseed_window_of(&level, &wanted, 3);

    (void)state;
    assert_window(&window, 0, 1, 15, 3, 1);
    window = tseed_window_of(&level, &wanted, 2);
    assert_window(&window, 1, 0, 7, 2, 1);
}

static void test_coverage__nothing_has_no_cells(void **state)
{
    const tseed_window_t window = tseed_window_of(&level, &(tseed_range_t){10, 0, 0, -1, -1}, 256);

    (void)state;
    assert_window(&window, 0, 0, 0, 0, 0);
}

/* 2^61 tiles in a row are 2^56 pages: at most one column of them is a cell of 2^56 pages. */
static void test_coverage__a_grid_may_be_as_wide_as_numbers_go(void **state)
{
    const tseed_range_t row = {40, 0, 0, (INT64_C(1) << 61) - 1, 0};
    tseed_window_t window = tseed_window_of(&row, &row, 1);

    (void)state;
    assert_window(&window, 56, 0, 0, 1, 1);
    assert_int_equal(tseed_coverage_share(&window, 0, 0, INT64_C(1) << 60), 500);
    window = tseed_window_of(&row, &row, 256);
    assert_window(&window, 48, 0, 0, 256, 1);
}

/* ---- shares ---- */

/* The layer has columns 10..69 and rows 0..39: of cell 0/0 22 x 32 tiles, of 2/1 6 x 8. */
static void test_coverage__a_share_is_of_the_tiles_that_the_layer_can_have(void **state)
{
    const tseed_range_t extent = {10, 10, 0, 69, 39};
    const tseed_window_t window = tseed_window_of(&extent, &extent, 64);

    (void)state;
    assert_window(&window, 0, 0, 0, 3, 2);
    assert_int_equal(tseed_coverage_share(&window, 0, 0, 22 * 32), 1000);
    assert_int_equal(tseed_coverage_share(&window, 0, 0, 22 * 16), 500);
    assert_int_equal(tseed_coverage_share(&window, 2, 1, 48), 1000);
    assert_int_equal(tseed_coverage_share(&window, 2, 1, 12), 250);
    assert_int_equal(tseed_coverage_share(&window, 1, 1, 8 * 32), 1000);
}

/* "None" and "all" are never a matter of rounding. More than all: left from a larger extent. */
static void test_coverage__a_share_is_none_or_all_only_if_it_is(void **state)
{
    const tseed_range_t large = {16, 0, 0, 65535, 65535};
    const tseed_window_t window = tseed_window_of(&large, &large, 1);
    const int64_t all = INT64_C(65536) * 65536;

    (void)state;
    assert_int_equal(tseed_coverage_share(&window, 0, 0, 0), 0);
    assert_int_equal(tseed_coverage_share(&window, 0, 0, 1), 1);
    assert_int_equal(tseed_coverage_share(&window, 0, 0, all - 1), 999);
    assert_int_equal(tseed_coverage_share(&window, 0, 0, all), 1000);
    assert_int_equal(tseed_coverage_share(&window, 0, 0, all + 1), 1000);
}

/* ---- queries ---- */

static const char *read_query(tseed_coverage_query_t *query, const char *text)
{
    return tseed_coverage_query_read(query, text, pool);
}

static void test_coverage__queries(void **state)
{
    static const char *const wrong[] = {
        "cells=0",         "cells=257",    "cells=",        "cells=ten",      "bbox=1,2,3",
        "bbox=1,2,3,4,5",  "bbox=3,2,1,4", "bbox=1,4,3,2",  "bbox=nan,0,1,1", "bbox=0,0,inf,1",
        "bbox=0,0,0x10,1", "bbox=",        "bbox=0,0,1,1,", "bbox=,0,1,1",    "bbox=0;0;1;1",
    };
    tseed_coverage_query_t query;
    const char *const longest = apr_psprintf(pool, "cells=7&other=%0986d", 0);

    (void)state;
    assert_null(read_query(&query, longest));
    assert_int_equal(query.cells, 7);
    assert_string_equal(read_query(&query, apr_pstrcat(pool, longest, "0", NULL)),
                        "the query has 1001 characters, and may have 1000: only bbox and cells "
                        "are read");
    assert_null(read_query(&query, NULL));
    assert_true(query.cells == 64 && !query.has_box);
    assert_null(read_query(&query, "other=1&cells=256&bbox=-180,-90.5,1e2,90"));
    assert_true(query.cells == 256 && query.has_box);
    assert_true(query.box.minx == -180 && query.box.miny == -90.5);
    assert_true(query.box.maxx == 100 && query.box.maxy == 90);
    assert_null(read_query(&query, "bbox=1%2C2%2C1%2C2"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        const char *problem = read_query(&query, wrong[i]);

        assert_non_null(problem);
        assert_non_null(strstr(problem, wrong[i][0] == 'c' ? "cells must be" : "bbox must be"));
    }
}

/* ---- documents ---- */

#define NOW INT64_C(1800000000) /* 2027-01-15T08:00:00Z */

/* A heat is taken for a number of uses in hundredths. */
static double hundredths(uint32_t heat, int64_t now)
{
    assert_int_equal(now, NOW);
    return heat / 100.0;
}

static const tseed_cell_t cells[6] = {
    {0},
    {22 * 32, 987654321, 0, NOW - 60},
    {1, 1, 4, NOW - 61},
    {512, INT64_C(5000000000000), 25, 0},
    {100, 4096, 940, NOW + 5},
    {8, 700, 123456, 1},
};

static tseed_coverage_t coverage_of(const tseed_cell_t *six)
{
    const tseed_range_t extent = {7, 10, 32, 69, 95};
    const tseed_range_t wanted = {7, 40, 32, 64, 95};

    return (tseed_coverage_t){.tileset = 3,
                              .layer = "topp:\"states\"",
                              .gridset = "EPSG:4326",
                              .format = "image/png",
                              .counted = 1,
                              .time = apr_time_from_sec(NOW),
                              .window = tseed_window_of(&extent, &wanted, 64),
                              .cells = six};
}

static void test_coverage__document(void **state)
{
    const tseed_coverage_t coverage = coverage_of(cells);

    (void)state;
    assert_string_equal(
        tseed_coverage_document(&coverage, hundredths, pool),
        "{\"tileSet\":3,\"layer\":\"topp:\\\"states\\\"\",\"gridSetId\":\"EPSG:4326\","
        "\"format\":\"image/png\",\"z\":7,\"time\":\"2027-01-15T08:00:00.000Z\",\"counted\":true,"
        "\"cell\":{\"tiles\":32,\"x\":32,\"y\":32,\"columns\":2,\"rows\":2},"
        "\"share\":[0,1000,1,1000],\"bytes\":[0,987654321,1,5000000000000],"
        "\"heat\":[0,0,0,0.3],\"age\":[null,1,2,null]}");
}

/* The third and fourth cells as the first ones: 9.4 uses, 1234.56 uses, a clock that differs. */
static void test_coverage__numbers(void **state)
{
    const tseed_coverage_t coverage = coverage_of(cells + 2);
    const char *document = tseed_coverage_document(&coverage, hundredths, pool);

    (void)state;
    assert_non_null(strstr(document, "\"heat\":[0,0.3,9.4,1235]"));
    assert_non_null(strstr(document, "\"age\":[2,null,0,30000000]"));
}

static void test_coverage__tags_differ_with_the_cells(void **state)
{
    tseed_cell_t others[6];
    tseed_coverage_t coverage = coverage_of(cells);
    const char *tag = tseed_coverage_tag(&coverage, pool);

    (void)state;
    assert_int_equal(strncmp(tag, "W/\"", 3), 0);
    coverage.time += 12345678;
    assert_string_equal(tseed_coverage_tag(&coverage, pool), tag);
    memcpy(others, cells, sizeof(others));
    coverage.cells = others;
    assert_string_equal(tseed_coverage_tag(&coverage, pool), tag);
    others[2].oldest++;
    assert_string_not_equal(tseed_coverage_tag(&coverage, pool), tag);
    coverage = coverage_of(cells);
    coverage.counted = 0;
    assert_string_not_equal(tseed_coverage_tag(&coverage, pool), tag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coverage__cells_are_as_small_as_their_number_allows),
        cmocka_unit_test(test_coverage__cells_lie_where_the_tiles_are),
        cmocka_unit_test(test_coverage__nothing_has_no_cells),
        cmocka_unit_test(test_coverage__a_grid_may_be_as_wide_as_numbers_go),
        cmocka_unit_test(test_coverage__a_share_is_of_the_tiles_that_the_layer_can_have),
        cmocka_unit_test(test_coverage__a_share_is_none_or_all_only_if_it_is),
        cmocka_unit_test(test_coverage__queries),
        cmocka_unit_test(test_coverage__document),
        cmocka_unit_test(test_coverage__numbers),
        cmocka_unit_test(test_coverage__tags_differ_with_the_cells),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
