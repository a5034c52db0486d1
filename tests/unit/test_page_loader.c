/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The page loader: the book has all pages of the database in the end, and the database has no
 * origins of pages in doubt. A page in doubt may have changed after its origins were saved. */
#include "state_fixture.h"

#include "board_memory.h"
#include "base/tseed_clock.h"
#include "books/tseed_page_loader.h"
#include "state/tseed_books.h"
#include "state/tseed_origin_rows.h"

static fixture_t *database;
static tseed_context_t context;
static tseed_session_t session;
static tseed_runs_t runs;
static tseed_cache_t *cache;
static tseed_chain_t chain;
static tseed_page_loader_t *loader;
static tseed_book_tileset_t *roads, *rivers;

/* Enters a tile set in the database and the book. */
static tseed_book_tileset_t *enter(const char *layer, uint64_t print)
{
    tseed_tileset_record_t record = {.print = print,
                                     .key = layer,
                                     .layer = layer,
                                     .gridset = "EPSG:4326",
                                     .format = "image/png",
                                     .parameters = "{}",
                                     .root = "/cache",
                                     .place = "",
                                     .complete = 1};

    assert_int_equal(tseed_books_add(database->state, &record), APR_SUCCESS);
    return tseed_book_add(cache->book, &record, &chain, 0);
}

static int loader_setup(void **state)
{
    static const tseed_settings_t settings = {.state_dir = "/state"};

    setup(state);
    database = *state;
    pool = database->pool;
    context = (tseed_context_t){.settings = &settings, .pool = pool, .board = make_board(2, 1)};
    apr_pool_create(&context.scratch, pool);
    context.calendar = tseed_calendar_begin(apr_time_now(), tseed_clock_monotonic());
    session = (tseed_session_t){.state = database->state};
    runs = (tseed_runs_t){0};
    cache = tseed_cache_create(&context, &session);
    apr_pool_create(&cache->pool, pool);
    cache->book = tseed_book_create(cache->pool);
    chain = (tseed_chain_t){.global = tseed_account_create()};
    roads = enter("roads", 1);
    rivers = enter("rivers", 2);
    loader = tseed_page_loader_create(&context, &session, &runs, cache, NULL);
    return 0;
}

static int loader_teardown(void **state)
{
    free(context.board->segment);
    apr_pool_destroy(cache->pool);
    free(chain.global);
    return teardown(state);
}

/* A page of one tile in the database. */
static void save(const tseed_book_tileset_t *booked, tseed_page_t page, int is_dirty)
{
    const tseed_page_record_t record = {.tileset = booked->record.id,
                                        .page = page,
                                        .usage = {1, 1, 300, 4096},
                                        .accessed = 1000000000,
                                        .dirty = is_dirty};

    assert_int_equal(tseed_books_page_save(database->state, &record), APR_SUCCESS);
}

static void save_with_origin(const tseed_book_tileset_t *booked, tseed_page_t page, int is_dirty)
{
    save(booked, page, is_dirty);
    assert_int_equal(
        tseed_origin_rows_save(database->state, booked->record.id, &page, "0 0000000000000005\n"),
        APR_SUCCESS);
}

static void assert_origin(const tseed_book_tileset_t *booked, tseed_page_t page, int is_known)
{
    const char *text;

    assert_int_equal(tseed_origin_rows_load(database->state, &text, booked->record.id, &page, pool),
                     APR_SUCCESS);
    assert_int_equal(*text != '\0', is_known);
}

/* Loads until the last page has come, or the database is lost. */
static void load(void)
{
    tseed_page_loader_begin(loader);
    tseed_page_loader_go(loader);
    assert_true(cache->is_loading);
    while (!tseed_page_loader_turn(loader) && !tseed_page_loader_is_lost(loader)) {
        assert_null(session.trouble);
    }
}

static void test_page_loader__pages_come_into_the_book(void **state)
{
    tseed_book_page_t found;

    (void)state;
    save(roads, (tseed_page_t){5, 3, 2}, 0);
    save(roads, (tseed_page_t){6, 1, 1}, 1);
    save(rivers, (tseed_page_t){5, 3, 2}, 0);
    load();
    assert_false(cache->is_loading);
    assert_false(tseed_page_loader_is_lost(loader));
    assert_int_equal(tseed_book_pages(cache->book), 3);
    assert_int_equal(tseed_book_in_doubt(cache->book), 1);
    assert_true(roads->loaded && rivers->loaded);
    assert_true(tseed_book_page(&found, cache->book, roads, &(tseed_page_t){6, 1, 1}));
    assert_true(found.in_doubt);
    assert_int_equal(found.usage.bytes, 300);
    assert_int_equal(tseed_account_used(chain.global).bytes, 3 * 4096);
    assert_false(tseed_page_loader_turn(loader)); /* it was told once */
}

/* Metatiles of the three pages before a page may reach into it. */
static void test_page_loader__origins_of_pages_in_doubt_are_forgotten(void **state)
{
    (void)state;
    save_with_origin(roads, (tseed_page_t){7, 3, 3}, 1);
    save_with_origin(roads, (tseed_page_t){7, 2, 3}, 0);
    save_with_origin(roads, (tseed_page_t){7, 3, 2}, 0);
    save_with_origin(roads, (tseed_page_t){7, 2, 2}, 0);
    save_with_origin(roads, (tseed_page_t){7, 1, 3}, 0);
    save_with_origin(roads, (tseed_page_t){7, 0, 0}, 0);
    save_with_origin(roads, (tseed_page_t){8, 3, 3}, 0);
    save_with_origin(rivers, (tseed_page_t){7, 3, 3}, 0);
    save_with_origin(rivers, (tseed_page_t){9, 0, 0}, 1);
    load();
    assert_origin(roads, (tseed_page_t){7, 3, 3}, 0);
    assert_origin(roads, (tseed_page_t){7, 2, 3}, 0);
    assert_origin(roads, (tseed_page_t){7, 3, 2}, 0);
    assert_origin(roads, (tseed_page_t){7, 2, 2}, 0);
    assert_origin(roads, (tseed_page_t){7, 1, 3}, 1);
    assert_origin(roads, (tseed_page_t){7, 0, 0}, 1);
    assert_origin(roads, (tseed_page_t){8, 3, 3}, 1);
    assert_origin(rivers, (tseed_page_t){7, 3, 3}, 1);
    assert_origin(rivers, (tseed_page_t){9, 0, 0}, 0);
}

/* More than a thousand of them, in two levels of one tile set and in one of another. */
static void test_page_loader__of_many_pages_in_doubt_whole_levels_are_forgotten(void **state)
{
    (void)state;
    assert_int_equal(tseed_state_begin(database->state), APR_SUCCESS);
    for (int i = 0; i < 1000; i++) {
        save(roads, (tseed_page_t){10, i % 32, i / 32}, 1);
    }
    save(roads, (tseed_page_t){12, 90, 90}, 1);
    save(rivers, (tseed_page_t){11, 0, 0}, 1);
    save_with_origin(roads, (tseed_page_t){10, 20, 31}, 0);
    save_with_origin(roads, (tseed_page_t){11, 5, 5}, 0);
    save_with_origin(roads, (tseed_page_t){12, 1, 1}, 0);
    save_with_origin(rivers, (tseed_page_t){10, 5, 5}, 0);
    save_with_origin(rivers, (tseed_page_t){11, 5, 5}, 0);
    assert_int_equal(tseed_state_commit(database->state), APR_SUCCESS);
    load();
    assert_int_equal(tseed_book_in_doubt(cache->book), 1002);
    assert_int_equal(tseed_book_pages(cache->book), 1007);
    assert_origin(roads, (tseed_page_t){10, 20, 31}, 0);
    assert_origin(roads, (tseed_page_t){11, 5, 5}, 1);
    assert_origin(roads, (tseed_page_t){12, 1, 1}, 0);
    assert_origin(rivers, (tseed_page_t){10, 5, 5}, 1);
    assert_origin(rivers, (tseed_page_t){11, 5, 5}, 0);
}

/* Somebody has put another database in the place of ours: what was read is not to be believed. */
static void test_page_loader__another_database_is_noticed(void **state)
{
    (void)state;
    save_with_origin(roads, (tseed_page_t){7, 3, 3}, 1);
    assert_int_equal(tseed_books_forget(database->state, 2), APR_SUCCESS);
    load();
    assert_true(tseed_page_loader_is_lost(loader));
    assert_true(cache->is_loading);
    assert_origin(roads, (tseed_page_t){7, 3, 3}, 1);
}

static void test_page_loader__says_how_far_it_is(void **state)
{
    (void)state;
    cache->expected = 3;
    save(roads, (tseed_page_t){5, 3, 2}, 0);
    tseed_page_loader_begin(loader);
    assert_int_equal(tseed_page_loader_load(loader, roads), APR_SUCCESS);
    assert_true(roads->loaded);
    assert_string_equal(tseed_page_loader_reason(loader),
                        "waits until the books of the disk usage are read: 1 of 3 pages so far");
    cache->expected = 0;
    assert_string_equal(tseed_page_loader_reason(loader),
                        "waits until the books of the disk usage are read: 1 of 1 pages so far");
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_page_loader__##name, loader_setup, loader_teardown)
    const struct CMUnitTest tests[] = {
        TEST(pages_come_into_the_book),
        TEST(origins_of_pages_in_doubt_are_forgotten),
        TEST(of_many_pages_in_doubt_whole_levels_are_forgotten),
        TEST(another_database_is_noticed),
        TEST(says_how_far_it_is),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
