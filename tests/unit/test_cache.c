/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A cache whose load has failed points at nothing of that load. What has changed of its notes is
 * saved. */
#include "state_fixture.h"

#include "books/tseed_cache.h"
#include "books/tseed_cache.h"
#include "state/tseed_books.h"

static const tseed_settings_t settings;
static apr_pool_t *memory;
static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t *cache;

static int cache_setup(void **state)
{
    const fixture_t *database;

    setup(state);
    database = *state;
    memory = database->pool;
    context = (tseed_context_t){.settings = &settings, .pool = memory, .scratch = memory};
    session = (tseed_session_t){.state = database->state};
    cache = tseed_cache_create(&context, &session);
    apr_pool_create(&cache->pool, memory);
    cache->book = tseed_book_create(cache->pool);
    cache->cleaner = tseed_cleaner_create(&settings, cache->pool);
    return 0;
}

static int cache_teardown(void **state)
{
    if (cache->book) {
        tseed_cache_undo(cache);
    }
    return teardown(state);
}

static void test_cache__a_load_that_failed_leaves_nothing(void **state)
{
    (void)state;
    tseed_cache_undo(cache);
    assert_null(cache->book);
    assert_null(cache->cleaner);
}

static void save(tseed_save_t what)
{
    assert_int_equal(tseed_cache_write(cache, what), APR_SUCCESS);
    tseed_cache_saved(cache, what);
}

/* The database's note of that name; "": there is none. */
static const char *note(const char *name)
{
    const char *value;

    return tseed_books_note_get(session.state, &value, name, memory) == APR_SUCCESS ? value : "";
}

static void assert_status(int64_t counted)
{
    tseed_usage_status_t status = {0};

    tseed_usage_load(&status, note(TSEED_USAGE_STATUS));
    assert_int_equal(status.reconcile.counted, counted);
}

/* The next seeder tells clients of the comparison that this one has made. */
static void test_cache__the_status_is_saved_when_it_changes(void **state)
{
    (void)state;
    cache->is_reconciling = 1;
    tseed_cache_counted(cache, 1, &(tseed_effect_t){0, 0, 0, 0});
    assert_true(tseed_cache_has_changes(cache, TSEED_SAVE_ALL));
    assert_false(tseed_cache_has_changes(cache, TSEED_SAVE_MARKS));
    save(TSEED_SAVE_MARKS);
    assert_string_equal(note(TSEED_USAGE_STATUS), "");
    save(TSEED_SAVE_ALL);
    assert_status(1);
    assert_false(tseed_cache_has_changes(cache, TSEED_SAVE_ALL));
    tseed_cache_counted(cache, 1, &(tseed_effect_t){0, 0, 0, 0});
    assert_true(tseed_cache_has_changes(cache, TSEED_SAVE_ALL));
    save(TSEED_SAVE_ALL);
    assert_status(2);
}

static void test_cache__the_block_size_is_saved_when_it_changes(void **state)
{
    (void)state;
    save(TSEED_SAVE_ALL);
    cache->block = 512;
    assert_true(tseed_cache_has_changes(cache, TSEED_SAVE_ALL));
    save(TSEED_SAVE_ALL);
    assert_string_equal(note("block"), "512");
    assert_false(tseed_cache_has_changes(cache, TSEED_SAVE_ALL));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_cache__##name, cache_setup, cache_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_load_that_failed_leaves_nothing),
        TEST(the_status_is_saved_when_it_changes),
        TEST(the_block_size_is_saved_when_it_changes),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
