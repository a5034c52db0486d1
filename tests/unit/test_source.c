/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Sources of single tiles: what is asked of them, and what an administrator may write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "source/tseed_source.h"
#include "source/tseed_address.h"

#include "pool_fixture.h"

/* A layer "ne:roads" with the filter TIME over one address. */
static tseed_layer_t *layer_of(tseed_source_kind_t kind, const char *url)
{
    tseed_layer_t *layer = apr_pcalloc(pool, sizeof(*layer));
    tseed_filter_t *filter;

    layer->name = "ne:roads";
    layer->filters = apr_array_make(pool, 1, sizeof(tseed_filter_t));
    filter = apr_array_push(layer->filters);
    filter->name = "TIME";
    filter->default_value = "";
    layer->source.kind = kind;
    layer->source.addresses[0].url = url;
    layer->source.count = 1;
    layer->source.parameters = apr_table_make(pool, 4);
    return layer;
}

static void set(tseed_layer_t *layer, const char *key, const char *value)
{
    apr_table_set((apr_table_t *)layer->source.parameters, key, value);
}

static const char *time_value = "2026-11-21 12:00"; /* of the filter */

/* The tile of a grid set whose row is counted from the bottom here. */
static const char *ask(const tseed_layer_t *layer, const char *gridset, int z, int64_t x, int64_t y)
{
    apr_table_t *parameters = apr_table_make(pool, 1);
    tseed_format_t format = {.mime = "image/png", .from = "image/png"};
    tseed_subset_t subset = {.gridset = tseed_gridset_builtin(gridset), .srs = "EPSG:3857"};
    tseed_tileset_t tileset = {
        .layer = layer, .subset = &subset, .format = &format, .parameters = parameters};
    tseed_range_t whole = {.z = z, .minx = x, .miny = y, .maxx = x, .maxy = y};
    tseed_ask_t wish = {.tileset = &tileset, .whole = &whole};
    const char *url;

    apr_table_set(parameters, "TIME", time_value);
    url = tseed_source_url(&wish, 0, pool);
    assert_int_equal(wish.width, 256);
    assert_int_equal(wish.height, 256);
    return url;
}

/* A client's value is one part of the path, and takes none away. */
static void test_source__keeps_values_in_their_part_of_the_path(void **state)
{
    static const struct {
        const char *template, *value, *url;
    } cases[] = {
        {"http://h/a/{param:TIME}/{z}/{x}/{y}", "..", ""},
        {"http://h/a/{param:TIME}/{z}/{x}/{y}", ".", ""},
        {"http://h/a/.{param:TIME}/{z}/{x}/{y}", ".", ""},
        {"http://h/{z}/{x}/{y}/{param:TIME}", "..", ""},
        {"http://h/{z}/{x}/{y}/{param:TIME}?a=b", "..", ""},
        {"http://h/a/x{param:TIME}/{z}/{x}/{y}", "..", "http://h/a/x../3/3/5"},
        {"http://h/a/{param:TIME}/{z}/{x}/{y}", "...", "http://h/a/.../3/3/5"},
        {"http://h/a/{param:TIME}/{z}/{x}/{y}", "../b", ""},
        {"http://h/a/{param:TIME}/{z}/{x}/{y}", "a/../..", ""},
        {"http://h/a/{param:TIME}/{z}/{x}/{y}", "a\\..", ""},
        {"http://h/a/{param:TIME}/{z}/{x}/{y}", "a/..b", "http://h/a/a%2F..b/3/3/5"},
        {"http://h/{z}/{x}/{y}?t={param:TIME}", "..", "http://h/3/3/5?t=.."},
        {"http://h/{z}/{x}/{y}?t=/{param:TIME}/", "..", "http://h/3/3/5?t=/../"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        time_value = cases[i].value;
        assert_string_equal(
            ask(layer_of(TSEED_SOURCE_XYZ, cases[i].template), "EPSG:900913", 3, 3, 2),
            cases[i].url);
    }
    time_value = "2026-11-21 12:00";
}

/* The tile 3/3/5 of Microsoft's page "Bing Maps Tile System", whose quadkey is 213: five rows down
 * are two from the bottom. */
static void test_source__fills_xyz_templates(void **state)
{
    static const char *const templates[][2] = {
        {"http://h/{z}/{x}/{y}.png", "http://h/3/3/5.png"},
        {"http://h/{z}/{x}/{-y}.png?a=b", "http://h/3/3/2.png?a=b"},
        {"https://h:8443/{quadkey}.jpeg", "https://h:8443/213.jpeg"},
        {"http://h/{layer}/{z}/{x}/{y}", "http://h/ne:roads/3/3/5"},
        {"http://h/{z}/{x}/{y}?t={param:TIME}", "http://h/3/3/5?t=2026-11-21%2012%3A00"},
        {"http://h/{z}/{x}/{y}?t={param:time}", "http://h/3/3/5?t=2026-11-21%2012%3A00"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
        tseed_layer_t *layer = layer_of(TSEED_SOURCE_XYZ, templates[i][0]);

        assert_null(tseed_source_check(layer, pool));
        assert_string_equal(ask(layer, "EPSG:900913", 3, 3, 2), templates[i][1]);
    }
}

static void test_source__fills_in_the_bounds(void **state)
{
    tseed_layer_t *layer = layer_of(TSEED_SOURCE_XYZ, "http://h/map?BBOX={bbox}");

    (void)state;
    assert_null(tseed_source_check(layer, pool));
    assert_string_equal(ask(layer, "EPSG:4326", 1, 1, 0), "http://h/map?BBOX=-90,-90,0,0");
}

/* OGC 07-057r7: parameters of GetTile, table 29. */
static void test_source__asks_a_wmts(void **state)
{
    tseed_layer_t *layer = layer_of(TSEED_SOURCE_WMTS, "http://h/wmts");

    (void)state;
    set(layer, "LAYER", "roads");
    assert_null(tseed_source_check(layer, pool));
    assert_string_equal(ask(layer, "EPSG:900913", 3, 3, 2),
                        "http://h/wmts?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&LAYER=roads&"
                        "STYLE=&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=3&"
                        "TIME=2026-11-21%2012:00&TILEROW=5&TILECOL=3");
}

/* GeoWebCache's tile matrices have their grid set's name in front. */
static void test_source__names_matrices_as_told(void **state)
{
    tseed_layer_t *layer = layer_of(TSEED_SOURCE_WMTS, "http://h/wmts");
    const char *url;

    (void)state;
    set(layer, "LAYER", "roads");
    set(layer, "TILEMATRIX", "{gridset}:{z}");
    set(layer, "STYLE", "night");
    assert_null(tseed_source_check(layer, pool));
    url = ask(layer, "EPSG:900913", 3, 3, 2);
    assert_non_null(strstr(url, "&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:3&"));
    assert_non_null(strstr(url, "&STYLE=night&"));
}

/* 07-057r7, 10.2.1: a template of a ResourceURL. */
static void test_source__fills_wmts_templates(void **state)
{
    tseed_layer_t *layer =
        layer_of(TSEED_SOURCE_WMTS, "http://h/1.0.0/{Layer}/{Style}/{TileMatrixSet}/{TileMatrix}/"
                                    "{TileRow}/{TileCol}.png?t={Time}");

    (void)state;
    set(layer, "LAYER", "a/b");
    set(layer, "STYLE", "default");
    set(layer, "TILEMATRIXSET", "GoogleMaps");
    assert_null(tseed_source_check(layer, pool));
    assert_string_equal(ask(layer, "EPSG:900913", 3, 3, 2),
                        "http://h/1.0.0/a%2Fb/default/GoogleMaps/3/5/3.png?t=2026-11-21%2012:00");
}

typedef struct {
    tseed_source_kind_t kind;
    const char *url, *key, *value, *says;
} mistake_t;

static const mistake_t mistakes[] = {
    {TSEED_SOURCE_XYZ, "http://h/{z}/{x}.png", NULL, NULL, "does not say which tile"},
    {TSEED_SOURCE_XYZ, "http://h/{x}/{y}.png", NULL, NULL, "does not say which tile"},
    {TSEED_SOURCE_XYZ, "http://h/{z}/{x}/{y", NULL, NULL, "{y} in the address is unknown"},
    {TSEED_SOURCE_XYZ, "http://h/{z}/{x}/{y}}", NULL, NULL, "{} in the address is unknown"},
    {TSEED_SOURCE_XYZ, "http://h/{Z}/{x}/{y}", NULL, NULL, "{Z} in the address is unknown"},
    {TSEED_SOURCE_XYZ, "http://h/a/%2e./{z}/{x}/{y}", NULL, NULL,
     "the address has . or .. as a part of its path"},
    {TSEED_SOURCE_XYZ, "http://h/a%2F..%2f{z}/{x}/{y}", NULL, NULL,
     "the address has . or .. as a part of its path"},
    {TSEED_SOURCE_XYZ, "http://h/a%5c.%2E%5C{z}/{x}/{y}", NULL, NULL,
     "the address has . or .. as a part of its path"},
    {TSEED_SOURCE_XYZ, "http://h/{z}/{x}/{y}{param:ELEVATION}", NULL, NULL,
     "{param:ELEVATION} in the address is unknown"},
    {TSEED_SOURCE_XYZ, "http://{s}.h/{z}/{x}/{y}", NULL, NULL, "{s} in the host is not possible"},
    {TSEED_SOURCE_XYZ, "ftp://h/{z}/{x}/{y}", NULL, NULL, "is written as http://host"},
    {TSEED_SOURCE_XYZ, "http://me:secret@h/{z}/{x}/{y}", NULL, NULL, "don't belong into"},
    {TSEED_SOURCE_XYZ, "http://h/{z}/{x}/{y}", "LAYERS", "a",
     "has no NAME=VALUE but mode= and missing=,"},
    {TSEED_SOURCE_WMTS, "http://h/wmts", NULL, NULL, "layer= is missing"},
    {TSEED_SOURCE_WMTS, "http://h/wmts", "TILEROW", "1", "TILEROW can't be set"},
    {TSEED_SOURCE_WMTS, "http://h/wmts", "TILEMATRIX", "{x}", "{x} in TILEMATRIX= is unknown"},
    {TSEED_SOURCE_WMTS, "http://h/{TileMatrix}/{TileRow}", NULL, NULL, "does not say which tile"},
    {TSEED_SOURCE_WMTS, "http://h/{TileMatrix}/{TileRow}/{TileCol}/{Elevation}", NULL, NULL,
     "{Elevation} in the address is unknown"},
};

static void test_source__finds_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        tseed_layer_t *layer = layer_of(mistakes[i].kind, mistakes[i].url);
        const char *problem;

        if (mistakes[i].key) {
            set(layer, mistakes[i].key, mistakes[i].value);
        }
        problem = tseed_source_check(layer, pool);
        if (!problem || !strstr(problem, mistakes[i].says)) {
            fail_msg("%s: \"%s\" instead of \"%s\"", mistakes[i].url, problem ? problem : "fine",
                     mistakes[i].says);
        }
        assert_null(strstr(problem, "secret"));
    }
}

static void test_source__addresses_with_dots(void **state)
{
    static const char *const dotted[] = {
        "http://h/..",     "http://h/a/../b",   "http://h/a/.?x=1",  "http://h/a%2f..",
        "http://h/%2E%2e", "http://h/a\\..\\b", "http://h/.%2e%5Cb", "/a/./b"};
    static const char *const plain[] = {"http://h..x/a",  "http://../a",   "http://h/a..b",
                                        "http://h/...",   "http://h/.a",   "http://h/a?x=/../",
                                        "http://h?a=/..", "http://h/a.png"};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        if (!tseed_address_has_dots(dotted[i]) || tseed_address_has_dots(plain[i])) {
            fail_msg("%s or %s", dotted[i], plain[i]);
        }
    }
}

/* RFC 3986, 2.1 and 2.3. */
static void test_source__encodes_what_is_not_unreserved(void **state)
{
    (void)state;
    assert_string_equal(tseed_address_encode("aZ09-._~", "", pool), "aZ09-._~");
    assert_string_equal(tseed_address_encode("a b/c:d", ":", pool), "a%20b%2Fc:d");
    assert_string_equal(tseed_address_encode("%\xC3\xA9\x7F", "", pool), "%25%C3%A9%7F");
    assert_string_equal(tseed_address_encode("", "", pool), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source__keeps_values_in_their_part_of_the_path),
        cmocka_unit_test(test_source__fills_xyz_templates),
        cmocka_unit_test(test_source__fills_in_the_bounds),
        cmocka_unit_test(test_source__asks_a_wmts),
        cmocka_unit_test(test_source__names_matrices_as_told),
        cmocka_unit_test(test_source__fills_wmts_templates),
        cmocka_unit_test(test_source__finds_mistakes),
        cmocka_unit_test(test_source__addresses_with_dots),
        cmocka_unit_test(test_source__encodes_what_is_not_unreserved),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
