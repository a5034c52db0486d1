/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Layouts against the files that GeoWebCache, MapCache and MapProxy make, and back again. */
#include "tileset_fixture.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "store/tseed_layout.h"
#include "store/tseed_store.h"

#include "pool_fixture.h"

/* The tile's file is `expected`, and that file is the tile. */
static void assert_path(const tileset_fixture_t *fixture, int z, int64_t x, int64_t y,
                        const char *expected)
{
    const tseed_pattern_t *pattern = tseed_layout_compile(&fixture->tileset, pool);
    const char *path = tseed_store_path(&fixture->tileset, z, x, y, pool);
    int back_z = -1;
    int64_t back_x = -1, back_y = -1;

    assert_string_equal(path, expected);
    assert_true(strlen(path) < tseed_layout_longest(pattern));
    assert_int_equal(tseed_layout_tile(&back_z, &back_x, &back_y, pattern, path), 1);
    assert_int_equal(back_z, z);
    assert_int_equal(back_x, x);
    assert_int_equal(back_y, y);
}

/* EPSG:4326 has two columns at level 0. */
static void use_4326(tileset_fixture_t *fixture)
{
    tileset_fixture_gridset(fixture, "EPSG:4326", 22, 2);
}

/* Rows as the examples of MapCache and MapProxy count them, from the edge that the layout counts
 * from. */
static void assert_row_path(const tileset_fixture_t *fixture, int from_top, int z, int64_t x,
                            int64_t row, const char *expected)
{
    int64_t rows = fixture->gridset.rows[z];

    assert_path(fixture, z, x, from_top ? rows - 1 - row : row, expected);
}

static void test_layout__geowebcache_default(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_GEOWEBCACHE);
    assert_path(&f, 12, 1000, 1002, "topp_states/EPSG_900913_12/007_007/0001000_0001002.png");
    assert_path(&f, 18, 137520, 171000,
                "topp_states/EPSG_900913_18/0134_0166/00137520_00171000.png");
    assert_path(&f, 18, 100000, 100230,
                "topp_states/EPSG_900913_18/0097_0097/000100000_000100230.png");
    use_4326(&f);
    assert_path(&f, 0, 0, 0, "topp_states/EPSG_4326_00/0_0/00_00.png");
    assert_path(&f, 1, 3, 1, "topp_states/EPSG_4326_01/1_0/03_01.png");
    assert_path(&f, 8, 100, 99, "topp_states/EPSG_4326_08/03_03/00100_0099.png");
    f.format.extension = "jpeg";
    assert_path(&f, 10, 168, 611, "topp_states/EPSG_4326_10/02_09/0168_0611.jpeg");
}

static void test_layout__geowebcache_hash(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_GEOWEBCACHE);
    use_4326(&f);
    f.tileset.hash = "f0023dc7bc347fee7a3a04dc797f2223f74e3448";
    assert_path(&f, 10, 100, 100,
                "topp_states/EPSG_4326_10_f0023dc7bc347fee7a3a04dc797f2223f74e3448/01_01/"
                "00100_00100.png");
}

/* The columns of one level around the places where GeoWebCache's estimate is one digit short. */
static void test_layout__geowebcache_surplus_zero(void **state)
{
    static const struct {
        int z;
        int64_t x;
        const char *name;
    } rows[] = {
        {6, 9, "0009"},
        {6, 10, "0010"},
        {6, 11, "0011"},
        {6, 12, "0012"},
        {8, 101, "0101"},
        {12, 999, "000999"},
        {12, 1003, "001003"},
        {18, 10000, "000010000"},
        {18, 10023, "000010023"},
        {18, 10024, "00010024"},
        {18, 100231, "00100231"},
        {20, 1000000, "001000000"},
        {21, 1002305, "001002305"},
        {21, 1002306, "01002306"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tileset_fixture_t f;
        const char *path;

        tileset_fixture_init(&f, "/t", TSEED_LAYOUT_GEOWEBCACHE);
        path = strrchr(tseed_store_path(&f.tileset, rows[i].z, rows[i].x, 0, pool), '/') + 1;
        assert_int_equal(strncmp(path, rows[i].name, strlen(rows[i].name)), 0);
        assert_int_equal(path[strlen(rows[i].name)], '_');
    }
}

/* The halves of LAYOUTS: 2 << z / 2, and the digits that go with them. */
static void test_layout__geowebcache_blocks(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_GEOWEBCACHE);
    assert_path(&f, 5, 31, 8, "topp_states/EPSG_900913_05/3_1/31_08.png");
    assert_path(&f, 11, 2047, 64, "topp_states/EPSG_900913_11/31_01/2047_0064.png");
    assert_path(&f, 17, 131071, 512, "topp_states/EPSG_900913_17/255_001/131071_000512.png");
    assert_path(&f, 30, 1073741823, 65536,
                "topp_states/EPSG_900913_30/16383_00001/1073741823_0000065536.png");
}

static void test_layout__slippy_and_tms(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_TMS);
    use_4326(&f);
    assert_path(&f, 2, 0, 0, "topp_states/EPSG_4326/2/0/0.png");
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_XYZ);
    use_4326(&f);
    assert_path(&f, 2, 0, 0, "topp_states/EPSG_4326/2/0/3.png");
    f.tileset.hash = "ed5fe8dc461f38ece6b67eb7f6e02562283b4b2c";
    assert_path(&f, 2, 7, 3,
                "topp_states/EPSG_4326_ed5fe8dc461f38ece6b67eb7f6e02562283b4b2c/2/7/0.png");
}

static void test_layout__tilecache(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_TILECACHE);
    assert_row_path(&f, 0, 17, 70406, 90100,
                    "topp_states/EPSG_900913/17/000/070/406/000/090/100.png");
    tileset_fixture_gridset(&f, "g", 31, 4);
    assert_row_path(&f, 0, 2, 3, 3, "topp_states/g/02/000/000/003/000/000/003.png");
    assert_row_path(&f, 0, 30, 1073741824, 1073741823,
                    "topp_states/g/30/1073/741/824/1073/741/823.png");
    f.gridset.rows[2] = 5;
    assert_row_path(&f, 0, 2, 3, 4, "topp_states/g/02/000/000/003/000/000/004.png");
}

static void test_layout__arcgis(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_ARCGIS);
    assert_row_path(&f, 1, 17, 70406, 90100, "topp_states/EPSG_900913/L17/R00015ff4/C00011306.png");
    assert_row_path(&f, 1, 17, 70406, 42987, "topp_states/EPSG_900913/L17/R0000a7eb/C00011306.png");
}

/* (3, 4, 2) of MapProxy's table has a row that level 2 does not have: its low bits are those of row
 * 0. The next two are MapProxy's and Bing's own examples. */
static void test_layout__quadkey(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_QUADKEY);
    assert_row_path(&f, 1, 2, 3, 0, "topp_states/EPSG_900913/11.png");
    assert_row_path(&f, 1, 3, 3, 5, "topp_states/EPSG_900913/213.png");
    assert_row_path(&f, 1, 1, 1, 1, "topp_states/EPSG_900913/3.png");
}

static void test_layout__template(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_TEMPLATE);
    f.layer.store.path_template = "{ext}/{x}/by-{-y}/{z}~{y}.{hash}";
    assert_path(&f, 3, 5, 1, "png/5/by-1/3~6.default");
    f.tileset.hash = "7510004a12f49fdd49a2ba366e9c4594be7e4358";
    assert_path(&f, 3, 5, 1, "png/5/by-1/3~6.7510004a12f49fdd49a2ba366e9c4594be7e4358");
    f.layer.store.path_template = "{layer}-{gridset}/{quadkey}";
    assert_path(&f, 3, 3, 2, "topp_states-EPSG_900913/213");
}

static void assert_cell(const tseed_pattern_t *pattern, int depth, int z, int64_t columns,
                        int64_t rows)
{
    int64_t found_columns, found_rows;

    tseed_layout_cell(&found_columns, &found_rows, pattern, depth, z);
    assert_true(found_columns == columns && found_rows == rows);
}

/* Which tiles share a directory, and what all paths begin with. */
static void test_layout__directories_divide_a_level(void **state)
{
    const tseed_pattern_t *pattern;
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_GEOWEBCACHE);
    pattern = tseed_layout_compile(&f.tileset, pool);
    assert_string_equal(tseed_layout_prefix(pattern, pool), "topp_states/EPSG_900913_");
    assert_int_equal(tseed_layout_depth(pattern), 4);
    assert_int_equal(tseed_layout_level_depth(pattern), 1);
    assert_cell(pattern, 1, 12, INT64_MAX, INT64_MAX);
    assert_cell(pattern, 2, 12, 128, 128);
    assert_cell(pattern, 2, 11, 64, 64);
    assert_cell(pattern, 3, 12, 1, 1);
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_XYZ);
    pattern = tseed_layout_compile(&f.tileset, pool);
    assert_string_equal(tseed_layout_prefix(pattern, pool), "topp_states/EPSG_900913/");
    assert_int_equal(tseed_layout_level_depth(pattern), 2);
    assert_cell(pattern, 2, 9, INT64_MAX, INT64_MAX);
    assert_cell(pattern, 3, 9, 1, INT64_MAX);
    assert_cell(pattern, 4, 9, 1, 1);
    for (int depth = 0; depth < 5; depth++) {
        assert_int_equal(tseed_layout_component_varies(pattern, depth), depth >= 2);
    }
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_TILECACHE);
    pattern = tseed_layout_compile(&f.tileset, pool);
    assert_cell(pattern, 3, 17, 1000000, INT64_MAX);
    assert_cell(pattern, 4, 17, 1000, INT64_MAX);
    assert_cell(pattern, 6, 17, 1, 1000000);
    assert_cell(pattern, 8, 17, 1, 1);
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_QUADKEY);
    pattern = tseed_layout_compile(&f.tileset, pool);
    assert_int_equal(tseed_layout_level_depth(pattern), -1);
    assert_cell(pattern, 1, 3, INT64_MAX, INT64_MAX);
    assert_cell(pattern, 2, 3, 1, 1);
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_TEMPLATE);
    f.layer.store.path_template = "{ext}/{x}/by-{-y}/{z}~{y}.{hash}";
    pattern = tseed_layout_compile(&f.tileset, pool);
    assert_string_equal(tseed_layout_prefix(pattern, pool), "png/");
    assert_int_equal(tseed_layout_level_depth(pattern), -1);
    assert_cell(pattern, 1, 3, 1, INT64_MAX);
    assert_cell(pattern, 2, 3, 1, 1);
}

static void test_layout__templates_hold_placeholders(void **state)
{
    (void)state;
    assert_true(tseed_template_holds("{layer}/{quadkey}.png", "quadkey"));
    assert_true(tseed_template_holds("{layer}/{quadkey}.png", "layer"));
    assert_false(tseed_template_holds("{layer}/{quadkey}.png", "key"));
    assert_false(tseed_template_holds("{z}/{x}/{-y}", "y"));
    assert_true(tseed_template_holds("{z}/{x}/{-y}", "-y"));
    assert_false(tseed_template_holds("z/x/y", "z"));
    assert_false(tseed_template_holds("", "z"));
}

static void test_layout__names_stay_below_the_root(void **state)
{
    static const char *const names[][2] = {
        {"..", "%2E."},
        {".", "%2E"},
        {"../../etc", "%2E.%2F..%2Fetc"},
        {"/abs", "%2Fabs"},
        {"a b:c", "a_b_c"},
        {"Landeskarte (LV95): Übersicht", "Landeskarte_(LV95)__Übersicht"},
        {"{z}", "{z}"},
        {"100%", "100%"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tileset_fixture_t f;

        tileset_fixture_init(&f, "/t", TSEED_LAYOUT_XYZ);
        f.layer.name = names[i][0];
        f.gridset.name = names[i][0];
        assert_path(&f, 1, 1, 0, apr_psprintf(pool, "%s/%s/1/1/1.png", names[i][1], names[i][1]));
    }
}

static int64_t random_below(int64_t limit)
{
    return (((int64_t)random() << 31) ^ random()) % limit;
}

static void test_layout__every_path_leads_back(void **state)
{
    (void)state;
    srandom(1);
    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout <= TSEED_LAYOUT_TEMPLATE; layout++) {
        tileset_fixture_t f;

        tileset_fixture_init(&f, "/t", (tseed_layout_t)layout);
        f.layer.store.path_template = "{x}/{y}/{z}.{ext}";
        for (int i = 0; i < 500; i++) {
            int z = (int)random_below(31);
            int64_t x = random_below(f.gridset.columns[z]), y = random_below(f.gridset.rows[z]);

            assert_path(&f, z, x, y, tseed_store_path(&f.tileset, z, x, y, pool));
        }
    }
}

static void test_layout__other_names_are_no_tiles(void **state)
{
    static const struct {
        tseed_layout_t layout;
        const char *path;
    } rows[] = {
        {TSEED_LAYOUT_XYZ, ""},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/1.png/"},
        {TSEED_LAYOUT_XYZ, "/topp_states/EPSG_900913/2/3/1.png"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/1.jpeg"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/1.png8"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/01.png"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/+1.png"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/-1.png"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/.png"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/4/1.png"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/4.png"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/31/3/4.png"},
        {TSEED_LAYOUT_XYZ, "topp_states/EPSG_900913/2/3/18446744073709551617.png"},
        {TSEED_LAYOUT_XYZ,
         "topp_states/EPSG_900913_f0023dc7bc347fee7a3a04dc797f2223f74e3448/2/3/1.png"},
        {TSEED_LAYOUT_GEOWEBCACHE, "topp_states/EPSG_900913_08/03_03/0100_0099.png"},
        {TSEED_LAYOUT_GEOWEBCACHE, "topp_states/EPSG_900913_08/03_02/00100_0099.png"},
        {TSEED_LAYOUT_GEOWEBCACHE, "topp_states/EPSG_900913_8/03_03/00100_0099.png"},
        {TSEED_LAYOUT_ARCGIS, "topp_states/EPSG_900913/L17/R0000A7EB/C00011306.png"},
        {TSEED_LAYOUT_ARCGIS, "topp_states/EPSG_900913/L17/Ra7eb/C00011306.png"},
        {TSEED_LAYOUT_QUADKEY, "topp_states/EPSG_900913/214.png"},
        {TSEED_LAYOUT_TILECACHE, "topp_states/EPSG_900913/17/000/070/1406/000/090/100.png"},
        {TSEED_LAYOUT_TILECACHE, "topp_states/EPSG_900913/17/000/70/406/000/090/100.png"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tileset_fixture_t f;
        int z;
        int64_t x, y;

        tileset_fixture_init(&f, "/t", rows[i].layout);
        if (tseed_layout_tile(&z, &x, &y, tseed_layout_compile(&f.tileset, pool), rows[i].path)) {
            fail_msg("%s is no tile, but %d/%ld/%ld was found", rows[i].path, z, (long)x, (long)y);
        }
    }
}

/* NULL when the template is fine; else the sentence must hold the words. */
static void assert_check(const char *path_template, const char *words)
{
    tseed_store_config_t config = {
        .root = "/t", .layout = TSEED_LAYOUT_TEMPLATE, .path_template = path_template};
    const char *error = tseed_store_check(&config, pool);

    if (words && error) {
        if (!strstr(error, words)) {
            fail_msg("%s: '%s' does not speak of '%s'", path_template, error, words);
        }
    } else if (words || error) {
        fail_msg("%s: %s", path_template, error ? error : "was accepted");
    }
}

static void test_layout__check_templates(void **state)
{
    static const char *const rows[][2] = {
        {"{z}/{x}/{y}.{ext}", NULL},
        {"{layer}/{gridset}-{hash}/{z}/{x}_{-y}", NULL},
        {"{quadkey}.{ext}", NULL},
        {"tiles/{quadkey}/{z}.png", NULL},
        {"", "relative"},
        {NULL, "relative"},
        {"/{z}/{x}/{y}", "relative"},
        {"a/../{z}/{x}/{y}", "'..'"},
        {"{z}/./{x}/{y}", "'.'"},
        {"{z}//{x}/{y}", "empty"},
        {"{z}/{x}/{y}/", "empty"},
        {"{x}/{y}.{ext}", "{z}"},
        {"{z}/{y}.{ext}", "{x}"},
        {"{z}/{x}.{ext}", "{-y}"},
        {"{z}/{x}/{Y}", "unknown placeholder {Y}"},
        {"{z}/{x}/{y}{}", "{}"},
        {"{z}/{x}/{y}.{format}", "unknown placeholder {format}"},
        {"{z}/{x}/{.y}", "unknown placeholder {.y}"},
        {"{z}/{x}/{y", "brace"},
        {"{z}/{x}/y}", "brace"},
        {"{z}/{x{y}}", "brace"},
        {"{z}{x}/{y}", "between {z}"},
        {"{z}/{x}0/{y}", "between {x}"},
        {"{layer}{gridset}/{z}/{x}/{y}", "between {layer}"},
        {".tseed-{z}/{x}/{y}", ".tseed-"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_check(rows[i][0], rows[i][1]);
    }
}

static void test_layout__check_root(void **state)
{
    tseed_store_config_t config = {.layout = TSEED_LAYOUT_XYZ};

    (void)state;
    assert_non_null(tseed_store_check(&config, pool));
    config.root = "var/tiles";
    assert_non_null(strstr(tseed_store_check(&config, pool), "absolute"));
    config.root = "/var/tiles";
    assert_null(tseed_store_check(&config, pool));
}

/* A layer with one grid set, one format and no parameter, to which a test adds. */
static void complete(tileset_fixture_t *fixture, const char *path_template)
{
    tseed_layer_t *layer = &fixture->layer;

    layer->store.path_template = path_template;
    layer->subsets = apr_array_make(pool, 2, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 2, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 2, sizeof(tseed_filter_t));
    APR_ARRAY_PUSH(layer->subsets, tseed_subset_t) = fixture->subset;
    APR_ARRAY_PUSH(layer->formats, tseed_format_t) = fixture->format;
}

static void test_layout__check_layer_keeps_tile_sets_apart(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_TEMPLATE);
    complete(&f, "{z}/{x}/{y}.png");
    assert_null(tseed_store_check_layer(&f.layer, pool));
    APR_ARRAY_PUSH(f.layer.subsets, tseed_subset_t) = f.subset;
    assert_non_null(strstr(tseed_store_check_layer(&f.layer, pool), "{gridset}"));
    complete(&f, "{z}/{x}/{y}.png");
    APR_ARRAY_PUSH(f.layer.formats, tseed_format_t) = f.format;
    assert_non_null(strstr(tseed_store_check_layer(&f.layer, pool), "{ext}"));
    complete(&f, "{z}/{x}/{y}.png");
    APR_ARRAY_PUSH(f.layer.filters, tseed_filter_t) = (tseed_filter_t){.name = "STYLES"};
    assert_non_null(strstr(tseed_store_check_layer(&f.layer, pool), "{hash}"));
    f.layer.store.layout = TSEED_LAYOUT_GEOWEBCACHE;
    assert_null(tseed_store_check_layer(&f.layer, pool));
}

static void test_layout__check_layer_quadkey_needs_a_square_of_two(void **state)
{
    tileset_fixture_t f;

    (void)state;
    tileset_fixture_init(&f, "/t", TSEED_LAYOUT_QUADKEY);
    complete(&f, "{quadkey}");
    assert_null(tseed_store_check_layer(&f.layer, pool));
    use_4326(&f);
    complete(&f, "{quadkey}");
    assert_non_null(strstr(tseed_store_check_layer(&f.layer, pool), "EPSG:4326"));
    f.layer.store.layout = TSEED_LAYOUT_TEMPLATE;
    assert_non_null(strstr(tseed_store_check_layer(&f.layer, pool), "2 x 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout__geowebcache_default),
        cmocka_unit_test(test_layout__geowebcache_hash),
        cmocka_unit_test(test_layout__geowebcache_surplus_zero),
        cmocka_unit_test(test_layout__geowebcache_blocks),
        cmocka_unit_test(test_layout__slippy_and_tms),
        cmocka_unit_test(test_layout__tilecache),
        cmocka_unit_test(test_layout__arcgis),
        cmocka_unit_test(test_layout__quadkey),
        cmocka_unit_test(test_layout__template),
        cmocka_unit_test(test_layout__directories_divide_a_level),
        cmocka_unit_test(test_layout__templates_hold_placeholders),
        cmocka_unit_test(test_layout__names_stay_below_the_root),
        cmocka_unit_test(test_layout__every_path_leads_back),
        cmocka_unit_test(test_layout__other_names_are_no_tiles),
        cmocka_unit_test(test_layout__check_templates),
        cmocka_unit_test(test_layout__check_root),
        cmocka_unit_test(test_layout__check_layer_keeps_tile_sets_apart),
        cmocka_unit_test(test_layout__check_layer_quadkey_needs_a_square_of_two),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
