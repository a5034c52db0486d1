/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The status of the books as a text, the documents that are made of it and of rows, and what a
 * client asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "layers_fixture.h"
#include "protocol/tseed_usage.h"

#include "document_fixture.h" /* its pool is the name of parameters above */

static void test_usage__status_survives_its_text(void **state)
{
    tseed_usage_status_t status, back;
    int64_t *numbers = (int64_t *)&status;
    const size_t count = sizeof(status) / sizeof(*numbers);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = INT64_MAX - (int64_t)i;
    }
    assert_true(strlen(tseed_usage_save(&status, pool)) < 1024); /* the seeder keeps it */
    tseed_usage_load(&back, tseed_usage_save(&status, pool));
    assert_memory_equal(&back, &status, sizeof(status));
}

static void test_usage__nonsense_is_an_empty_status(void **state)
{
    static const char *const texts[] = {"", " ", "=", "walked", "walked=", "nothing=5 at=7", "= ="};
    static const tseed_usage_status_t empty;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tseed_usage_status_t status;

        tseed_usage_load(&status, texts[i]);
        assert_memory_equal(&status, &empty, sizeof(status));
    }
}

/* Whether the document of an empty cache has these words. */
static int says(const tseed_reconcile_t *reconcile, apr_time_t requested, const char *words)
{
    tseed_settings_t settings = {.quota_files = INT64_MAX};
    tseed_quota_config_t config;
    tseed_usage_t usage = {.settings = &settings,
                           .config = &config,
                           .rows = apr_array_make(pool, 1, sizeof(tseed_usage_row_t)),
                           .status = {.reconcile = *reconcile},
                           .requested = requested};

    tseed_quota_config_init(&config, 4096, pool);
    return strstr(tseed_usage_document(&usage, pool), words) != NULL;
}

static void test_usage__reconcile_waits_runs_and_ends(void **state)
{
    const tseed_reconcile_t none = {.requested = 0};
    const tseed_reconcile_t runs = {.requested = 5, .started = 6};
    const tseed_reconcile_t ends = {.requested = 5, .started = 6, .finished = 7};

    (void)state;
    assert_true(says(&none, 0, "\"reconcile\":null"));
    assert_true(says(&none, 5, "\"state\":\"waiting\""));
    assert_true(says(&runs, 5, "\"state\":\"running\""));
    assert_true(says(&runs, 9, "\"state\":\"running\""));
    assert_true(says(&ends, 5, "\"state\":\"done\""));
    assert_true(says(&ends, 9, "\"state\":\"waiting\""));
}

/* Three tile sets: two of "roads", the second of them not configured any more, one of "lakes". The
 * books have numbers whose sums are easy: a tile set counts units, tens, hundreds. */
static apr_array_header_t *three_rows(void)
{
    static const tseed_tileset_record_t records[] = {
        {.id = 3,
         .layer = "roads",
         .gridset = "EPSG:900913",
         .format = "image/png",
         .root = "/tiles",
         .pages = 2,
         .paged = {40, 30, 2000, 4000},
         .shared = {0, 10, 500, 1000},
         .detached = {0, 20, 250, 2000},
         .complete = 1},
        {.id = 2,
         .layer = "roads",
         .gridset = "EPSG:4326",
         .format = "image/jpeg",
         .parameters = "{\"STYLES\":\"night\"}",
         .root = "/gone",
         .paged = {400, 300, 20000, 40000}},
        {.id = 9,
         .layer = "lakes",
         .gridset = "EPSG:900913",
         .format = "image/png",
         .root = "/tiles",
         .paged = {4, 3, 20, 40}},
    };
    apr_array_header_t *rows = apr_array_make(pool, 3, sizeof(tseed_usage_row_t));

    for (int i = 0; i < 3; i++) {
        *(tseed_usage_row_t *)apr_array_push(rows) =
            (tseed_usage_row_t){.record = records[i], .is_configured = i != 1};
    }
    return rows;
}

/* The document of three_rows(): lakes may have 1 MiB. */
static const char *document_of(const tseed_usage_status_t *status, int is_part)
{
    tseed_settings_t settings = {.quota_files = 77, .min_free = 88};
    const tseed_layer_quota_t lakes = {.layer = "lakes",
                                       .has_policy = 1,
                                       .policy = TSEED_POLICY_LRU,
                                       .quota = {1048576, "1", "MiB"}};
    tseed_quota_config_t config;
    tseed_usage_t usage = {.settings = &settings,
                           .config = &config,
                           .rows = three_rows(),
                           .status = *status,
                           .is_part = is_part};

    tseed_quota_config_init(&config, 4096, pool);
    config.layers = apr_array_make(pool, 1, sizeof(lakes));
    *(tseed_layer_quota_t *)apr_array_push(config.layers) = lakes;
    return tseed_usage_document(&usage, pool);
}

static void assert_says(const char *document, const char *words)
{
    if (!strstr(document, words)) {
        fail_msg("%s is not in %s", words, document);
    }
}

static void test_usage__sums_are_of_configured_tile_sets(void **state)
{
    const tseed_usage_status_t status = {0};
    const char *document = document_of(&status, 0);

    (void)state;
    assert_says(document, "\"complete\":false,\"bytes\":7040,\"files\":63,\"tiles\":44,"
                          "\"limit\":{\"bytes\":524288000,\"files\":77,\"minFree\":88}");
    assert_says(document, "\"layer\":\"roads\",\"bytes\":7000,\"files\":60,\"tiles\":40,"
                          "\"limit\":null,\"policy\":\"LFU\"");
    assert_says(document, "\"layer\":\"lakes\",\"bytes\":40,\"files\":3,\"tiles\":4,"
                          "\"limit\":1048576,\"policy\":\"LRU\"");
    assert_says(document,
                "\"parameters\":{\"STYLES\":\"night\"},\"store\":\"/gone\","
                "\"configured\":false,\"removing\":false,\"complete\":false,\"bytes\":40000");
    assert_says(document, "\"shared\":{\"bytes\":1000,\"files\":10},"
                          "\"detached\":{\"bytes\":2000,\"files\":20},\"levels\":null");
}

static void test_usage__layers_come_by_name_tile_sets_by_id(void **state)
{
    const tseed_usage_status_t status = {0};
    const char *document = document_of(&status, 0);
    const char *lakes = strstr(document, "\"id\":9");
    const char *second = strstr(document, "\"id\":2");
    const char *third = strstr(document, "\"id\":3");

    (void)state;
    assert_true(lakes && second && third);
    assert_true(lakes < second && second < third);
}

static void test_usage__work_on_the_books_is_shown(void **state)
{
    const tseed_usage_status_t status = {
        .block = 4096,
        .in_doubt = 5,
        .walked = 9,
        .walked_level = 12,
        .clean = {.started = apr_time_from_sec(1000000000),
                  .last = apr_time_from_sec(1000000060),
                  .pages = 6,
                  .gone = {7, 8, 9, 10}},
        .reconcile = {.requested = 1,
                      .started = 2,
                      .counted = 11,
                      .found = {1, 2, 3, 4},
                      .lost = {5, 6, 7, 8}},
    };
    const char *document = document_of(&status, 0);

    (void)state;
    assert_says(document,
                "\"pagesInDoubt\":5,\"recount\":{\"diskBlockSize\":4096,\"pagesLeft\":5}");
    assert_says(document, "\"walk\":{\"tileset\":9,\"layer\":\"lakes\",\"zoom\":12,\"tiles\":4}");
    assert_says(document, "\"lastCleanUp\":{\"pages\":6,\"bytes\":10,\"files\":8,\"tiles\":7,"
                          "\"started\":\"2001-09-09T01:46:40");
    assert_says(document, "\"pagesCounted\":11,\"pagesLeft\":5,\"pagesDiffering\":0,"
                          "\"found\":{\"bytes\":4,\"files\":2,\"tiles\":1},"
                          "\"lost\":{\"bytes\":8,\"files\":6,\"tiles\":5}");
}

static void test_usage__a_part_does_not_tell_of_the_whole(void **state)
{
    const tseed_usage_status_t status = {
        .block = 4096, .in_doubt = 5, .walked = 4, .clean = {.started = 1}, .reconcile = {1, 2, 3}};

    (void)state;
    assert_says(document_of(&status, 1),
                "\"pagesInDoubt\":null,\"recount\":null,\"walk\":null,\"grace\":null,"
                "\"lastCleanUp\":null,\"reconcile\":null");
}

/* EPSG:900913 has 4^z tiles at level z; the layer has the levels 1 and 2. */
static void test_usage__levels_say_what_is_possible(void **state)
{
    static const tseed_usage_level_t levels[] = {
        {3, 0, {1, 1, 10, 4096}}, {3, 2, {12, 11, 100, 45056}}, {3, 3, {5, 5, 50, 20480}}};
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:900913");
    const tseed_subset_t subset = {gridset, 1, 2, gridset->extent, "EPSG:900913", 0};
    tseed_usage_row_t row = APR_ARRAY_IDX(three_rows(), 0, tseed_usage_row_t);
    apr_array_header_t *shown = apr_array_make(pool, 3, sizeof(tseed_usage_level_t));
    const apr_array_header_t *none = apr_array_make(pool, 1, sizeof(tseed_page_record_t));

    (void)state;
    for (int i = 0; i < 3; i++) {
        *(tseed_usage_level_t *)apr_array_push(shown) = levels[i];
    }
    row.levels = shown;
    row.subset = &subset;
    assert_says(tseed_usage_pages(&row, none, NULL, pool),
                "\"levels\":[{\"z\":0,\"bytes\":4096,\"files\":1,\"tiles\":1,\"possible\":null},"
                "{\"z\":2,\"bytes\":45056,\"files\":11,\"tiles\":12,\"possible\":16},"
                "{\"z\":3,\"bytes\":20480,\"files\":5,\"tiles\":5,\"possible\":null}]");
    row.is_configured = 0;
    assert_says(tseed_usage_pages(&row, none, NULL, pool), "\"tiles\":12,\"possible\":null");
}

/* A page has 32 x 32 tiles. */
static void test_usage__pages_are_named_by_their_first_tile(void **state)
{
    const tseed_usage_row_t row = APR_ARRAY_IDX(three_rows(), 0, tseed_usage_row_t);
    apr_array_header_t *pages = apr_array_make(pool, 1, sizeof(tseed_page_record_t));

    (void)state;
    *(tseed_page_record_t *)apr_array_push(pages) = (tseed_page_record_t){
        .page = {14, 3, 2}, .usage = {5, 4, 300, 16384}, .accessed = 1000000000};
    assert_says(tseed_usage_pages(&row, pages, "usage.json?after=14/96/64", pool),
                "\"pages\":[{\"z\":14,\"x\":96,\"y\":64,\"bytes\":16384,\"files\":4,"
                "\"tiles\":5,\"contentBytes\":300,\"accessed\":\"2001-09-09T01:46:40");
    assert_says(tseed_usage_pages(&row, pages, "usage.json?after=14/96/64", pool),
                "],\"next\":\"usage.json?after=14/96/64\"}");
    assert_says(tseed_usage_pages(&row, pages, NULL, pool), "],\"next\":null}");
}

static void test_usage__a_record_finds_its_tile_set_or_says_why_not(void **state)
{
    const tseed_catalog_t *catalog = layers_catalog(pool);
    tseed_tileset_record_t record = {
        .layer = "roads", .gridset = "EPSG:3857", .format = "image/png", .parameters = "{"};
    tseed_tileset_t tileset;

    (void)state;
    assert_string_equal(tseed_usage_resolve(&tileset, &record, catalog, pool),
                        "its parameters can't be read");
    record.parameters = NULL;
    record.layer = "rivers";
    assert_non_null(tseed_usage_resolve(&tileset, &record, catalog, pool));
}

static void test_usage__query_names_a_tile_set(void **state)
{
    tseed_usage_query_t query;

    (void)state;
    assert_null(tseed_usage_query_read(&query, NULL, pool));
    assert_int_equal(query.tileset, 0);
    assert_null(tseed_usage_query_read(&query, "tileset=9223372036854775807&limit=5", pool));
    assert_true(query.tileset == INT64_MAX);
    assert_int_equal(query.from.limit, 5);
    assert_string_equal(tseed_usage_query_read(&query, "tileset=0", pool),
                        "tileset must be the id of a tile set, not '0'");
    assert_non_null(tseed_usage_query_read(&query, "tileset=1&limit=none", pool));
}

static void assert_forget(const char *query, int removes, const char *problem)
{
    int found = -1;
    const char *said = tseed_forget_query_read(&found, query, pool);

    if (problem) {
        assert_string_equal(said, problem);
        return;
    }
    assert_null(said);
    assert_int_equal(found, removes);
}

static void test_usage__tiles_are_kept_unless_they_are_to_be_removed(void **state)
{
    (void)state;
    assert_forget(NULL, 0, NULL);
    assert_forget("", 0, NULL);
    assert_forget("a=b", 0, NULL);
    assert_forget("tiles=keep", 0, NULL);
    assert_forget("tiles=remove", 1, NULL);
    assert_forget("a=1&TILES=remove", 1, NULL);
    assert_forget("tiles=Remove", 0, "tiles must be keep or remove, not 'Remove'");
    assert_forget("tiles=", 0, "tiles must be keep or remove, not ''");
    assert_forget("tiles=keep&tiles=keep", 0, "tiles is there twice, once is expected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage__status_survives_its_text),
        cmocka_unit_test(test_usage__nonsense_is_an_empty_status),
        cmocka_unit_test(test_usage__reconcile_waits_runs_and_ends),
        cmocka_unit_test(test_usage__sums_are_of_configured_tile_sets),
        cmocka_unit_test(test_usage__layers_come_by_name_tile_sets_by_id),
        cmocka_unit_test(test_usage__work_on_the_books_is_shown),
        cmocka_unit_test(test_usage__a_part_does_not_tell_of_the_whole),
        cmocka_unit_test(test_usage__levels_say_what_is_possible),
        cmocka_unit_test(test_usage__pages_are_named_by_their_first_tile),
        cmocka_unit_test(test_usage__a_record_finds_its_tile_set_or_says_why_not),
        cmocka_unit_test(test_usage__query_names_a_tile_set),
        cmocka_unit_test(test_usage__tiles_are_kept_unless_they_are_to_be_removed),
    };

    return cmocka_run_group_tests(tests, setup_documents, teardown_group);
}
