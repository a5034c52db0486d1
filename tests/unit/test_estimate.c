/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The estimate: figures worked out by hand, and nothing where nothing was measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_general.h>
#include <apr_tables.h>
#include <math.h>

#include "protocol/tseed_estimate.h"

#define NEAR 1e-9

/* One test's levels. */
typedef struct {
    apr_pool_t *pool;
    tseed_demand_t demands[TSEED_LEVELS_MAX];
    tseed_measure_t measures[TSEED_LEVELS_MAX];
    tseed_estimate_t estimate;
} levels_t;

static int setup(void **data)
{
    levels_t *levels = calloc(1, sizeof(*levels));

    apr_initialize();
    *data = levels;
    return apr_pool_create(&levels->pool, NULL);
}

static int teardown(void **data)
{
    levels_t *levels = *data;

    apr_pool_destroy(levels->pool);
    apr_terminate();
    free(levels);
    return 0;
}

/* Four metatiles of four tiles, 100, 100, 300 and 300 bytes a tile, 0.5 s each. */
static void measure(levels_t *levels, int z)
{
    for (int i = 0; i < 4; i++) {
        tseed_measure_add(&levels->measures[z], 4, i < 2 ? 400 : 1200, 0.5);
    }
}

static const tseed_estimate_t *made(levels_t *levels, tseed_task_type_t type, int threads)
{
    levels->estimate = (tseed_estimate_t){0};
    tseed_estimate_make(&levels->estimate, type, levels->demands, levels->measures, threads);
    return &levels->estimate;
}

static void assert_interval(const tseed_interval_t *interval, double expected, double deviation)
{
    assert_true(interval->known);
    assert_float_equal(interval->expected, expected, NEAR);
    assert_float_equal(interval->low, fmax(expected - deviation, 0), NEAR);
    assert_float_equal(interval->high, expected + deviation, NEAR);
}

static void test_estimate__what_was_never_measured_is_unknown(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;

    levels->demands[5] = (tseed_demand_t){.tiles = 64, .looked = 64, .found = 14, .samples = 4};
    estimate = made(levels, TSEED_SEED, 1);
    assert_int_equal(estimate->present, 14);
    assert_true(estimate->counted);
    assert_int_equal(estimate->to_make, 50);
    assert_int_equal(estimate->measured_tiles, 0);
    assert_false(estimate->bytes.known);
    assert_false(estimate->seconds.known);
}

/* A world of 31 levels has more tiles than a double has digits, and takes more bytes than an
 * int64_t can hold. */
static void test_estimate__sums_do_not_overflow(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;

    measure(levels, 5);
    for (int z = 28; z <= 31; z++) {
        levels->demands[z] =
            (tseed_demand_t){.tiles = INT64_MAX / 3, .looked = 100, .found = 100, .samples = 1};
    }
    estimate = made(levels, TSEED_SEED, 1);
    assert_int_equal(estimate->present, INT64_MAX);
    assert_int_equal(estimate->to_make, 0);
    estimate = made(levels, TSEED_RESEED, 1);
    assert_int_equal(estimate->to_make, INT64_MAX);
    assert_true(estimate->bytes.expected > 1e20);
    assert_true(estimate->bytes.low >= 0 && estimate->bytes.high >= estimate->bytes.expected);
}

static void test_estimate__counts_times_means(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;
    /* spread of 100 bytes around 200; 48 tiles are 12 metatiles */
    const double deviation = 2 * 48 * 100 * sqrt(1.0 / 4 + 1.0 / 12);

    measure(levels, 5);
    levels->demands[5] = (tseed_demand_t){.tiles = 64, .looked = 64, .found = 16, .samples = 16};
    estimate = made(levels, TSEED_SEED, 1);
    assert_int_equal(estimate->to_make, 48);
    assert_int_equal(estimate->measured_tiles, 16);
    assert_interval(&estimate->bytes, 48 * 200, deviation);
    assert_interval(&estimate->seconds, 48 * 0.125, 0);
    assert_interval(&made(levels, TSEED_SEED, 4)->seconds, 48 * 0.125 / 4, 0);
    assert_interval(&made(levels, TSEED_RESEED, 1)->seconds, 64 * 0.125, 0);
    assert_int_equal(made(levels, TSEED_RESEED, 1)->to_make, 64);
}

static void test_estimate__a_sample_makes_the_range_wider(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;

    tseed_measure_add(&levels->measures[5], 4, 400, 1);
    tseed_measure_add(&levels->measures[5], 4, 400, 1);
    levels->demands[5] =
        (tseed_demand_t){.tiles = 4000, .looked = 400, .found = 100, .samples = 100};
    estimate = made(levels, TSEED_SEED, 1);
    assert_int_equal(estimate->present, 1000);
    assert_false(estimate->counted);
    assert_int_equal(estimate->to_make, 3000);
    assert_interval(&estimate->bytes, 300000, 2 * 4000 * 100 * sqrt(0.25 * 0.75 / 100));
}

static void test_estimate__the_nearest_level_stands_in(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;

    measure(levels, 5);
    levels->demands[7] = (tseed_demand_t){.tiles = 16, .looked = 16, .samples = 1};
    estimate = made(levels, TSEED_SEED, 1);
    assert_true(estimate->bytes.known);
    assert_float_equal(estimate->bytes.expected, 3200, NEAR);
    assert_float_equal(estimate->bytes.low, 800, NEAR);
    assert_float_equal(estimate->bytes.high, 12800, NEAR);
    assert_int_equal(estimate->measured_tiles, 0);
    tseed_measure_add(&levels->measures[8], 1, 100, 1);
    assert_float_equal(made(levels, TSEED_SEED, 1)->bytes.expected, 1600, NEAR);
}

static void test_estimate__what_is_there_takes_a_look(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;

    measure(levels, 5);
    levels->demands[5] = (tseed_demand_t){.tiles = 64, .looked = 64, .found = 64, .samples = 16};
    estimate = made(levels, TSEED_SEED, 1);
    assert_interval(&estimate->bytes, 0, 0);
    assert_false(estimate->seconds.known);
    tseed_measure_look(&levels->measures[4], 100, 0.1);
    assert_interval(&made(levels, TSEED_SEED, 1)->seconds, 0.064, 0);
}

static void test_estimate__a_level_nobody_could_look_at_leaves_all_unknown(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;

    measure(levels, 5);
    levels->demands[4] = (tseed_demand_t){.tiles = 16, .looked = 16, .samples = 1};
    levels->demands[5] = (tseed_demand_t){.tiles = 64};
    estimate = made(levels, TSEED_SEED, 1);
    assert_int_equal(estimate->present, -1);
    assert_int_equal(estimate->spared, -1);
    assert_int_equal(estimate->to_make, -1);
    assert_false(estimate->bytes.known || estimate->seconds.known);
    estimate = made(levels, TSEED_RESEED, 1);
    assert_int_equal(estimate->present, -1);
    assert_int_equal(estimate->to_make, 80);
    assert_true(estimate->bytes.known);
}

/* A reseed makes what is there, but not what is spared. */
static void test_estimate__pruned_tiles_are_not_made(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;

    measure(levels, 5);
    levels->demands[5] =
        (tseed_demand_t){.tiles = 128, .looked = 64, .found = 16, .spared = 40, .samples = 16};
    estimate = made(levels, TSEED_SEED, 1);
    assert_int_equal(estimate->present, 32);
    assert_int_equal(estimate->spared, 80);
    assert_int_equal(estimate->to_make, 16);
    assert_false(estimate->counted);
    assert_float_equal(estimate->bytes.expected, 16 * 200, NEAR);
    estimate = made(levels, TSEED_RESEED, 1);
    assert_int_equal(estimate->spared, 80);
    assert_int_equal(estimate->to_make, 48);
    assert_float_equal(estimate->seconds.expected, 48 * 0.125, NEAR);
    estimate = made(levels, TSEED_TRUNCATE, 1);
    assert_int_equal(estimate->spared, 80);
    assert_int_equal(estimate->to_make, 0);
}

static void test_estimate__a_truncate_makes_nothing(void **data)
{
    levels_t *levels = *data;
    const tseed_estimate_t *estimate;

    measure(levels, 5);
    levels->demands[5] = (tseed_demand_t){.tiles = 64, .looked = 64, .found = 64, .samples = 16};
    estimate = made(levels, TSEED_TRUNCATE, 1);
    assert_int_equal(estimate->present, 64);
    assert_int_equal(estimate->to_make, 0);
    assert_interval(&estimate->bytes, 0, 0);
    assert_false(estimate->seconds.known);
}

static void test_estimate__is_written_in_both_formats(void **data)
{
    levels_t *levels = *data;
    const tseed_task_t task = {.layer = "a&b", .gridset = "EPSG:4326", .format = "image/png"};
    tseed_estimate_t estimate = {.tiles = 100,
                                 .metatiles = 10,
                                 .present = 40,
                                 .spared = 5,
                                 .to_make = 55,
                                 .measured_tiles = 7,
                                 .bytes = {1, 1234567.8, 1000000, 2000000},
                                 .free_in = "quota"};

    assert_string_equal(
        tseed_estimate_write(&estimate, &task, TSEED_BODY_JSON, levels->pool),
        "{\"estimate\":{\"layer\":\"a&b\",\"gridSetId\":\"EPSG:4326\",\"format\":\"image/png\","
        "\"type\":\"seed\",\"tiles\":100,\"metatiles\":10,\"tilesPresent\":40,"
        "\"tilesPruned\":5,\"presentBy\":\"sample\",\"tilesToMake\":55,"
        "\"bytes\":{\"expected\":1234568,\"low\":1000000,\"high\":2000000},\"seconds\":null,"
        "\"measuredTiles\":7,\"free\":0,\"freeIn\":\"quota\"}}");
    estimate.present = estimate.spared = -1;
    estimate.free_in = NULL;
    assert_string_equal(tseed_estimate_write(&estimate, &task, TSEED_BODY_XML, levels->pool),
                        "<estimate>\n  <layer>a&#38;b</layer>\n"
                        "  <gridSetId>EPSG:4326</gridSetId>\n  <format>image/png</format>\n"
                        "  <type>seed</type>\n  <tiles>100</tiles>\n"
                        "  <metatiles>10</metatiles>\n  <tilesPresent/>\n  <tilesPruned/>\n"
                        "  <presentBy/>\n  <tilesToMake>55</tilesToMake>\n"
                        "  <bytes><expected>1234568</expected><low>1000000</low>"
                        "<high>2000000</high></bytes>\n  <seconds/>\n"
                        "  <measuredTiles>7</measuredTiles>\n  <free/>\n  <freeIn/>\n"
                        "</estimate>\n");
}

static void assert_free(int64_t free, const char *in, int64_t enabled, int64_t limit, int64_t disk)
{
    const tseed_quota_rule_t rule = {.enabled = enabled, .bytes = limit};
    const tseed_quota_gauge_t quota = {.used_bytes = 100, .disk_free = disk};
    tseed_estimate_t estimate = {0};

    tseed_estimate_free(&estimate, &rule, &quota, 50);
    assert_int_equal(estimate.free, free);
    if (in) {
        assert_string_equal(estimate.free_in, in);
    } else {
        assert_null(estimate.free_in);
    }
}

/* 100 bytes are used, and 50 shall stay free on the disk. */
static void test_estimate__the_smaller_of_quota_and_disk_is_free(void **state)
{
    (void)state;
    assert_free(900, "quota", 1, 1000, 2000);
    assert_free(450, "disk", 1, 1000, 500);
    assert_free(0, "disk", 1, 1000, 20);
    assert_free(0, "quota", 1, 60, 500);
    assert_free(450, "disk", 0, 60, 500);
    assert_free(900, "quota", 1, 1000, -1);
    assert_free(0, NULL, 0, 1000, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_estimate__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_never_measured_is_unknown),
        TEST(counts_times_means),
        TEST(sums_do_not_overflow),
        TEST(a_sample_makes_the_range_wider),
        TEST(the_nearest_level_stands_in),
        TEST(what_is_there_takes_a_look),
        TEST(a_level_nobody_could_look_at_leaves_all_unknown),
        TEST(pruned_tiles_are_not_made),
        TEST(a_truncate_makes_nothing),
        TEST(the_smaller_of_quota_and_disk_is_free),
        TEST(is_written_in_both_formats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
