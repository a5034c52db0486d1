/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tile sets: GeoWebCache's parameter hashes, when there is one, and keys that never meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "layer/tseed_tileset.h"

#include "pool_fixture.h"

#define HASH_POLYGON  "f0023dc7bc347fee7a3a04dc797f2223f74e3448"
#define HASH_POPHATCH "7510004a12f49fdd49a2ba366e9c4594be7e4358"
#define HASH_BOTH     "741c9a8301530c6faff21bbee084ade44abdc8b9"
#define HASH_STYLE    "ed5fe8dc461f38ece6b67eb7f6e02562283b4b2c"

static void add_filter(tseed_layer_t *layer, const char *name, const char *default_value)
{
    tseed_filter_t *filter = apr_array_push(layer->filters);

    *filter = (tseed_filter_t){
        .name = name,
        .default_value = default_value,
        .values = apr_array_make(pool, 4, sizeof(const char *)),
    };
}

static tseed_layer_t layer_of(const char *name)
{
    return (tseed_layer_t){
        .name = name,
        .filters = apr_array_make(pool, 2, sizeof(tseed_filter_t)),
    };
}

/* GeoWebCache's example layer, with the filters given, each "" by default. */
static tseed_layer_t states(const char *one, const char *two)
{
    tseed_layer_t layer = layer_of("topp:states");

    add_filter(&layer, one, "");
    if (two) {
        add_filter(&layer, two, "");
    }
    return layer;
}

/* From key, value, key, value, …, NULL. */
static apr_table_t *pairs(const char *key, ...)
{
    apr_table_t *table = apr_table_make(pool, 4);
    va_list rest;

    va_start(rest, key);
    for (; key; key = va_arg(rest, const char *)) {
        apr_table_addn(table, key, va_arg(rest, const char *));
    }
    va_end(rest);
    return table;
}

static tseed_tileset_t tileset_in(const tseed_layer_t *layer, const char *gridset, const char *mime,
                                  const apr_table_t *submitted)
{
    tseed_gridset_t *grid = apr_pcalloc(pool, sizeof(*grid));
    tseed_subset_t *subset = apr_pcalloc(pool, sizeof(*subset));
    tseed_format_t *format = apr_pcalloc(pool, sizeof(*format));
    tseed_tileset_t tileset;

    grid->name = gridset;
    subset->gridset = grid;
    assert_null(tseed_format_init(format, mime, pool));
    assert_null(tseed_tileset_init(&tileset, layer, subset, format, submitted, pool));
    return tileset;
}

static tseed_tileset_t tileset_of(const tseed_layer_t *layer, const apr_table_t *submitted)
{
    return tileset_in(layer, "EPSG:4326", "image/png", submitted);
}

static const char *refusal_of(const tseed_layer_t *layer, const apr_table_t *submitted)
{
    tseed_gridset_t grid = {.name = "EPSG:4326"};
    tseed_subset_t subset = {.gridset = &grid};
    tseed_format_t format;
    tseed_tileset_t tileset;
    const char *problem;

    assert_null(tseed_format_init(&format, "image/png", pool));
    problem = tseed_tileset_init(&tileset, layer, &subset, &format, submitted, pool);
    assert_non_null(problem);
    return problem;
}

static void test_tileset__hashes_are_geowebcaches(void **state)
{
    (void)state;
    assert_string_equal(tseed_parameters_hash(pairs("STYLES", "polygon", NULL), pool),
                        HASH_POLYGON);
    assert_string_equal(tseed_parameters_hash(pairs("STYLES", "pophatch", NULL), pool),
                        HASH_POPHATCH);
    assert_string_equal(tseed_parameters_hash(pairs("style", "population", NULL), pool),
                        HASH_STYLE);
}

static void test_tileset__hash_sorts_by_key(void **state)
{
    (void)state;
    assert_string_equal(
        tseed_parameters_hash(pairs("CQL_FILTER", "TOTPOP > 10000", "STYLES", "pophatch", NULL),
                              pool),
        HASH_BOTH);
    assert_string_equal(
        tseed_parameters_hash(pairs("STYLES", "pophatch", "CQL_FILTER", "TOTPOP > 10000", NULL),
                              pool),
        HASH_BOTH);
}

static void test_tileset__without_filters_there_is_no_hash(void **state)
{
    tseed_layer_t layer = layer_of("topp:states");
    tseed_tileset_t tileset = tileset_of(&layer, NULL);

    (void)state;
    assert_null(tileset.hash);
    assert_true(apr_is_empty_table(tileset.parameters));
    assert_ptr_equal(tileset.layer, &layer);
    assert_string_equal(tileset.subset->gridset->name, "EPSG:4326");
    assert_string_equal(tileset.format->mime, "image/png");
}

static void test_tileset__defaults_have_no_hash(void **state)
{
    tseed_layer_t layer = layer_of("topp:states");
    tseed_tileset_t tileset;

    (void)state;
    add_filter(&layer, "CQL_FILTER", "INCLUDE");
    add_filter(&layer, "STYLES", "polygon");
    tileset = tileset_of(&layer, NULL);
    assert_null(tileset.hash);
    assert_string_equal(apr_table_get(tileset.parameters, "CQL_FILTER"), "INCLUDE");
    assert_string_equal(apr_table_get(tileset.parameters, "STYLES"), "polygon");
    assert_null(tileset_of(&layer, pairs("STYLES", "polygon", NULL)).hash);
    assert_null(tileset_of(&layer, pairs("STYLES", "", "CQL_FILTER", "INCLUDE", NULL)).hash);
}

static void test_tileset__one_other_value_brings_all_filters_in(void **state)
{
    tseed_layer_t layer = layer_of("topp:states");
    tseed_tileset_t tileset;

    (void)state;
    add_filter(&layer, "CQL_FILTER", "TOTPOP > 10000");
    add_filter(&layer, "STYLES", "polygon");
    tileset = tileset_of(&layer, pairs("STYLES", "pophatch", NULL));
    assert_string_equal(tileset.hash, HASH_BOTH);
    assert_string_equal(apr_table_get(tileset.parameters, "CQL_FILTER"), "TOTPOP > 10000");
    assert_string_equal(apr_table_get(tileset.parameters, "STYLES"), "pophatch");
    assert_int_equal(apr_table_elts(tileset.parameters)->nelts, 2);
}

static void test_tileset__keys_come_in_any_case(void **state)
{
    tseed_layer_t layer = states("STYLES", NULL);
    tseed_tileset_t tileset = tileset_of(&layer, pairs("Styles", "polygon", NULL));

    (void)state;
    assert_string_equal(tileset.hash, HASH_POLYGON);
    assert_string_equal(APR_ARRAY_IDX(apr_table_elts(tileset.parameters), 0, apr_table_entry_t).key,
                        "STYLES");
}

static void test_tileset__unknown_keys_are_refused_by_name(void **state)
{
    tseed_layer_t layer = states("CQL_FILTER", "STYLES");
    tseed_layer_t bare = layer_of("topp:states");

    (void)state;
    assert_string_equal(refusal_of(&layer, pairs("TIME", "now", NULL)),
                        "layer topp:states has no parameter 'TIME', it has CQL_FILTER, STYLES");
    assert_string_equal(refusal_of(&bare, pairs("STYLES", "", NULL)),
                        "layer topp:states has no parameter 'STYLES', it has none");
}

static void test_tileset__values_are_the_filters_affair(void **state)
{
    tseed_layer_t layer = layer_of("topp:states");
    tseed_filter_t *filter;

    (void)state;
    add_filter(&layer, "STYLES", "polygon");
    filter = &APR_ARRAY_IDX(layer.filters, 0, tseed_filter_t);
    APR_ARRAY_PUSH(filter->values, const char *) = "pophatch";
    filter->letter_case = TSEED_CASE_LOWER;
    assert_string_equal(refusal_of(&layer, pairs("STYLES", "lines", NULL)),
                        "parameter STYLES: 'lines' is not allowed, one of 'polygon', 'pophatch' "
                        "is expected");
    assert_string_equal(tileset_of(&layer, pairs("STYLES", "PopHatch", NULL)).hash, HASH_POPHATCH);
}

static void test_tileset__a_key_given_twice_is_refused(void **state)
{
    tseed_layer_t layer = states("STYLES", NULL);

    (void)state;
    assert_string_equal(refusal_of(&layer, pairs("STYLES", "a", "styles", "b", NULL)),
                        "parameter 'styles' is there twice, once is expected");
}

static void test_tileset__keys_are_readable(void **state)
{
    tseed_layer_t layer = states("STYLES", NULL);

    (void)state;
    assert_string_equal(tileset_of(&layer, NULL).key, "topp:states/EPSG:4326/png/default");
    assert_string_equal(tileset_of(&layer, pairs("STYLES", "polygon", NULL)).key,
                        "topp:states/EPSG:4326/png/" HASH_POLYGON);
    assert_string_equal(tileset_in(&layer, "Übersicht 1.0", "image/png8", NULL).key,
                        "topp:states/Übersicht 1.0/png8/default");
}

static void test_tileset__no_two_tile_sets_share_a_key(void **state)
{
    /* Layer and grid set; some would meet if '/' and '%' stayed what they are. */
    static const char *const names[][2] = {
        {"a", "b/c"}, {"a/b", "c"}, {"a%2Fb", "c"}, {"a%252Fb", "c"}, {"a", "b"},
        {"a/", "/b"}, {"a//", "b"}, {"A", "b"},     {"a:b", "c"},     {"a b", "c"},
        {"a.b", "c"}, {"ä", "b"},   {"a", "b/png"},
    };
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    const char *keys[2 * COUNT];

    (void)state;
    for (int i = 0; i < 2 * COUNT; i++) {
        tseed_layer_t layer = layer_of(names[i / 2][0]);

        keys[i] = tileset_in(&layer, names[i / 2][1], i % 2 ? "image/png" : "image/jpeg", NULL).key;
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(keys[i], keys[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tileset__hashes_are_geowebcaches),
        cmocka_unit_test(test_tileset__hash_sorts_by_key),
        cmocka_unit_test(test_tileset__without_filters_there_is_no_hash),
        cmocka_unit_test(test_tileset__defaults_have_no_hash),
        cmocka_unit_test(test_tileset__one_other_value_brings_all_filters_in),
        cmocka_unit_test(test_tileset__keys_come_in_any_case),
        cmocka_unit_test(test_tileset__unknown_keys_are_refused_by_name),
        cmocka_unit_test(test_tileset__values_are_the_filters_affair),
        cmocka_unit_test(test_tileset__a_key_given_twice_is_refused),
        cmocka_unit_test(test_tileset__keys_are_readable),
        cmocka_unit_test(test_tileset__no_two_tile_sets_share_a_key),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
