/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Prints: no two pages share one, and every bit of one depends on every number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "layer/tseed_page.h"
#include "layers_fixture.h"

#include "pool_fixture.h" /* its pool is the name of parameters above */

static uint64_t print_of(tseed_layer_t *layer, const char *styles)
{
    apr_table_t *submitted = apr_table_make(pool, 1);
    tseed_tileset_t tileset;

    apr_table_set(submitted, "STYLES", styles);
    assert_null(
        tseed_tileset_init(&tileset, layer, &APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t),
                           &APR_ARRAY_IDX(layer->formats, 0, tseed_format_t), submitted, pool));
    return tseed_tileset_print(&tileset, pool);
}

static void test_page__a_tile_set_in_another_store_has_another_print(void **state)
{
    tseed_catalog_t *catalog = layers_catalog(pool);
    tseed_layer_t *layer = APR_ARRAY_IDX(catalog->order, 0, tseed_layer_t *);
    uint64_t plain = print_of(layer, ""), population = print_of(layer, "population");

    (void)state;
    assert_int_equal(print_of(layer, ""), plain);
    assert_int_not_equal(plain, population);
    layer->store.root = "/other";
    assert_int_not_equal(print_of(layer, ""), plain);
    assert_int_not_equal(print_of(layer, ""), population);
    layer->store.root = "/cache";
    layer->store.layout = TSEED_LAYOUT_XYZ;
    assert_int_not_equal(print_of(layer, ""), plain);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

static void test_page__neighbours_have_prints_of_their_own(void **state)
{
    enum { SIDE = 40, LEVELS = 30, SETS = 4, COUNT = SIDE * SIDE * LEVELS * SETS };
    uint64_t *prints = calloc(COUNT, sizeof(*prints));

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        int64_t x = (int64_t)(i % SIDE), y = (int64_t)(i / SIDE % SIDE);
        int z = (int)(i / SIDE / SIDE % LEVELS);

        prints[i] = tseed_page_print(i / SIDE / SIDE / LEVELS, z, x, y);
    }
    qsort(prints, COUNT, sizeof(*prints), compare);
    assert_int_not_equal(prints[0], 0);
    for (size_t i = 1; i < COUNT; i++) {
        assert_int_not_equal(prints[i - 1], prints[i]);
    }
    free(prints);
}

/* The low bits choose a place in a table: neighbours spread over it as evenly as at random. */
static void test_page__low_bits_spread_neighbours(void **state)
{
    enum { PLACES = 4096, SIDE = 256 };
    int *hits = calloc(PLACES, sizeof(*hits)), most = 0;

    (void)state;
    for (int64_t x = 0; x < SIDE; x++) {
        for (int64_t y = 0; y < SIDE; y++) {
            int *place = &hits[tseed_page_print(1, 12, x, y) % PLACES];

            most = ++*place > most ? *place : most;
        }
    }
    assert_in_range(most, SIDE * SIDE / PLACES, 40); /* 16 on average; Poisson's 40 is 1e-7 each */
    free(hits);
}

static void test_page__one_bit_more_turns_half_the_print_over(void **state)
{
    const uint64_t print = tseed_page_print(77, 9, 1000, 2000);

    (void)state;
    for (int bit = 0; bit < 60; bit++) {
        const int64_t other = INT64_C(1) << bit;
        const uint64_t changed[] = {tseed_page_print(77 ^ (uint64_t)other, 9, 1000, 2000),
                                    tseed_page_print(77, 9, 1000 ^ other, 2000),
                                    tseed_page_print(77, 9, 1000, 2000 ^ other)};

        for (int i = 0; i < 3; i++) {
            assert_in_range(__builtin_popcountll(print ^ changed[i]), 12, 52);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page__a_tile_set_in_another_store_has_another_print),
        cmocka_unit_test(test_page__neighbours_have_prints_of_their_own),
        cmocka_unit_test(test_page__low_bits_spread_neighbours),
        cmocka_unit_test(test_page__one_bit_more_turns_half_the_print_over),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
