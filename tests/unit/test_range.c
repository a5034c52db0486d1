/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tile ranges against GeoWebCache's coverages, the slippy-map formula, and every tile tried alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>

#include "tiling/tseed_range.h"

#include "pool_fixture.h"

static const tseed_gridset_t *wgs84(void)
{
    return tseed_gridset_builtin("EPSG:4326");
}

static const tseed_gridset_t *mercator(void)
{
    return tseed_gridset_builtin("EPSG:3857");
}

/* The Netherlands' tiling of EPSG:28992, as Geonovum has laid it down. */
static tseed_gridset_t dutch(void)
{
    tseed_gridset_t set = {
        .name = "EPSG:28992",
        .srs = 28992,
        .extent = {-285401.92, 22598.08, 595401.92, 903401.92},
        .top_left = 1,
        .origin_x = -285401.92,
        .origin_y = 903401.92,
        .tile_width = 256,
        .tile_height = 256,
        .meters_per_unit = 1,
        .levels = 15,
    };

    for (int z = 0; z < set.levels; z++) {
        set.resolution[z] = ldexp(3440.64, -z);
    }
    assert_null(tseed_gridset_finish(&set, pool));
    return set;
}

/* 100 x 70 units in tiles of 30 x 20 and 15 x 10; the bottom row of level 0 hangs out by a half. */
static tseed_gridset_t ragged(void)
{
    tseed_gridset_t set = {
        .name = "ragged",
        .extent = {0, 0, 100, 70},
        .top_left = 1,
        .origin_x = 0,
        .origin_y = 70,
        .tile_width = 3,
        .tile_height = 2,
        .meters_per_unit = 1,
        .levels = 2,
        .resolution = {10, 5},
    };

    assert_null(tseed_gridset_finish(&set, pool));
    return set;
}

static void assert_range(tseed_range_t range, const int64_t expected[4])
{
    if (range.minx != expected[0] || range.miny != expected[1] || range.maxx != expected[2] ||
        range.maxy != expected[3]) {
        fail_msg("level %d: %ld %ld %ld %ld is not %ld %ld %ld %ld", range.z, (long)range.minx,
                 (long)range.miny, (long)range.maxx, (long)range.maxy, (long)expected[0],
                 (long)expected[1], (long)expected[2], (long)expected[3]);
    }
}

static void assert_tiles(const tseed_gridset_t *set, int z, tseed_bounds_t bounds,
                         const int64_t expected[4])
{
    tseed_range_t range = tseed_range_of(set, z, &bounds);

    assert_int_equal(range.z, z);
    assert_range(range, expected);
}

static void assert_nothing(const tseed_gridset_t *set, tseed_bounds_t bounds)
{
    for (int z = 0; z < set->levels; z++) {
        tseed_range_t range = tseed_range_of(set, z, &bounds);

        assert_int_equal(tseed_range_count(&range), 0);
        assert_int_equal(range.z, z);
        assert_true(range.maxx < range.minx && range.maxy < range.miny);
    }
}

static int64_t count_levels(const tseed_gridset_t *set, int start, int stop)
{
    int64_t total = 0;

    for (int z = start; z <= stop; z++) {
        tseed_range_t range = tseed_range_of(set, z, &set->extent);

        total += tseed_range_count(&range);
    }
    return total;
}

static void test_range__whole_worlds_have_known_counts(void **state)
{
    (void)state;
    assert_int_equal(count_levels(wgs84(), 0, 12), 44739242);
    assert_int_equal(count_levels(mercator(), 0, 20), INT64_C(1466015503701));
    assert_int_equal(count_levels(mercator(), 30, 30), INT64_C(1) << 60);
    assert_int_equal(count_levels(mercator(), 0, 30), INT64_C(1537228672809129301));
}

static void test_range__wgs84_coverages_are_geowebcaches(void **state)
{
    /* From the tests of GeoWebCache's grid calculator. */
    static const int64_t north_east[7][4] = {
        {1, 0, 1, 0},    {2, 1, 3, 1},     {4, 2, 7, 3},      {8, 4, 15, 7},
        {16, 8, 31, 15}, {32, 16, 63, 31}, {64, 32, 127, 63},
    };
    static const int64_t around_0[8][4] = {
        {0, 0, 1, 0},   {1, 0, 2, 1},     {3, 1, 4, 2},     {7, 3, 8, 4},
        {15, 7, 16, 8}, {30, 14, 33, 17}, {60, 28, 67, 35}, {120, 56, 135, 71},
    };
    static const int64_t corner[9][4] = {
        {1, 0, 1, 0},       {3, 1, 3, 1},         {7, 3, 7, 3},
        {15, 7, 15, 7},     {31, 15, 31, 15},     {63, 31, 63, 31},
        {126, 62, 127, 63}, {252, 125, 255, 127}, {504, 251, 511, 255},
    };
    static const int64_t states[4][4] = {{0, 0, 0, 0}, {0, 1, 1, 1}, {1, 2, 2, 3}, {2, 5, 5, 6}};

    (void)state;
    for (int z = 0; z < 7; z++) {
        assert_tiles(wgs84(), z, (tseed_bounds_t){0, 0, 180, 90}, north_east[z]);
    }
    for (int z = 0; z < 8; z++) {
        assert_tiles(wgs84(), z, (tseed_bounds_t){-10, -10, 10, 10}, around_0[z]);
    }
    for (int z = 0; z < 9; z++) {
        assert_tiles(wgs84(), z, (tseed_bounds_t){175, 87, 180, 90}, corner[z]);
    }
    for (int z = 0; z < 4; z++) {
        assert_tiles(wgs84(), z, (tseed_bounds_t){-124.731422, 24.955967, -66.969849, 49.371735},
                     states[z]);
    }
}

static void test_range__mercator_coverages_are_geowebcaches(void **state)
{
    static const int64_t north_east[5][4] = {
        {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 3, 3}, {4, 4, 7, 7}, {8, 8, 15, 15},
    };
    static const int64_t around_0[8][4] = {
        {0, 0, 0, 0}, {0, 0, 1, 1},     {1, 1, 2, 2},     {3, 3, 4, 4},
        {7, 7, 8, 8}, {15, 15, 16, 16}, {31, 31, 32, 32}, {62, 62, 65, 65},
    };

    (void)state;
    for (int z = 0; z < 5; z++) {
        assert_tiles(mercator(), z, (tseed_bounds_t){0, 0, 20037508.34, 20037508.34},
                     north_east[z]);
    }
    for (int z = 0; z < 8; z++) {
        assert_tiles(mercator(), z, (tseed_bounds_t){-500000, -500000, 500000, 500000},
                     around_0[z]);
    }
}

static void test_range__cities_lie_in_their_slippy_map_tiles(void **state)
{
    /* Tiles by the formula of OpenStreetMap's wiki, metres by EPSG method 1024. */
    static const struct {
        const char *city;
        double x, y;
        int z;
        int64_t column, row_from_top;
    } cities[] = {
        {"Berlin", 1489198.751985, 6894022.931452, 12, 2200, 1343},
        {"Quito", -8739949.257009, -24512.612216, 16, 18475, 32808},
        {"Sydney", 16833210.196152, -4009589.934223, 18, 241183, 157300},
        {"Tokyo", 15556386.768702, 4253746.372693, 14, 14551, 6452},
        {"New York", -8242596.036043, 4966606.257308, 20, 308617, 394335},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cities) / sizeof(cities[0]); i++) {
        double x = cities[i].x;
        double y = cities[i].y;
        int64_t row = (INT64_C(1) << cities[i].z) - 1 - cities[i].row_from_top;

        assert_tiles(mercator(), cities[i].z, (tseed_bounds_t){x, y, x, y},
                     (int64_t[]){cities[i].column, row, cities[i].column, row});
    }
}

static void test_range__an_edge_on_a_tile_edge_adds_no_neighbour(void **state)
{
    const double tile = 20037508.34 / 32768; /* half the world in tiles of level 16 */

    (void)state;
    assert_tiles(wgs84(), 2, (tseed_bounds_t){-45, -45, 45, 45}, (int64_t[]){3, 1, 4, 2});
    assert_tiles(mercator(), 16, (tseed_bounds_t){tile, -tile, 3 * tile, tile},
                 (int64_t[]){32769, 32767, 32770, 32768});
    /* Off by less than a millionth of a tile, as decimal numbers are, to either side. */
    assert_tiles(wgs84(), 2, (tseed_bounds_t){-45.00001, -45.00001, 45.00001, 45.00001},
                 (int64_t[]){3, 1, 4, 2});
    assert_tiles(wgs84(), 2, (tseed_bounds_t){-44.99999, -44.99999, 44.99999, 44.99999},
                 (int64_t[]){3, 1, 4, 2});
    /* Off by more. */
    assert_tiles(wgs84(), 2, (tseed_bounds_t){-45.0001, -45.0001, 45.0001, 45.0001},
                 (int64_t[]){2, 0, 5, 3});
}

static void test_range__every_tile_covers_itself_alone(void **state)
{
    static const int64_t samples[] = {0, 1, 357913941, 536870912, 1073741822, 1073741823};

    (void)state;
    for (int i = 0; i < 36; i++) {
        int64_t x = samples[i / 6];
        int64_t y = samples[i % 6];
        tseed_range_t tile = {30, x, y, x, y};

        assert_tiles(mercator(), 30, tseed_range_bounds(mercator(), &tile),
                     (int64_t[]){x, y, x, y});
    }
}

static void test_range__tiles_as_small_as_rounding_cover_themselves(void **state)
{
    /* A surveyor's metres, and tiles of a quarter of a millimetre: 9e-10 between two doubles. */
    tseed_gridset_t set = {
        .name = "Labor 7.1",
        .extent = {500000.1, 5000000.1, 500010.1, 5000010.1},
        .origin_x = 500000.1,
        .origin_y = 5000000.1,
        .tile_width = 256,
        .tile_height = 256,
        .meters_per_unit = 1,
        .levels = 1,
        .resolution = {1e-6},
    };

    (void)state;
    assert_null(tseed_gridset_finish(&set, pool));
    for (int64_t x = 7; x < 39000; x += 311) {
        int64_t y = 39000 - x;
        tseed_range_t tile = {0, x, y, x, y};

        assert_tiles(&set, 0, tseed_range_bounds(&set, &tile), (int64_t[]){x, y, x, y});
    }
}

static void test_range__points_and_lines_take_the_tile_they_lie_in(void **state)
{
    (void)state;
    assert_tiles(wgs84(), 3, (tseed_bounds_t){1, 1, 1, 1}, (int64_t[]){8, 4, 8, 4});
    assert_tiles(wgs84(), 3, (tseed_bounds_t){0, 0, 0, 0}, (int64_t[]){8, 4, 8, 4});
    assert_tiles(wgs84(), 3, (tseed_bounds_t){0, -90, 0, 90}, (int64_t[]){8, 0, 8, 7});
    assert_tiles(wgs84(), 3, (tseed_bounds_t){-180, -90, -180, -90}, (int64_t[]){0, 0, 0, 0});
    assert_tiles(wgs84(), 3, (tseed_bounds_t){180, 90, 180, 90}, (int64_t[]){15, 7, 15, 7});
    /* Thinner than a millionth of a tile, across a tile's edge. */
    assert_tiles(wgs84(), 3, (tseed_bounds_t){-1e-9, 10, 1e-9, 11}, (int64_t[]){8, 4, 8, 4});
}

static void test_range__bounds_are_cut_to_the_extent(void **state)
{
    (void)state;
    assert_tiles(wgs84(), 1, (tseed_bounds_t){-1000, -1000, 1000, 1000}, (int64_t[]){0, 0, 3, 1});
    assert_tiles(wgs84(), 1, (tseed_bounds_t){-1e300, 1, -170, INFINITY}, (int64_t[]){0, 1, 0, 1});
}

static void test_range__nothing_outside_or_upside_down(void **state)
{
    (void)state;
    assert_nothing(wgs84(), (tseed_bounds_t){181, 0, 190, 10});
    assert_nothing(wgs84(), (tseed_bounds_t){-10, 91, 10, 1e300});
    assert_nothing(wgs84(), (tseed_bounds_t){180, -10, 190, 10});
    assert_nothing(wgs84(), (tseed_bounds_t){-10, -100, 10, -90});
    assert_nothing(wgs84(), (tseed_bounds_t){10, 0, -10, 10});
    assert_nothing(wgs84(), (tseed_bounds_t){NAN, 0, 10, 10});
    assert_nothing(wgs84(), (tseed_bounds_t){0, 0, 10, NAN});
}

static void test_range__rows_count_from_the_bottom_of_a_top_left_grid(void **state)
{
    tseed_gridset_t rd = dutch();
    /* Amersfoort's tower, 155000 463000, is the middle of the Dutch grid: an edge of every level
     * but 0. So a point there takes the tile to its right and above. */
    const tseed_bounds_t tower = {155000, 463000, 155000, 463000};

    (void)state;
    assert_tiles(&rd, 0, tower, (int64_t[]){0, 0, 0, 0});
    for (int z = 1; z < rd.levels; z++) {
        int64_t middle = INT64_C(1) << (z - 1);

        assert_int_equal(rd.columns[z], 2 * middle);
        assert_int_equal(rd.rows[z], 2 * middle);
        assert_tiles(&rd, z, tower, (int64_t[]){middle, middle, middle, middle});
        assert_tiles(&rd, z, (tseed_bounds_t){155000, 463000, 595401.92, 903401.92},
                     (int64_t[]){middle, middle, 2 * middle - 1, 2 * middle - 1});
        assert_tiles(&rd, z, (tseed_bounds_t){-285401.92, 22598.08, 155000, 463000},
                     (int64_t[]){0, 0, middle - 1, middle - 1});
    }
}

static void test_range__a_bottom_row_may_hang_out(void **state)
{
    tseed_gridset_t set = ragged();
    tseed_range_t bottom = {0, 0, 0, 3, 0};
    tseed_range_t top = {0, 0, 3, 0, 3};
    tseed_bounds_t ground;

    (void)state;
    /* Edges of the rows of level 0: 70, 50, 30, 10, -10. */
    assert_int_equal(set.rows[0], 4);
    assert_int_equal(set.columns[0], 4);
    assert_tiles(&set, 0, (tseed_bounds_t){0, 0, 100, 9}, (int64_t[]){0, 0, 3, 0});
    assert_tiles(&set, 0, (tseed_bounds_t){0, 0, 100, 10}, (int64_t[]){0, 0, 3, 0});
    assert_tiles(&set, 0, (tseed_bounds_t){0, 0, 100, 11}, (int64_t[]){0, 0, 3, 1});
    assert_tiles(&set, 0, (tseed_bounds_t){31, 50, 59, 70}, (int64_t[]){1, 3, 1, 3});
    ground = tseed_range_bounds(&set, &bottom);
    assert_true(ground.minx == 0 && ground.miny == -10 && ground.maxx == 120 && ground.maxy == 10);
    ground = tseed_range_bounds(&set, &top);
    assert_true(ground.minx == 0 && ground.miny == 50 && ground.maxx == 30 && ground.maxy == 70);
    assert_nothing(&set, (tseed_bounds_t){0, -9, 100, -1});
}

static void test_range__ground_of_known_tiles(void **state)
{
    /* The first two from GeoWebCache's tests; the third from mercantile's documentation: tile
     * 10/486/332, west -9.140625 to east -8.7890625, which are 1/1024 of the way round. */
    tseed_bounds_t ground;
    const double degree = 20037508.34 / 180;

    (void)state;
    ground = tseed_range_bounds(wgs84(), &(tseed_range_t){1, 1, 1, 1, 1});
    assert_true(ground.minx == -90 && ground.miny == 0 && ground.maxx == 0 && ground.maxy == 90);
    ground = tseed_range_bounds(wgs84(), &(tseed_range_t){2, 5, 1, 5, 1});
    assert_true(ground.minx == 45 && ground.miny == -45 && ground.maxx == 90 && ground.maxy == 0);
    ground = tseed_range_bounds(mercator(), &(tseed_range_t){10, 486, 691, 486, 691});
    assert_true(fabs(ground.minx / degree + 9.140625) < 1e-9);
    assert_true(fabs(ground.maxx / degree + 8.7890625) < 1e-9);
    assert_true(fabs(atan(sinh(ground.miny / 6378137)) * 180 / M_PI - 53.12040528310657) < 1e-7);
    assert_true(fabs(atan(sinh(ground.maxy / 6378137)) * 180 / M_PI - 53.33087298301705) < 1e-7);
}

static void test_range__columns_begin_at_a_remote_origin(void **state)
{
    tseed_gridset_t set = *wgs84();

    (void)state;
    set.extent = (tseed_bounds_t){5, 45, 15, 55};
    assert_null(tseed_gridset_finish(&set, pool));
    /* The same tiles as those of the whole world, but none beyond the extent. */
    assert_tiles(&set, 4, set.extent, (int64_t[]){16, 12, 17, 12});
    assert_tiles(&set, 4, (tseed_bounds_t){-180, -90, 180, 90}, (int64_t[]){16, 12, 17, 12});
    assert_nothing(&set, (tseed_bounds_t){-180, -90, 4, 90});
}

/* Whether a tile and the bounds inside the extent share more than a hair of ground, by the tile's
 * own rectangle. */
static int tile_is_touched(const tseed_gridset_t *set, int z, int64_t x, int64_t y,
                           const tseed_bounds_t *bounds)
{
    long double width = (long double)set->resolution[z] * set->tile_width;
    long double height = (long double)set->resolution[z] * set->tile_height;
    long double bottom = set->top_left ? set->origin_y - (long double)set->rows[z] * height
                                       : (long double)set->origin_y;
    long double left = set->origin_x + (long double)x * width;
    long double low = bottom + (long double)y * height;
    long double shared_width = fminl(left + width, fminl(bounds->maxx, set->extent.maxx)) -
                               fmaxl(left, fmaxl(bounds->minx, set->extent.minx));
    long double shared_height = fminl(low + height, fminl(bounds->maxy, set->extent.maxy)) -
                                fmaxl(low, fmaxl(bounds->miny, set->extent.miny));

    return shared_width > 1e-6L * width && shared_height > 1e-6L * height;
}

static double between(double low, double high)
{
    return low + (high - low) * ((double)random() / 2147483648.0);
}

static tseed_bounds_t random_bounds(const tseed_bounds_t *around)
{
    double width = (around->maxx - around->minx) / 4;
    double height = (around->maxy - around->miny) / 4;
    double minx = between(around->minx - width, around->maxx);
    double miny = between(around->miny - height, around->maxy);

    return (tseed_bounds_t){minx, miny, between(minx, around->maxx + width),
                            between(miny, around->maxy + height)};
}

static void compare_all_tiles(const tseed_gridset_t *set, int z, const tseed_bounds_t *bounds)
{
    tseed_range_t range = tseed_range_of(set, z, bounds);

    for (int64_t x = 0; x < set->columns[z]; x++) {
        for (int64_t y = 0; y < set->rows[z]; y++) {
            int inside = x >= range.minx && x <= range.maxx && y >= range.miny && y <= range.maxy;

            if (inside != tile_is_touched(set, z, x, y, bounds)) {
                fail_msg("%s %d/%ld/%ld, bounds %.17g %.17g %.17g %.17g", set->name, z, (long)x,
                         (long)y, bounds->minx, bounds->miny, bounds->maxx, bounds->maxy);
            }
        }
    }
}

static void test_range__agrees_with_every_tile_tried_alone(void **state)
{
    tseed_gridset_t sets[] = {*wgs84(), *mercator(), dutch(), ragged(), ragged()};

    (void)state;
    sets[4].name = "ragged, from afar";
    sets[4].top_left = 0;
    sets[4].origin_x = -17;
    sets[4].origin_y = -45.5;
    assert_null(tseed_gridset_finish(&sets[4], pool));
    srandom(1906);
    for (int round = 0; round < 300; round++) {
        const tseed_gridset_t *set = &sets[round % 5];
        tseed_bounds_t bounds = random_bounds(&set->extent);

        for (int z = 0; z < set->levels && z < 5; z++) {
            compare_all_tiles(set, z, &bounds);
        }
    }
}

static void test_range__intersection_is_what_both_hold(void **state)
{
    const tseed_range_t a = {5, 2, 3, 10, 12};
    const tseed_range_t b = {5, 8, 0, 20, 4};
    const tseed_range_t beside = {5, 11, 3, 12, 12};
    const tseed_range_t deeper = {6, 2, 3, 10, 12};
    tseed_range_t common = tseed_range_intersect(&a, &b);

    (void)state;
    assert_int_equal(common.z, 5);
    assert_range(common, (int64_t[]){8, 3, 10, 4});
    assert_int_equal(tseed_range_count(&common), 6);
    common = tseed_range_intersect(&a, &beside);
    assert_int_equal(tseed_range_count(&common), 0);
    common = tseed_range_intersect(&a, &deeper);
    assert_int_equal(tseed_range_count(&common), 0);
}

static void test_range__bounds_share_ground_or_none(void **state)
{
    const tseed_bounds_t square = {0, 0, 10, 10};
    const tseed_bounds_t overlapping = {5, -5, 20, 5};
    const tseed_bounds_t beside = {10, 0, 20, 10};
    const tseed_bounds_t corner = {10, 10, 10, 10};
    const tseed_bounds_t away = {11, 0, 20, 10};
    tseed_bounds_t common;

    (void)state;
    assert_true(tseed_bounds_intersect(&common, &square, &overlapping));
    assert_true(common.minx == 5 && common.miny == 0 && common.maxx == 10 && common.maxy == 5);
    assert_false(tseed_bounds_intersect(&common, &square, &beside));
    assert_true(tseed_bounds_intersect(&common, &square, &corner));
    assert_true(common.minx == 10 && common.maxy == 10);
    assert_true(tseed_bounds_intersect(&common, &corner, &beside));
    assert_false(tseed_bounds_intersect(&common, &square, &away));
}

/* Tile 3/10/2 of the world in degrees covers 45..67.5 east, 45..22.5 south. */
static void test_range__tile_of_its_ground(void **state)
{
    const tseed_gridset_t *world = tseed_gridset_builtin("EPSG:4326");
    const tseed_bounds_t exact = {45, -45, 67.5, -22.5}, near = {45.5, -45.5, 67, -22.4};
    const tseed_bounds_t others[] = {
        {56.25, -45, 78.75, -22.5},
        {45, -45, 56, -22.5},
        {45, -45, 67.5, -33.75},
        {48, -42, 70.5, -19.5},
        {200, 0, 222.5, 22.5},
        {45, -45, 45, -45},
        {0, 0, 7, 7},
    };
    tseed_tile_t tile;

    (void)state;
    assert_true(tseed_tile_of_bounds(&tile, world, &exact));
    assert_true(tile.z == 3 && tile.x == 10 && tile.y == 2);
    assert_true(tseed_tile_of_bounds(&tile, world, &near));
    assert_true(tile.z == 3 && tile.x == 10 && tile.y == 2);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(tseed_tile_of_bounds(&tile, world, &others[i]));
    }
}

/* Rows hang out in the south and columns in the east; the middle of most tiles there is outside. */
static void test_range__tile_of_its_ground_at_the_border(void **state)
{
    const tseed_gridset_t grid = ragged();

    (void)state;
    for (int z = 0; z < grid.levels; z++) {
        const tseed_tile_t corners[] = {{z, 0, 0},
                                        {z, grid.columns[z] - 1, 0},
                                        {z, 0, grid.rows[z] - 1},
                                        {z, grid.columns[z] - 1, grid.rows[z] - 1}};

        for (size_t i = 0; i < sizeof(corners) / sizeof(corners[0]); i++) {
            const tseed_range_t one = {z, corners[i].x, corners[i].y, corners[i].x, corners[i].y};
            const tseed_bounds_t ground = tseed_range_bounds(&grid, &one);
            tseed_tile_t tile;

            assert_true(tseed_tile_of_bounds(&tile, &grid, &ground));
            assert_true(tile.z == z && tile.x == corners[i].x && tile.y == corners[i].y);
        }
    }
}

static void assert_within(int z, tseed_bounds_t bounds, const int64_t expected[4])
{
    const tseed_gridset_t set = ragged();
    const tseed_range_t range = tseed_range_within(&set, z, &bounds);

    assert_int_equal(range.z, z);
    assert_range(range, expected);
}

/* Level 1 has 7 x 7 tiles of 15 x 10 units, of which the last column hangs out; level 0 has 4 x 4
 * of 30 x 20, of which the last column and the lowest row do. */
static void test_range__whole_tiles_lie_within_bounds(void **state)
{
    static const int64_t some[4] = {1, 1, 2, 3}, one[4] = {2, 3, 2, 3}, all[4] = {0, 0, 5, 6},
                         inner[4] = {0, 1, 2, 3};
    const tseed_gridset_t set = ragged();
    tseed_range_t none;

    (void)state;
    assert_within(1, (tseed_bounds_t){15, 10, 45, 40}, some);
    assert_within(1, (tseed_bounds_t){14, 9, 46, 41}, some);
    assert_within(1, (tseed_bounds_t){0.1, 0.1, 59.9, 49.9}, some);
    assert_within(1, (tseed_bounds_t){30, 30, 45, 40}, one);
    assert_within(1, (tseed_bounds_t){0, 0, 100, 70}, all);
    assert_within(0, (tseed_bounds_t){0, 0, 100, 70}, inner);
    for (int z = 0; z < 2; z++) {
        none = tseed_range_within(&set, z, &(tseed_bounds_t){16, 0, 44, 70});
        assert_int_equal(tseed_range_count(&none), 0);
        assert_int_equal(none.z, z);
        none = tseed_range_within(&set, z, &(tseed_bounds_t){0, 31, 100, 39});
        assert_int_equal(tseed_range_count(&none), 0);
    }
}

static void test_range__origin_of_all_levels(void **state)
{
    const tseed_gridset_t grid = ragged();
    const tseed_gridset_t *world = tseed_gridset_builtin("EPSG:3857");
    tseed_gridset_t turned = *world;

    (void)state;
    turned.top_left = 1;
    turned.origin_y = turned.extent.maxy;
    assert_null(tseed_gridset_finish(&turned, NULL));
    assert_true(tseed_range_has_one_origin(world, 0, 30));
    assert_true(tseed_range_has_one_origin(&turned, 0, 30));
    assert_false(tseed_range_has_one_origin(&grid, 0, grid.levels - 1));
    assert_true(tseed_range_has_one_origin(&grid, 1, 1));
}

static void assert_margin(const tseed_gridset_t *gridset, tseed_range_t whole, int gutter,
                          int is_cut, tseed_margin_t expected)
{
    const tseed_margin_t margin = tseed_margin_of(gridset, &whole, gutter, is_cut);

    assert_int_equal(margin.left, expected.left);
    assert_int_equal(margin.right, expected.right);
    assert_int_equal(margin.bottom, expected.bottom);
    assert_int_equal(margin.top, expected.top);
}

/* Level 4 has 16 x 16 tiles of 256 pixels a side; level 1 of the other 7 x 7 of 3 x 2. */
static void test_range__gutters_end_at_the_grid(void **state)
{
    const tseed_gridset_t *world = tseed_gridset_builtin("EPSG:3857");
    const tseed_gridset_t set = ragged();

    (void)state;
    assert_margin(world, (tseed_range_t){4, 0, 0, 3, 3}, 100, 1,
                  (tseed_margin_t){.left = 0, .right = 100, .bottom = 0, .top = 100});
    assert_margin(world, (tseed_range_t){4, 12, 12, 15, 15}, 100, 1,
                  (tseed_margin_t){.left = 100, .right = 0, .bottom = 100, .top = 0});
    assert_margin(world, (tseed_range_t){4, 0, 0, 15, 15}, 100, 0,
                  (tseed_margin_t){.left = 100, .right = 100, .bottom = 100, .top = 100});
    assert_margin(world, (tseed_range_t){4, 1, 2, 13, 14}, 300, 1,
                  (tseed_margin_t){.left = 256, .right = 300, .bottom = 300, .top = 256});
    assert_margin(&set, (tseed_range_t){1, 1, 1, 5, 5}, 5, 1,
                  (tseed_margin_t){.left = 3, .right = 3, .bottom = 2, .top = 2});
    assert_margin(&set, (tseed_range_t){1, 1, 1, 5, 5}, 0, 1, (tseed_margin_t){.left = 0});
}

static void test_range__boxes_that_look_like_degrees(void **state)
{
    const tseed_bounds_t metres = tseed_gridset_builtin("EPSG:3857")->extent;
    const tseed_bounds_t degrees = tseed_gridset_builtin("EPSG:4326")->extent;
    const tseed_bounds_t boxes[] = {
        {-181, -90, 180, 90}, {-180, -181, 180, 90}, {-180, -90, 181, 90}, {-180, -90, 180, 181}};
    const tseed_bounds_t narrow = {0, 0, 36000, 1}, wide = {1, 0, 36002, 1};

    (void)state;
    assert_true(tseed_bounds_in_degrees(&(tseed_bounds_t){-180, -180, 180, 180}, &metres));
    assert_false(tseed_bounds_in_degrees(&(tseed_bounds_t){5, 45, 15, 55}, &degrees));
    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
        assert_false(tseed_bounds_in_degrees(&boxes[i], &metres));
    }
    assert_false(tseed_bounds_in_degrees(&(tseed_bounds_t){5, 45, 15, 55}, &narrow));
    assert_true(tseed_bounds_in_degrees(&(tseed_bounds_t){5, 45, 15, 55}, &wide));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range__whole_worlds_have_known_counts),
        cmocka_unit_test(test_range__wgs84_coverages_are_geowebcaches),
        cmocka_unit_test(test_range__mercator_coverages_are_geowebcaches),
        cmocka_unit_test(test_range__cities_lie_in_their_slippy_map_tiles),
        cmocka_unit_test(test_range__an_edge_on_a_tile_edge_adds_no_neighbour),
        cmocka_unit_test(test_range__every_tile_covers_itself_alone),
        cmocka_unit_test(test_range__tiles_as_small_as_rounding_cover_themselves),
        cmocka_unit_test(test_range__points_and_lines_take_the_tile_they_lie_in),
        cmocka_unit_test(test_range__bounds_are_cut_to_the_extent),
        cmocka_unit_test(test_range__nothing_outside_or_upside_down),
        cmocka_unit_test(test_range__rows_count_from_the_bottom_of_a_top_left_grid),
        cmocka_unit_test(test_range__a_bottom_row_may_hang_out),
        cmocka_unit_test(test_range__ground_of_known_tiles),
        cmocka_unit_test(test_range__columns_begin_at_a_remote_origin),
        cmocka_unit_test(test_range__agrees_with_every_tile_tried_alone),
        cmocka_unit_test(test_range__intersection_is_what_both_hold),
        cmocka_unit_test(test_range__bounds_share_ground_or_none),
        cmocka_unit_test(test_range__tile_of_its_ground),
        cmocka_unit_test(test_range__tile_of_its_ground_at_the_border),
        cmocka_unit_test(test_range__whole_tiles_lie_within_bounds),
        cmocka_unit_test(test_range__origin_of_all_levels),
        cmocka_unit_test(test_range__gutters_end_at_the_grid),
        cmocka_unit_test(test_range__boxes_that_look_like_degrees),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
