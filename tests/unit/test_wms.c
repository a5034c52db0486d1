/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* GetMap addresses as the two WMS standards write them; coordinates worked out by hand or, where
 * the digits matter, by another language's shortest round trip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "source/tseed_source.h"
#include "source/tseed_wms.h"

#include "pool_fixture.h"

/* ---- what is asked for: fields that a test changes before it asks ---- */

typedef struct {
    tseed_layer_t layer;
    tseed_subset_t subset;
    tseed_format_t format;
    tseed_tileset_t tileset;
    apr_table_t *parameters, *filters;
    tseed_range_t range;
    int gutter, width, height;
} ask_t;

/* The whole world in two tiles: EPSG:4326, zoom 0. */
static ask_t world(const char *version)
{
    ask_t ask = {
        .subset = {.gridset = tseed_gridset_builtin("EPSG:4326"), .srs = "EPSG:4326"},
        .format = {.mime = "image/png", .from = "image/png"},
        .parameters = apr_table_make(pool, 8),
        .filters = apr_table_make(pool, 8),
        .range = {.z = 0, .minx = 0, .miny = 0, .maxx = 1, .maxy = 0},
    };

    ask.layer.source.addresses[0].url = "http://127.0.0.1/wms";
    apr_table_set(ask.parameters, "LAYERS", "countries");
    if (version) {
        apr_table_set(ask.parameters, "VERSION", version);
    }
    return ask;
}

static const char *url_of(ask_t *ask)
{
    tseed_ask_t wish;
    const char *url;

    ask->layer.source.parameters = ask->parameters;
    ask->tileset = (tseed_tileset_t){
        .layer = &ask->layer,
        .subset = &ask->subset,
        .format = &ask->format,
        .parameters = ask->filters,
    };
    wish = (tseed_ask_t){.tileset = &ask->tileset, .whole = &ask->range, .gutter = ask->gutter};
    url = tseed_source_url(&wish, 0, pool);
    ask->width = wish.width;
    ask->height = wish.height;
    return url;
}

/* The value of a parameter as it stands in the address, or NULL; there must not be two of it. */
static const char *value_in(const char *url, const char *key)
{
    const char *query = strchr(url, '?');
    const char *value = NULL;
    char *state;

    assert_non_null(query);
    for (char *pair = apr_strtok(apr_pstrdup(pool, query + 1), "&", &state); pair;
         pair = apr_strtok(NULL, "&", &state)) {
        size_t length = strcspn(pair, "=");

        if (strlen(key) == length && strncasecmp(pair, key, length) == 0) {
            assert_null(value);
            value = pair + length + 1;
        }
    }
    return value;
}

static void test_wms__asks_as_1_1_1_says(void **state)
{
    ask_t ask = world("1.1.1");

    (void)state;
    assert_string_equal(url_of(&ask),
                        "http://127.0.0.1/wms?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap"
                        "&LAYERS=countries&STYLES=&SRS=EPSG:4326&BBOX=-180,-90,180,90"
                        "&WIDTH=512&HEIGHT=256&FORMAT=image/png");
    assert_int_equal(ask.width, 512);
    assert_int_equal(ask.height, 256);
}

static void test_wms__asks_as_1_3_0_says(void **state)
{
    ask_t ask = world("1.3.0");

    (void)state;
    assert_string_equal(url_of(&ask),
                        "http://127.0.0.1/wms?SERVICE=WMS&VERSION=1.3.0&REQUEST=GetMap"
                        "&LAYERS=countries&STYLES=&CRS=EPSG:4326&BBOX=-90,-180,90,180"
                        "&WIDTH=512&HEIGHT=256&FORMAT=image/png");
}

static void test_wms__speaks_1_1_1_unless_told(void **state)
{
    ask_t ask = world(NULL);
    const char *url = url_of(&ask);

    (void)state;
    assert_string_equal(value_in(url, "VERSION"), "1.1.1");
    assert_string_equal(value_in(url, "SRS"), "EPSG:4326");
    assert_null(value_in(url, "CRS"));
}

static void test_wms__speaks_1_1_0(void **state)
{
    ask_t ask = world("1.1.0");
    const char *url = url_of(&ask);

    (void)state;
    assert_string_equal(value_in(url, "VERSION"), "1.1.0");
    assert_string_equal(value_in(url, "SRS"), "EPSG:4326");
    assert_string_equal(value_in(url, "BBOX"), "-180,-90,180,90");
}

static void test_wms__keeps_east_first_where_the_system_has_it(void **state)
{
    ask_t ask = world("1.3.0");
    ask_t crs84 = world("1.3.0");

    (void)state;
    ask.subset.gridset = tseed_gridset_builtin("EPSG:3857");
    ask.subset.srs = "EPSG:3857";
    ask.range = (tseed_range_t){.z = 1, .minx = 0, .miny = 1, .maxx = 0, .maxy = 1};
    assert_string_equal(value_in(url_of(&ask), "BBOX"), "-20037508.34,0,0,20037508.34");
    crs84.subset.srs = "CRS:84";
    crs84.subset.is_turned = 1;
    assert_string_equal(value_in(url_of(&crs84), "BBOX"), "-180,-90,180,90");
    assert_string_equal(value_in(url_of(&crs84), "CRS"), "CRS:84");
}

static void test_wms__asks_for_the_name_that_the_upstream_knows(void **state)
{
    ask_t ask = world("1.1.1");

    (void)state;
    ask.subset.gridset = tseed_gridset_builtin("EPSG:900913");
    ask.subset.srs = "EPSG:3857";
    assert_string_equal(value_in(url_of(&ask), "SRS"), "EPSG:3857");
}

/* Zoom 0 of EPSG:4326 has 0.703125 degrees a pixel; 16 of them are 11.25 degrees. */
static void test_wms__widens_ground_and_picture_by_the_gutter(void **state)
{
    ask_t ask = world("1.1.1");
    ask_t swapped = world("1.3.0");
    const char *url;

    (void)state;
    ask.gutter = swapped.gutter = 16;
    ask.layer.gutter_beyond = swapped.layer.gutter_beyond = 1;
    url = url_of(&ask);
    assert_string_equal(value_in(url, "BBOX"), "-191.25,-101.25,191.25,101.25");
    assert_string_equal(value_in(url, "WIDTH"), "544");
    assert_string_equal(value_in(url, "HEIGHT"), "288");
    assert_int_equal(ask.width, 544);
    assert_int_equal(ask.height, 288);
    assert_string_equal(value_in(url_of(&swapped), "BBOX"), "-101.25,-191.25,101.25,191.25");
}

/* Nothing is asked for beyond the first and last column and row: level 1 has 4 x 2 tiles, and
 * 0.3515625 degrees a pixel. */
static void test_wms__cuts_the_gutter_at_the_edges(void **state)
{
    static const struct {
        tseed_range_t range;
        int gutter, width, height;
        const char *box;
    } cases[] = {
        {{0, 0, 0, 1, 0}, 16, 512, 256, "-180,-90,180,90"},
        {{1, 0, 0, 0, 0}, 16, 272, 272, "-180,-90,-84.375,5.625"},
        {{1, 1, 1, 2, 1}, 16, 544, 272, "-95.625,-5.625,95.625,90"},
        {{1, 3, 1, 3, 1}, 16, 272, 272, "84.375,-5.625,180,90"},
        {{1, 1, 0, 1, 0}, 300, 812, 512, "-180,-90,105.46875,90"}, /* beyond a whole tile */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ask_t ask = world("1.1.1");
        const tseed_range_t *range = &cases[i].range;

        ask.range = *range;
        ask.gutter = cases[i].gutter;
        assert_string_equal(value_in(url_of(&ask), "BBOX"), cases[i].box);
        assert_int_equal(ask.width, cases[i].width);
        assert_int_equal(ask.height, cases[i].height);
    }
}

static void test_wms__counts_tiles_that_are_not_square(void **state)
{
    tseed_gridset_t oblong = *tseed_gridset_builtin("EPSG:4326");
    ask_t ask = world("1.1.1");

    (void)state;
    oblong.tile_width = 400;
    oblong.tile_height = 300;
    ask.subset.gridset = &oblong;
    ask.range = (tseed_range_t){.z = 3, .minx = 0, .miny = 0, .maxx = 2, .maxy = 4};
    url_of(&ask);
    assert_int_equal(ask.width, 1200);
    assert_int_equal(ask.height, 1500);
}

/* Every level of both grid sets, at the far corner and with a gutter: what stands in the address
 * reads back as the very doubles, and no server meets an exponent. */
static void check_digits(const char *name, int z)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin(name);
    double margin = 3 * gridset->resolution[z];
    ask_t ask = world("1.1.1");
    tseed_bounds_t ground;
    const char *text;
    double read[4];

    ask.gutter = 3;
    ask.layer.gutter_beyond = 1;
    ask.subset.gridset = gridset;
    ask.range = (tseed_range_t){
        .z = z,
        .minx = gridset->columns[z] / 3,
        .miny = gridset->rows[z] / 7,
        .maxx = gridset->columns[z] - 1,
        .maxy = gridset->rows[z] - 1,
    };
    ground = tseed_range_bounds(gridset, &ask.range);
    text = value_in(url_of(&ask), "BBOX");
    assert_int_equal(strspn(text, "0123456789-.,"), strlen(text));
    assert_int_equal(sscanf(text, "%lf,%lf,%lf,%lf", &read[0], &read[1], &read[2], &read[3]), 4);
    assert_true(read[0] == ground.minx - margin && read[1] == ground.miny - margin);
    assert_true(read[2] == ground.maxx + margin && read[3] == ground.maxy + margin);
}

static void test_wms__writes_coordinates_exactly(void **state)
{
    (void)state;
    for (int z = 0; z < 22; z++) {
        check_digits("EPSG:4326", z);
        check_digits("EPSG:3857", z);
    }
}

static void test_wms__writes_small_and_large_numbers_without_exponent(void **state)
{
    tseed_gridset_t tiny = {
        .tile_width = 1, .tile_height = 1, .levels = 1, .resolution = {1e-9}, .rows = {1}};
    tseed_gridset_t huge = {
        .tile_width = 1, .tile_height = 1, .levels = 1, .resolution = {1e22}, .rows = {1}};
    ask_t ask = world("1.1.1");

    (void)state;
    ask.range = (tseed_range_t){.z = 0};
    ask.subset.gridset = &tiny;
    assert_string_equal(value_in(url_of(&ask), "BBOX"), "0,0,0.000000001,0.000000001");
    ask.subset.gridset = &huge;
    assert_string_equal(value_in(url_of(&ask), "BBOX"),
                        "0,0,10000000000000000000000,10000000000000000000000");
}

/* What Python prints for 0.1 + 0.2 and 1 / 3 + 0.2. */
static void test_wms__writes_no_more_digits_than_needed(void **state)
{
    tseed_gridset_t set = {.origin_x = 0.1,
                           .origin_y = 1.0 / 3,
                           .tile_width = 1,
                           .tile_height = 1,
                           .levels = 1,
                           .resolution = {0.2},
                           .rows = {1}};
    ask_t ask = world("1.1.1");

    (void)state;
    ask.subset.gridset = &set;
    ask.range = (tseed_range_t){.z = 0};
    assert_string_equal(value_in(url_of(&ask), "BBOX"),
                        "0.1,0.3333333333333333,0.30000000000000004,0.5333333333333333");
}

static void test_wms__goes_on_behind_a_query_of_the_service(void **state)
{
    static const char *const begins[][2] = {
        {"http://h/wms", "http://h/wms?SERVICE="},
        {"http://h/wms?", "http://h/wms?SERVICE="},
        {"http://h/m?map=/x/y.map", "http://h/m?map=/x/y.map&SERVICE="},
        {"http://h/m?map=/x/y.map&", "http://h/m?map=/x/y.map&SERVICE="},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        ask_t ask = world("1.1.1");

        ask.layer.source.addresses[0].url = begins[i][0];
        assert_memory_equal(url_of(&ask), begins[i][1], strlen(begins[i][1]));
    }
}

static void test_wms__passes_parameters_through(void **state)
{
    ask_t ask = world("1.1.1");
    const char *url;

    (void)state;
    apr_table_set(ask.parameters, "TRANSPARENT", "true");
    apr_table_set(ask.parameters, "BGCOLOR", "0xFFFFFF");
    apr_table_set(ask.parameters, "STYLES", "pale,,dark");
    ask.format.from = "image/png; mode=8bit";
    url = url_of(&ask);
    assert_string_equal(value_in(url, "TRANSPARENT"), "true");
    assert_string_equal(value_in(url, "BGCOLOR"), "0xFFFFFF");
    assert_string_equal(value_in(url, "STYLES"), "pale,,dark");
    assert_string_equal(value_in(url, "FORMAT"), "image/png%3B%20mode%3D8bit");
    assert_null(value_in(url, "EXCEPTIONS"));
}

static void test_wms__encodes_values(void **state)
{
    ask_t ask = world("1.1.1");
    const char *url;

    (void)state;
    apr_table_set(ask.parameters, "LAYERS", "ws:Gew\xC3\xA4sser & mehr");
    apr_table_set(ask.parameters, "CQL_FILTER", "a='50%+1' AND b<2;#?");
    url = url_of(&ask);
    assert_string_equal(value_in(url, "LAYERS"), "ws:Gew%C3%A4sser%20%26%20mehr");
    assert_string_equal(value_in(url, "CQL_FILTER"), "a%3D%2750%25%2B1%27%20AND%20b%3C2%3B%23%3F");
}

static void test_wms__lets_the_tile_set_override(void **state)
{
    ask_t ask = world("1.1.1");
    const char *url;

    (void)state;
    apr_table_set(ask.parameters, "STYLES", "plain");
    apr_table_set(ask.parameters, "TIME", "2020");
    apr_table_set(ask.filters, "styles", "fancy");
    apr_table_set(ask.filters, "TIME", "");
    url = url_of(&ask);
    assert_string_equal(value_in(url, "STYLES"), "fancy");
    assert_null(value_in(url, "TIME"));
    apr_table_set(ask.filters, "STYLES", "");
    assert_string_equal(value_in(url_of(&ask), "STYLES"), "");
}

/* ---- what an administrator may write ---- */

typedef struct {
    const char *url, *key, *value; /* key NULL: no further parameter */
    const char *says;              /* a part of the sentence; NULL: fine */
} wish_t;

static const wish_t wishes[] = {
    {"http://host/wms", NULL, NULL, NULL},
    {"HTTPS://host:8443/cgi-bin/mapserv?map=/x/y%20z.map&", NULL, NULL, NULL},
    {"http://[::1]:8080/wms", NULL, NULL, NULL},
    {"http://host/wms", "VERSION", "1.1.0", NULL},
    {"http://host/wms", "VERSION", "1.3.0", NULL},
    {"http://host/wms", "TRANSPARENT", "TRUE", NULL},
    {"http://host/wms", "CQL_FILTER", "pop > 5", NULL},
    {"http://host/wms", "EXCEPTIONS", "XML", NULL},
    {"ftp://host/wms", NULL, NULL, "http://host:port/path or https://host:port/path"},
    {"host/wms", NULL, NULL, "http://host:port/path or https://host:port/path"},
    {"http:///wms", NULL, NULL, "http://host:port/path or https://host:port/path"},
    {"http://host:http/wms", NULL, NULL, "http://host:port/path or https://host:port/path"},
    {"", NULL, NULL, "http://host:port/path or https://host:port/path"},
    {"http://me:secret@host/wms", NULL, NULL, "auth=FILE of TileSeedUpstream"},
    {"http://host/w ms", NULL, NULL, "must be written as %20"},
    {"http://host/w\xC3\xA4ms", NULL, NULL, "must be written as %C3"},
    {"http://host/wms#top", NULL, NULL, "must be written as %23"},
    {"http://host/wms?service=WMS&", NULL, NULL, "SERVICE can't be set: it is always WMS"},
    {"http://host/wms?a=b&bbox=1,2,3,4", NULL, NULL, "the address has bbox in its query"},
    {"http://host/wms?layers=x", NULL, NULL, "behind the address as layers=VALUE"},
    {"http://host/wms?Styles=", NULL, NULL, "behind the address as Styles=VALUE"},
    {"http://host/wms?token=1", "TOKEN", "2", "behind the address as token=VALUE"},
    {"http://host/wms", "VERSION", "1.2.0", "version=1.2.0 is none that is spoken: 1.1.0, 1.1.1"},
    {"http://host/wms", "VERSION", "", "1.1.0, 1.1.1 or 1.3.0"},
    {"http://host/wms", "LAYERS", "", "layers= is missing"},
    {"http://host/wms", "TRANSPARENT", "yes", "transparent=yes is neither true nor false"},
    {"http://host/wms", "BBOX", "1,2,3,4", "BBOX can't be set: it follows from the tiles"},
    {"http://host/wms", "WIDTH", "256", "WIDTH can't be set: it follows from the tiles"},
    {"http://host/wms", "HEIGHT", "256", "HEIGHT can't be set: it follows from the tiles"},
    {"http://host/wms", "SRS", "EPSG:4326", "SRS can't be set: it follows from TileSeedGrid"},
    {"http://host/wms", "CRS", "EPSG:4326", "CRS can't be set: it follows from TileSeedGrid"},
    {"http://host/wms", "FORMAT", "image/png", "FORMAT can't be set: it follows from TileSeedFo"},
    {"http://host/wms", "REQUEST", "GetMap", "REQUEST can't be set: it is always GetMap"},
};

static void test_wms__judges_what_is_configured(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        apr_table_t *parameters = apr_table_make(pool, 4);
        tseed_source_t source = {.count = 1, .parameters = parameters};
        const char *problem;

        source.addresses[0].url = wishes[i].url;
        apr_table_set(parameters, "LAYERS", "countries");
        if (wishes[i].key) {
            apr_table_set(parameters, wishes[i].key, wishes[i].value);
        }
        problem = tseed_wms_check(&source, pool);
        if (!wishes[i].says) {
            assert_null(problem);
        } else if (!problem || !strstr(problem, wishes[i].says)) {
            fail_msg("%s: \"%s\" instead of \"%s\"", wishes[i].url, problem ? problem : "fine",
                     wishes[i].says);
        }
    }
}

static void test_wms__misses_layers(void **state)
{
    tseed_source_t source = {.addresses = {{"http://host/wms", NULL}},
                             .count = 1,
                             .parameters = apr_table_make(pool, 1)};

    (void)state;
    assert_string_equal(tseed_wms_check(&source, pool),
                        "layers= is missing: it names the layers of the WMS that are drawn");
}

static void test_wms__quotes_no_password(void **state)
{
    tseed_source_t source = {.count = 1, .parameters = apr_table_make(pool, 1)};

    (void)state;
    source.addresses[0].url = "http://me:secret@host/wms";
    assert_null(strstr(tseed_wms_check(&source, pool), "secret"));
    source.addresses[0].url = "ftp://me:secret@host/wms";
    assert_null(strstr(tseed_wms_check(&source, pool), "secret"));
}

static void test_wms__says_which_keys_are_free(void **state)
{
    (void)state;
    assert_null(tseed_wms_check_key("STYLES", pool));
    assert_null(tseed_wms_check_key("CQL_FILTER", pool));
    assert_non_null(tseed_wms_check_key("bbox", pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wms__asks_as_1_1_1_says),
        cmocka_unit_test(test_wms__asks_as_1_3_0_says),
        cmocka_unit_test(test_wms__speaks_1_1_1_unless_told),
        cmocka_unit_test(test_wms__speaks_1_1_0),
        cmocka_unit_test(test_wms__keeps_east_first_where_the_system_has_it),
        cmocka_unit_test(test_wms__asks_for_the_name_that_the_upstream_knows),
        cmocka_unit_test(test_wms__widens_ground_and_picture_by_the_gutter),
        cmocka_unit_test(test_wms__cuts_the_gutter_at_the_edges),
        cmocka_unit_test(test_wms__counts_tiles_that_are_not_square),
        cmocka_unit_test(test_wms__writes_coordinates_exactly),
        cmocka_unit_test(test_wms__writes_small_and_large_numbers_without_exponent),
        cmocka_unit_test(test_wms__writes_no_more_digits_than_needed),
        cmocka_unit_test(test_wms__goes_on_behind_a_query_of_the_service),
        cmocka_unit_test(test_wms__passes_parameters_through),
        cmocka_unit_test(test_wms__encodes_values),
        cmocka_unit_test(test_wms__lets_the_tile_set_override),
        cmocka_unit_test(test_wms__judges_what_is_configured),
        cmocka_unit_test(test_wms__misses_layers),
        cmocka_unit_test(test_wms__quotes_no_password),
        cmocka_unit_test(test_wms__says_which_keys_are_free),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
