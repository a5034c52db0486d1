/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The reconcile: when it begins, in which steps it goes through the tile sets, and what it says of
 * pages that differ. The modules that walk and count are replaced here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "books/tseed_discover.h"
#include "books/tseed_lapsed.h"
#include "books/tseed_reconciler.h"
#include "books/tseed_cache.h"
#include "counters_fixture.h"
#include "pool_fixture.h"
#include "state/tseed_books.h"

#define TILESETS 2

static const char *note; /* the request; NULL: none */
static apr_status_t look_status;
static tseed_book_tileset_t *walked, *counted; /* wanted last */
static int walks;                              /* a walk is under way */
static int may_count;
static tseed_report_t *report;
static void *report_module;

apr_status_t tseed_books_note_get(tseed_state_t *state, const char **value, const char *name,
                                  apr_pool_t *p)
{
    (void)state;
    (void)name;
    (void)p;
    *value = note ? note : *value;
    return note ? APR_SUCCESS : APR_NOTFOUND;
}

apr_status_t tseed_discover_look(const tseed_context_t *context, tseed_cache_t *cache)
{
    (void)context;
    (void)cache;
    return look_status;
}

apr_status_t tseed_lapsed_look(const tseed_context_t *context, const tseed_session_t *session,
                               const tseed_cache_t *cache)
{
    (void)context;
    (void)session;
    (void)cache;
    return APR_SUCCESS;
}

void tseed_walk_want(tseed_walk_t *walk, tseed_book_tileset_t *booked)
{
    (void)walk;
    walked = booked;
    walks = 1;
}

int tseed_walk_is_wanted(const tseed_walk_t *walk)
{
    (void)walk;
    return walks;
}

int tseed_count_may_retry(const tseed_book_tileset_t *booked)
{
    (void)booked;
    return may_count;
}

int tseed_count_shared(tseed_count_t *count, tseed_book_tileset_t *booked, tseed_report_t *wanted,
                       void *module)
{
    (void)count;
    counted = booked;
    report = wanted;
    report_module = module;
    return 1;
}

static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t cache;
static tseed_chain_t chain;
static tseed_book_tileset_t *tilesets[TILESETS];
static tseed_reconciler_t *reconciler;

static int setup(void **state)
{
    (void)state;
    note = NULL;
    look_status = APR_SUCCESS;
    walks = 0;
    may_count = 1;
    walked = counted = NULL;
    context = (tseed_context_t){.board = board_for_counters(), .pool = pool, .scratch = pool};
    cache = (tseed_cache_t){.book = tseed_book_create(pool)};
    for (int i = 0; i < TILESETS; i++) {
        const tseed_tileset_record_t record = {.id = i + 1,
                                               .print = (uint64_t)(i + 1) * 1000003,
                                               .key = i ? "rivers" : "roads",
                                               .layer = "states",
                                               .gridset = "EPSG:4326",
                                               .format = "image/png",
                                               .parameters = "{}",
                                               .root = "/cache",
                                               .place = "",
                                               .complete = 1};

        tilesets[i] = tseed_book_add(cache.book, &record, &chain, 0);
    }
    reconciler = tseed_reconciler_create(&context, &session, &cache, NULL, NULL);
    return 0;
}

static void feed(void)
{
    tseed_client_t *client = tseed_reconciler_client(reconciler);

    client->feed(client->module);
}

static void hear(const char *request)
{
    note = request;
    assert_int_equal(tseed_reconciler_hear(reconciler), APR_SUCCESS);
}

/* A page of level 5 with that many tiles of 100 bytes. */
static void book_page(int64_t x, int64_t tiles)
{
    const tseed_page_t page = {5, x, 0};
    const tseed_effect_t change = {tiles, tiles, tiles * 100, tiles * 4096};

    assert_int_equal(tseed_book_apply(cache.book, tilesets[0], &page, &change, NULL), APR_SUCCESS);
}

static void count_page(int64_t x, int64_t tiles)
{
    const tseed_page_t page = {5, x, 0};
    const tseed_effect_t found = {tiles, tiles, tiles * 100, tiles * 4096};
    tseed_effect_t difference;

    tseed_book_count(&difference, cache.book, tilesets[0], &page, &found, 0);
    /* as the count says to the cache */
    cache.status.reconcile.counted++;
    cache.status.reconcile.differing += difference.names != 0;
    if (difference.names > 0) {
        tseed_effect_add(&cache.status.reconcile.found, &difference);
    } else {
        tseed_effect_add(&cache.status.reconcile.lost,
                         &(tseed_effect_t){-difference.names, -difference.files, -difference.bytes,
                                           -difference.allocated});
    }
}

/* The walk of a tile set, and then the count of its shared files. */
static void pass_tileset(int number)
{
    static const tseed_effect_t none;

    feed();
    assert_ptr_equal(walked, tilesets[number]);
    walks = 0;
    feed();
    assert_ptr_equal(counted, tilesets[number]);
    report(report_module, &none);
}

static void test_reconciler__begins_when_a_client_wants_it(void **state)
{
    (void)state;
    assert_int_equal(tseed_reconciler_hear(reconciler), APR_SUCCESS);
    assert_false(cache.is_reconciling);
    book_page(0, 3);
    hear("7");
    assert_true(cache.is_reconciling);
    assert_int_equal(cache.status.reconcile.requested, 7);
    assert_int_equal(tseed_book_in_doubt(cache.book), 1);
}

static void test_reconciler__waits_until_the_book_is_loaded(void **state)
{
    (void)state;
    cache.is_loading = 1;
    hear("7");
    assert_false(cache.is_reconciling);
    cache.is_loading = 0;
    hear("7");
    assert_true(cache.is_reconciling);
}

static void test_reconciler__does_not_begin_when_the_disk_can_not_be_looked_at(void **state)
{
    (void)state;
    note = "7";
    look_status = APR_EGENERAL;
    assert_int_equal(tseed_reconciler_hear(reconciler), APR_EGENERAL);
    assert_false(cache.is_reconciling);
}

static void test_reconciler__begins_again_what_a_seeder_has_left(void **state)
{
    (void)state;
    cache.status.reconcile = (tseed_reconcile_t){.requested = 7, .finished = 9};
    hear("7");
    assert_false(cache.is_reconciling);
    cache.status.reconcile = (tseed_reconcile_t){.requested = 7, .counted = 5};
    hear("7");
    assert_true(cache.is_reconciling);
    assert_int_equal(cache.status.reconcile.counted, 0);
}

static void test_reconciler__goes_on_while_another_is_wanted(void **state)
{
    (void)state;
    hear("7");
    pass_tileset(0);
    hear("8");
    assert_int_equal(cache.status.reconcile.requested, 7);
    pass_tileset(1);
    feed();
    assert_false(cache.is_reconciling);
    hear("8");
    assert_int_equal(cache.status.reconcile.requested, 8);
}

static void test_reconciler__walks_and_counts_one_tile_set_after_the_other(void **state)
{
    (void)state;
    hear("7");
    feed();
    assert_ptr_equal(walked, tilesets[0]);
    feed();
    assert_null(counted); /* the walk goes on */
    walks = may_count = 0;
    feed();
    assert_null(counted);
    may_count = 1;
    feed();
    assert_ptr_equal(counted, tilesets[0]);
    counted = NULL;
    report(report_module, NULL); /* the count failed */
    feed();
    assert_ptr_equal(counted, tilesets[0]);
    assert_ptr_equal(walked, tilesets[0]);
}

static void test_reconciler__ends_when_no_page_is_in_doubt(void **state)
{
    (void)state;
    book_page(0, 3);
    hear("7");
    pass_tileset(0);
    pass_tileset(1);
    feed();
    assert_true(cache.is_reconciling);
    count_page(0, 3);
    feed();
    assert_false(cache.is_reconciling);
    assert_true(cache.status.reconcile.finished >= cache.status.reconcile.started);
}

static void test_reconciler__adds_up_what_differs(void **state)
{
    const tseed_reconcile_t *result = &cache.status.reconcile;
    tseed_server_counts_t counts;

    (void)state;
    book_page(0, 3);
    book_page(1, 4);
    book_page(2, 6);
    hear("7");
    count_page(0, 5);
    count_page(1, 1);
    count_page(2, 6);
    assert_int_equal(result->counted, 3);
    assert_int_equal(result->differing, 2);
    assert_int_equal(result->found.names, 2);
    assert_int_equal(result->found.bytes, 200);
    assert_int_equal(result->lost.names, 3);
    assert_int_equal(result->lost.allocated, 3 * 4096);
    tseed_counters_server(context.board, &counts);
    assert_int_equal(counts.counts[TSEED_COUNT_RECONCILES], 0);
    pass_tileset(0);
    pass_tileset(1);
    feed();
    tseed_counters_server(context.board, &counts);
    assert_int_equal(counts.counts[TSEED_COUNT_RECONCILES], 1);
    assert_int_equal(counts.counts[TSEED_COUNT_DIFFERING_PAGES], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_reconciler__begins_when_a_client_wants_it, setup),
        cmocka_unit_test_setup(test_reconciler__waits_until_the_book_is_loaded, setup),
        cmocka_unit_test_setup(test_reconciler__does_not_begin_when_the_disk_can_not_be_looked_at,
                               setup),
        cmocka_unit_test_setup(test_reconciler__begins_again_what_a_seeder_has_left, setup),
        cmocka_unit_test_setup(test_reconciler__goes_on_while_another_is_wanted, setup),
        cmocka_unit_test_setup(test_reconciler__walks_and_counts_one_tile_set_after_the_other,
                               setup),
        cmocka_unit_test_setup(test_reconciler__ends_when_no_page_is_in_doubt, setup),
        cmocka_unit_test_setup(test_reconciler__adds_up_what_differs, setup),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
