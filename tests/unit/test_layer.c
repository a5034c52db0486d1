/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Layers, formats and the catalog: names with everything in them that names have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "layer/tseed_layer.h"

#include "pool_fixture.h"

static tseed_gridset_t own_grid = {.name = "Landeskarte: 1.0 Übersicht"};

static tseed_layer_t *layer_of(const char *name)
{
    static const char *const keys[] = {"CQL_FILTER", "STYLES"};
    static const char *const mimes[] = {"image/png", "image/jpeg"};
    tseed_layer_t *layer = apr_pcalloc(pool, sizeof(*layer));
    tseed_subset_t *subset;

    layer->name = name;
    layer->subsets = apr_array_make(pool, 2, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 2, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 2, sizeof(tseed_filter_t));
    subset = apr_array_push(layer->subsets);
    *subset = (tseed_subset_t){.gridset = tseed_gridset_builtin("EPSG:4326")};
    subset = apr_array_push(layer->subsets);
    *subset = (tseed_subset_t){.gridset = &own_grid};
    for (int i = 0; i < 2; i++) {
        tseed_filter_t *filter = apr_array_push(layer->filters);

        assert_null(tseed_format_init(apr_array_push(layer->formats), mimes[i], pool));
        *filter = (tseed_filter_t){.name = keys[i]};
    }
    return layer;
}

static void add_layer(tseed_catalog_t *catalog, const char *name)
{
    tseed_layer_t *layer = layer_of(name);

    APR_ARRAY_PUSH(catalog->order, tseed_layer_t *) = layer;
    apr_hash_set(catalog->layers, layer->name, APR_HASH_KEY_STRING, layer);
}

static void test_layer__formats_have_geowebcaches_extensions(void **state)
{
    static const struct {
        const char *mime, *extension, *from;
        tseed_codec_t codec;
    } expected[] = {
        {"image/png", "png", "image/png", TSEED_CODEC_PNG},
        {"image/png8", "png8", "image/png8", TSEED_CODEC_PNG8},
        {"image/jpeg", "jpeg", "image/jpeg", TSEED_CODEC_JPEG},
        {"image/webp", "webp", "image/png", TSEED_CODEC_WEBP},
        {"image/vnd.jpeg-png", "jpeg-png", "image/png", TSEED_CODEC_JPEG_PNG},
        {"image/vnd.jpeg-png8", "jpeg-png8", "image/png", TSEED_CODEC_JPEG_PNG8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        tseed_format_t format;

        assert_null(tseed_format_init(&format, expected[i].mime, pool));
        assert_string_equal(format.mime, expected[i].mime);
        assert_string_equal(format.extension, expected[i].extension);
        assert_int_equal(format.codec, expected[i].codec);
        assert_string_equal(format.from, expected[i].from);
        assert_int_equal(format.quality, 85);
        assert_int_equal(format.level, 1);
        assert_int_equal(format.lossless, 0);
        assert_int_equal(format.palette, TSEED_PALETTE_AUTO);
    }
}

static void test_layer__a_mime_type_has_no_case(void **state)
{
    tseed_format_t format;

    (void)state;
    assert_null(tseed_format_init(&format, "Image/JPEG", pool));
    assert_string_equal(format.mime, "image/jpeg");
    assert_string_equal(format.from, "image/jpeg");
}

#define LISTED(codec, mime, extension, type, from) ", " mime

static void test_layer__other_formats_are_refused_by_name(void **state)
{
    static const char *const others[] = {
        "image/jpg", "png", "image/png; mode=8bit", "image/png ", "image/gif", "",
    };
    static const char all[] = TSEED_FORMATS(LISTED);
    tseed_format_t format;

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_non_null(tseed_format_init(&format, others[i], pool));
    }
    assert_string_equal(
        tseed_format_init(&format, "image/jpg", pool),
        apr_pstrcat(pool, "format 'image/jpg' is unknown, one of ", all + 2, " is expected", NULL));
}

static void test_layer__finds_its_own_parts(void **state)
{
    const tseed_layer_t *layer = layer_of("topp:states");

    (void)state;
    assert_string_equal(tseed_layer_find_subset(layer, "EPSG:4326")->gridset->name, "EPSG:4326");
    assert_ptr_equal(tseed_layer_find_subset(layer, "Landeskarte: 1.0 Übersicht")->gridset,
                     &own_grid);
    assert_string_equal(tseed_layer_find_format(layer, "image/jpeg")->extension, "jpeg");
    assert_string_equal(tseed_layer_find_format(layer, "IMAGE/PNG")->extension, "png");
    assert_string_equal(tseed_layer_find_filter(layer, "STYLES")->name, "STYLES");
    assert_string_equal(tseed_layer_find_filter(layer, "cql_Filter")->name, "CQL_FILTER");
}

static void test_layer__finds_nothing_of_others(void **state)
{
    const tseed_layer_t *layer = layer_of("topp:states");

    (void)state;
    assert_null(tseed_layer_find_subset(layer, "EPSG:3857"));
    assert_null(tseed_layer_find_subset(layer, "epsg:4326"));
    assert_null(tseed_layer_find_format(layer, "image/png8"));
    assert_null(tseed_layer_find_format(layer, "image/png; mode=8bit"));
    assert_null(tseed_layer_find_filter(layer, "STYLE"));
    assert_null(tseed_layer_find_filter(layer, ""));
}

static void test_layer__catalog_finds_names_with_anything_in_them(void **state)
{
    static const char *const names[] = {
        "topp:states", "v1.2.json", "a b  c", "Flüsse & Seen", "地図", "../x", "100%",
    };
    tseed_catalog_t *catalog = tseed_catalog_create(pool);

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        add_layer(catalog, names[i]);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_string_equal(tseed_catalog_find_layer(catalog, names[i])->name, names[i]);
    }
    assert_null(tseed_catalog_find_layer(catalog, "topp:State"));
    assert_null(tseed_catalog_find_layer(catalog, "v1.2"));
    assert_null(tseed_catalog_find_layer(catalog, ""));
}

static void test_layer__own_grid_sets_go_before_built_in_ones(void **state)
{
    tseed_catalog_t *catalog = tseed_catalog_create(pool);
    static const tseed_gridset_t better = {.name = "EPSG:4326"};

    (void)state;
    assert_ptr_equal(tseed_catalog_find_gridset(catalog, "EPSG:4326"),
                     tseed_gridset_builtin("EPSG:4326"));
    assert_null(tseed_catalog_find_gridset(catalog, own_grid.name));
    apr_hash_set(catalog->gridsets, better.name, APR_HASH_KEY_STRING, &better);
    apr_hash_set(catalog->gridsets, own_grid.name, APR_HASH_KEY_STRING, &own_grid);
    assert_ptr_equal(tseed_catalog_find_gridset(catalog, "EPSG:4326"), &better);
    assert_ptr_equal(tseed_catalog_find_gridset(catalog, "Landeskarte: 1.0 Übersicht"), &own_grid);
}

static void test_layer__store_print_tells_other_files(void **state)
{
    const tseed_store_config_t store = {.root = "/srv/tiles"};
    tseed_store_config_t other = store;
    const char *print = tseed_store_print(&store, pool);

    (void)state;
    assert_int_equal(strlen(print), 40);
    other.mode = 0600;
    other.link_uniform = 1;
    other.path_template = "not used by this layout";
    assert_string_equal(tseed_store_print(&other, pool), print);
    other.layout = TSEED_LAYOUT_TEMPLATE;
    other.path_template = "{z}/{x}/{y}.{ext}";
    assert_string_not_equal(tseed_store_print(&other, pool), print);
    print = tseed_store_print(&other, pool);
    other.path_template = "{z}/{x}/{-y}.{ext}";
    assert_string_not_equal(tseed_store_print(&other, pool), print);
    other = store;
    other.root = "/srv/tiles2";
    assert_string_not_equal(tseed_store_print(&other, pool), tseed_store_print(&store, pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer__formats_have_geowebcaches_extensions),
        cmocka_unit_test(test_layer__a_mime_type_has_no_case),
        cmocka_unit_test(test_layer__other_formats_are_refused_by_name),
        cmocka_unit_test(test_layer__finds_its_own_parts),
        cmocka_unit_test(test_layer__finds_nothing_of_others),
        cmocka_unit_test(test_layer__catalog_finds_names_with_anything_in_them),
        cmocka_unit_test(test_layer__own_grid_sets_go_before_built_in_ones),
        cmocka_unit_test(test_layer__store_print_tells_other_files),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
