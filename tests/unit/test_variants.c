/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Variants: every combination of what is listed, by GeoWebCache's hashes, and not too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>

#include "layer/tseed_tileset.h"

#include "pool_fixture.h"

#define HASH_POLYGON  "f0023dc7bc347fee7a3a04dc797f2223f74e3448"
#define HASH_POPHATCH "7510004a12f49fdd49a2ba366e9c4594be7e4358"
#define HASH_BOTH     "741c9a8301530c6faff21bbee084ade44abdc8b9" /* TOTPOP > 10000, pophatch */

static tseed_layer_t states(void)
{
    tseed_layer_t layer = {
        .name = "topp:states",
        .subsets = apr_array_make(pool, 1, sizeof(tseed_subset_t)),
        .formats = apr_array_make(pool, 1, sizeof(tseed_format_t)),
        .filters = apr_array_make(pool, 2, sizeof(tseed_filter_t)),
    };
    tseed_subset_t *subset = apr_array_push(layer.subsets);

    subset->gridset = tseed_gridset_builtin("EPSG:4326");
    assert_null(tseed_format_init(apr_array_push(layer.formats), "image/png", pool));
    return layer;
}

static tseed_filter_t *add_filter(tseed_layer_t *layer, const char *name, const char *first,
                                  const char *second)
{
    tseed_filter_t *filter = apr_array_push(layer->filters);

    *filter = (tseed_filter_t){
        .name = name, .default_value = "", .values = apr_array_make(pool, 2, sizeof(const char *))};
    APR_ARRAY_PUSH(filter->values, const char *) = first;
    if (second) {
        APR_ARRAY_PUSH(filter->values, const char *) = second;
    }
    return filter;
}

static const char *value_of(apr_hash_t *variants, const char *hash, const char *key)
{
    const apr_table_t *parameters = apr_hash_get(variants, hash, APR_HASH_KEY_STRING);

    assert_non_null(parameters);
    return apr_table_get(parameters, key);
}

static void test_variants__each_value_but_the_default(void **state)
{
    tseed_layer_t layer = states();
    apr_hash_t *variants;

    (void)state;
    add_filter(&layer, "STYLES", "polygon", "pophatch");
    variants = tseed_variants_list(&layer, pool);
    assert_int_equal(apr_hash_count(variants), 2);
    assert_string_equal(value_of(variants, HASH_POLYGON, "STYLES"), "polygon");
    assert_string_equal(value_of(variants, HASH_POPHATCH, "STYLES"), "pophatch");
}

static void test_variants__combinations(void **state)
{
    tseed_layer_t layer = states();
    apr_hash_t *variants;

    (void)state;
    add_filter(&layer, "CQL_FILTER", "TOTPOP > 10000", NULL);
    add_filter(&layer, "STYLES", "polygon", "pophatch");
    variants = tseed_variants_list(&layer, pool);
    assert_int_equal(apr_hash_count(variants), 5);
    assert_string_equal(value_of(variants, HASH_BOTH, "STYLES"), "pophatch");
    assert_string_equal(value_of(variants, HASH_BOTH, "CQL_FILTER"), "TOTPOP > 10000");
    assert_null(apr_hash_get(variants, HASH_POPHATCH, APR_HASH_KEY_STRING));
}

/* Values are folded as those that clients send; one that is the default makes no hash, one that
 * comes twice makes one. */
static void test_variants__values_are_taken_as_sent(void **state)
{
    tseed_layer_t layer = states();
    tseed_filter_t *filter = add_filter(&layer, "STYLES", "Polygon", "POLYGON");
    apr_hash_t *variants;

    (void)state;
    filter->letter_case = TSEED_CASE_LOWER;
    APR_ARRAY_PUSH(filter->values, const char *) = "";
    variants = tseed_variants_list(&layer, pool);
    assert_int_equal(apr_hash_count(variants), 1);
    assert_string_equal(value_of(variants, HASH_POLYGON, "STYLES"), "polygon");
}

static void test_variants__without_filters_there_are_none(void **state)
{
    tseed_layer_t layer = states();

    (void)state;
    assert_int_equal(apr_hash_count(tseed_variants_list(&layer, pool)), 0);
}

/* 2^13 combinations; the first that is looked at is the defaults. */
static void test_variants__are_bounded(void **state)
{
    tseed_layer_t layer = states();

    (void)state;
    for (char name = 'A'; name < 'A' + 13; name++) {
        add_filter(&layer, apr_psprintf(pool, "%c", name), "on", NULL);
    }
    assert_int_equal(apr_hash_count(tseed_variants_list(&layer, pool)), TSEED_VARIANTS_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variants__each_value_but_the_default),
        cmocka_unit_test(test_variants__combinations),
        cmocka_unit_test(test_variants__values_are_taken_as_sent),
        cmocka_unit_test(test_variants__without_filters_there_are_none),
        cmocka_unit_test(test_variants__are_bounded),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
