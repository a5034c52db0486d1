/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The atlas: which tiles a layer has, and which files they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <apr_general.h>

#include "pool_fixture.h"
#include "store/tseed_atlas.h"

static const tseed_atlas_t *atlas;

static void add_grid(tseed_layer_t *layer, const char *name, int first, int last)
{
    tseed_subset_t *subset = apr_array_push(layer->subsets);
    const tseed_gridset_t *gridset = tseed_gridset_builtin(name);

    *subset = (tseed_subset_t){gridset, first, last, gridset->extent, name, 0};
}

static tseed_filter_t *add_styles(tseed_layer_t *layer)
{
    tseed_filter_t *filter = apr_array_push(layer->filters);

    *filter = (tseed_filter_t){.name = "STYLES", .default_value = ""};
    filter->values = apr_array_make(pool, 1, sizeof(const char *));
    APR_ARRAY_PUSH(filter->values, const char *) = "polygon";
    return filter;
}

/* The north-western quarter of the world from level 2 to 5, and all of it. */
static tseed_layer_t *make_layer(void)
{
    tseed_layer_t *layer = apr_pcalloc(pool, sizeof(*layer));

    layer->name = "topp:states";
    layer->subsets = apr_array_make(pool, 2, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 2, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 1, sizeof(tseed_filter_t));
    layer->store.root = "/cache";
    layer->expires = apr_time_from_sec(3600);
    add_grid(layer, "EPSG:900913", 2, 5);
    APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t).extent =
        (tseed_bounds_t){-20037508.34, 0, 0, 20037508.34};
    add_grid(layer, "EPSG:4326", 0, 21);
    tseed_format_init(apr_array_push(layer->formats), "image/png", pool);
    tseed_format_init(apr_array_push(layer->formats), "image/jpeg", pool);
    add_styles(layer);
    return layer;
}

static int setup_atlas(void **state)
{
    tseed_catalog_t *catalog;

    setup_group(state);
    catalog = tseed_catalog_create(pool);
    APR_ARRAY_PUSH(catalog->order, tseed_layer_t *) = make_layer();
    atlas = tseed_atlas_create(catalog, pool);
    return 0;
}

static const tseed_chart_t *find(const char *layer, const char *gridset)
{
    return tseed_atlas_find(atlas, layer, strlen(layer), gridset, strlen(gridset));
}

static void test_atlas__names(void **state)
{
    const tseed_chart_t *chart = find("topp:states", "EPSG:4326");

    (void)state;
    assert_string_equal(chart->subset->gridset->name, "EPSG:4326");
    assert_ptr_equal(find("topp:states", ""), find("topp:states", "EPSG:900913"));
    assert_ptr_equal(tseed_atlas_find(atlas, "topp:states/", 11, "EPSG:4326/0", 9), chart);
    assert_ptr_equal(find("topp:states", "EPSG:4326@0-21"), chart);
    assert_ptr_equal(find("topp:states", "EPSG:900913@2-5"), find("topp:states", ""));
    assert_null(find("topp:states", "EPSG:900913@2-6"));
    assert_null(find("topp:state", "EPSG:4326"));
    assert_null(find("topp:states", "EPSG:432"));
    assert_null(find("topp:states", "EPSG:43267"));
    assert_null(find("", "EPSG:4326"));
    assert_string_equal(chart->cache_control, "max-age=3600");
    assert_ptr_equal(tseed_chart_find(chart, "jpg", 3), tseed_chart_find(chart, "jpeg", 4));
    assert_ptr_equal(tseed_chart_find_mime(chart, "Image/JPEG"), &chart->served[1]);
    assert_null(tseed_chart_find(chart, "PNG", 3));
    assert_null(tseed_chart_find(chart, "pn", 2));
    assert_null(tseed_chart_find(chart, "png8", 4));
    assert_null(tseed_chart_find_mime(chart, "image/webp"));
}

/* A quarter of 2^z x 2^z tiles: the left columns, and the upper rows counted from the bottom. */
static void test_atlas__tiles_of_a_part(void **state)
{
    const tseed_chart_t *chart = find("topp:states", "EPSG:900913");

    (void)state;
    assert_true(tseed_chart_has(chart, 3, 0, 4));
    assert_true(tseed_chart_has(chart, 3, 3, 7));
    assert_false(tseed_chart_has(chart, 3, 4, 4));
    assert_false(tseed_chart_has(chart, 3, 3, 3));
    assert_false(tseed_chart_has(chart, 3, 3, 8));
    assert_false(tseed_chart_has(chart, 1, 0, 1));
    assert_false(tseed_chart_has(chart, 6, 0, 40));
    assert_false(tseed_chart_has(chart, 31, 0, 0));
    assert_false(tseed_chart_has(chart, -1, 0, 0));
    assert_false(tseed_chart_has(chart, INT64_C(1) << 32, 0, 0));
    assert_false(tseed_chart_has(chart, 3, INT64_MAX, 4));
    assert_false(tseed_chart_has(chart, 3, 0, INT64_MIN));
}

static const char *path_with(const char *style, int z, int64_t x, int64_t y)
{
    const tseed_served_t *served = tseed_chart_find(find("topp:states", "EPSG:4326"), "jpeg", 4);
    apr_table_t *submitted = apr_table_make(pool, 1);
    tseed_tile_t tile = {z, x, y};

    apr_table_setn(submitted, "styles", style);
    assert_null(tseed_served_choose(&served, served, submitted, pool));
    return tseed_served_path(served, &tile, pool);
}

/* Paths and hash as GeoWebCache makes them. */
static void test_atlas__files(void **state)
{
    const tseed_served_t *served = tseed_chart_find(find("topp:states", "EPSG:4326"), "jpeg", 4);
    apr_table_t *submitted = apr_table_make(pool, 1);

    (void)state;
    assert_string_equal(path_with("", 10, 168, 611),
                        "/cache/topp_states/EPSG_4326_10/02_09/0168_0611.jpeg");
    assert_string_equal(path_with("polygon", 10, 100, 100),
                        "/cache/topp_states/EPSG_4326_10_f0023dc7bc347fee7a3a04dc797f2223f74e3448/"
                        "01_01/00100_00100.jpeg");
    apr_table_setn(submitted, "STYLES", "night");
    assert_non_null(tseed_served_choose(&served, served, submitted, pool));
}

/* The page of a tile, whose set is one layer, grid set, format and style, in one store. */
static uint64_t page_of(const char *gridset, const char *style, int z, int64_t x, int64_t y)
{
    const tseed_chart_t *chart = find("topp:states", gridset);
    apr_table_t *submitted = apr_table_make(pool, 1);
    tseed_tileset_t tileset;

    apr_table_setn(submitted, "STYLES", style);
    assert_null(tseed_tileset_init(&tileset, chart->layer, chart->subset,
                                   chart->served[1].tileset.format, submitted, pool));
    return tseed_page_print(tseed_tileset_print(&tileset, pool), z, x / 32, y / 32);
}

static void test_atlas__pages_of_files(void **state)
{
    static const char *const foreign[] = {
        "/cache/topp_states/EPSG_4326_10/02_09/168_611.jpeg",
        "/cache/topp_states/EPSG_4326_10/02_09/0168_0611.webp",
        "/cache/topp_states/EPSG_4326_10/02_09/0168_0611.jpeg/x",
        "/cache/topp_states/EPSG_4326_10/02_08/0168_0611.jpeg",
        "/cache/topp_states",
        "/cache2/topp_states/EPSG_4326_10/02_09/0168_0611.jpeg",
        "/cache",
        "",
    };
    tseed_tile_t tile = {10, 168, 611};

    (void)state;
    assert_int_equal(
        tseed_atlas_page_of(atlas, "/cache/topp_states/EPSG_4326_10/02_09/0168_0611.jpeg", pool),
        page_of("EPSG:4326", "", 10, 168, 611));
    assert_int_equal(tseed_served_page(&find("topp:states", "EPSG:4326")->served[1], &tile),
                     page_of("EPSG:4326", "", 10, 168, 611));
    assert_int_equal(
        tseed_atlas_page_of(
            atlas,
            "/cache/topp_states/EPSG_4326_10_f0023dc7bc347fee7a3a04dc797f2223f74e3448/01_01/"
            "00100_00100.jpeg",
            pool),
        page_of("EPSG:4326", "polygon", 10, 100, 100));
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        assert_int_equal(tseed_atlas_page_of(atlas, foreign[i], pool), 0);
    }
}

/* The page of a tile of the style "polygon", found by the path that the tile has. */
static void assert_found(tseed_layout_t layout, const char *path_template)
{
    const tseed_tile_t tile = {10, 100, 200};
    tseed_catalog_t *catalog = tseed_catalog_create(pool);
    tseed_layer_t *layer = make_layer();
    apr_table_t *submitted = apr_table_make(pool, 1);
    const tseed_served_t *served;
    tseed_atlas_t *made;

    layer->store.layout = layout;
    layer->store.path_template = path_template;
    APR_ARRAY_PUSH(catalog->order, tseed_layer_t *) = layer;
    made = tseed_atlas_create(catalog, pool);
    apr_table_setn(submitted, "STYLES", "polygon");
    served = &tseed_atlas_find(made, "topp:states", 11, "EPSG:4326", 9)->served[0];
    assert_null(tseed_served_choose(&served, served, submitted, pool));
    assert_int_equal(tseed_atlas_page_of(made, tseed_served_path(served, &tile, pool), pool),
                     tseed_served_page(served, &tile));
}

static void test_atlas__pages_of_files_with_parameters(void **state)
{
    (void)state;
    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout < TSEED_LAYOUT_TEMPLATE; layout++) {
        assert_found((tseed_layout_t)layout, NULL);
    }
    assert_found(TSEED_LAYOUT_TEMPLATE, "{hash}/{layer}/{gridset}/{z}/{x}/{y}.{ext}");
    assert_found(TSEED_LAYOUT_TEMPLATE, "{layer}-{hash}-{gridset}/{z}/{x}/{y}.{ext}");
    assert_found(TSEED_LAYOUT_TEMPLATE, "{layer}/{gridset}/{z}/{x}/{y}-{hash}.{ext}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atlas__names),
        cmocka_unit_test(test_atlas__tiles_of_a_part),
        cmocka_unit_test(test_atlas__files),
        cmocka_unit_test(test_atlas__pages_of_files),
        cmocka_unit_test(test_atlas__pages_of_files_with_parameters),
    };

    return cmocka_run_group_tests_name("atlas", tests, setup_atlas, teardown_group);
}
