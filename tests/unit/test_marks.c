/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What of marks and progress the database may have: what a sync has brought to the disk that began
 * after it. The syncs of these tests are numbers alone. */
#include "board_fixture.h"

#include "books/tseed_marks.h"

static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t *cache;
static tseed_chain_t chain;
static tseed_durable_t *durable;
static tseed_sync_t sync_of;   /* of the file system of root */
static tseed_sync_root_t root; /* of here, and of no other */
static tseed_book_tileset_t *here, *elsewhere;
static tseed_task_t task;
static tseed_run_t run;

static tseed_book_tileset_t *enter(int64_t id, const char *path)
{
    const tseed_tileset_record_t record = {.id = id,
                                           .print = (uint64_t)id,
                                           .key = path,
                                           .layer = "topp:states",
                                           .gridset = "EPSG:4326",
                                           .format = "image/png",
                                           .parameters = "{}",
                                           .root = path,
                                           .place = "",
                                           .complete = 1};

    return tseed_book_add(cache->book, &record, &chain, 0);
}

static int marks_setup(void **state)
{
    static tseed_settings_t settings;

    setup(state);
    context = (tseed_context_t){.settings = &settings, .board = board, .pool = pool};
    session = (tseed_session_t){0};
    cache = tseed_cache_create(&context, &session);
    cache->book = tseed_book_create(pool);
    chain = (tseed_chain_t){.global = tseed_account_create()};
    durable = tseed_durable_create(cache, pool);
    root = (tseed_sync_root_t){.path = "/cache", .sync = &sync_of};
    sync_of = (tseed_sync_t){.roots = &root};
    tseed_durable_enter(durable, &sync_of);
    here = enter(1, "/cache");
    elsewhere = enter(2, "/elsewhere");
    task = (tseed_task_t){.id = 12, .layer = "topp:states", .tiles_total = 100};
    run = (tseed_run_t){.task = &task, .booked = here};
    return 0;
}

static int marks_teardown(void **state)
{
    free(board->segment);
    apr_pool_destroy(pool);
    free(chain.global);
    (void)state;
    return 0;
}

/* ---- levels ---- */

/* The third sync was under way when the last job of the level ended. */
static void test_marks__a_level_keeps_its_mark_until_a_later_sync(void **state)
{
    (void)state;
    sync_of.begun = 3;
    root.done = 2;
    tseed_durable_touch_levels(durable, here);
    assert_true(sync_of.due);
    for (root.done = 2; root.done <= 3; root.done++) {
        sync_of.due = 0;
        assert_false(tseed_durable_may_unmark(durable, here));
        assert_true(sync_of.due);
    }
    sync_of.due = 0;
    root.done = 4;
    assert_true(tseed_durable_may_unmark(durable, here));
    assert_false(sync_of.due);
}

static void test_marks__a_store_without_syncs_waits_for_none(void **state)
{
    (void)state;
    tseed_durable_touch_levels(durable, elsewhere);
    assert_true(tseed_durable_may_unmark(durable, elsewhere));
    assert_false(sync_of.due);
    assert_null(tseed_durable_root(durable, elsewhere));
    assert_ptr_equal(tseed_durable_root(durable, here), &root);
    assert_null(tseed_durable_root(durable, NULL));
}

/* ---- pages ---- */

static void assert_swept(int64_t begun, int64_t done, int is_unsafe, int64_t swept)
{
    sync_of.begun = begun;
    root.done = done;
    tseed_durable_sweep(durable);
    assert_int_equal(here->is_unsafe, is_unsafe);
    assert_int_equal(root.swept, swept);
    assert_true(here->keeps_empty);
    assert_false(elsewhere->is_unsafe);
    assert_false(elsewhere->keeps_empty);
}

/* A sync that has begun before the last sweep does not say what was written since. */
static void test_marks__a_sweep_waits_for_a_sync_since_the_last(void **state)
{
    (void)state;
    assert_swept(0, 0, 1, 0);
    assert_swept(1, 1, 0, 1);
    assert_swept(1, 1, 1, 1);
    assert_swept(2, 1, 1, 1);
    assert_swept(3, 2, 0, 3); /* the third has begun already */
    assert_swept(4, 3, 1, 3);
    assert_swept(4, 4, 0, 4);
}

static void test_marks__marks_that_linger_want_a_sync(void **state)
{
    const tseed_page_t page = {5, 0, 0};

    (void)state;
    tseed_durable_sweep(durable);
    assert_false(sync_of.due);
    tseed_book_hold(cache->book, here, &page);
    tseed_book_saved(cache->book, TSEED_SAVE_ALL);
    tseed_durable_sweep(durable);
    assert_true(sync_of.due);
    tseed_book_drop(cache->book, here, &page);
}

static void assert_end(int is_last, int at_work, apr_status_t rv, int is_unsafe)
{
    sync_of.is_last = is_last;
    sync_of.at_work = at_work;
    root.rv = rv;
    tseed_durable_end(durable);
    assert_int_equal(here->is_unsafe, is_unsafe);
    assert_false(elsewhere->is_unsafe);
}

/* Only the last sync, once it has succeeded, says that all is on the disk. */
static void test_marks__at_the_end_the_last_sync_decides(void **state)
{
    (void)state;
    assert_end(1, 0, APR_SUCCESS, 0);
    assert_end(0, 0, APR_SUCCESS, 1);
    assert_end(1, 1, APR_SUCCESS, 1);
    assert_end(1, 0, APR_EGENERAL, 1);
}

/* ---- progress ---- */

static void test_marks__the_database_gets_what_is_on_the_disk(void **state)
{
    (void)state;
    run.dirty = 1;
    assert_null(tseed_durable_progress(durable, &run));
    run.is_to_save = 1;
    assert_ptr_equal(tseed_durable_progress(durable, &run), &run.synced);
    tseed_durable_saved(durable, &run);
    assert_false(run.is_to_save);
    assert_true(run.dirty); /* there is more than what was on the disk */
    run.booked = elsewhere;
    assert_ptr_equal(tseed_durable_progress(durable, &run), &run.progress);
    tseed_durable_saved(durable, &run);
    assert_false(run.dirty);
    assert_null(tseed_durable_progress(durable, &run));
}

static void test_marks__an_end_that_promises_tiles_waits(void **state)
{
    (void)state;
    run.progress.state = TSEED_DONE;
    assert_false(tseed_durable_may_end(durable, &run));
    run.may_end = 1;
    assert_true(tseed_durable_may_end(durable, &run));
    run.may_end = 0;
    run.terminated = 1;
    assert_true(tseed_durable_may_end(durable, &run));
    run.terminated = 0;
    run.progress.state = TSEED_ABORTED;
    assert_true(tseed_durable_may_end(durable, &run));
    run.progress.state = TSEED_DONE;
    run.booked = elsewhere;
    assert_true(tseed_durable_may_end(durable, &run));
}

/* ---- the display ---- */

static void assert_shown(const char *reason, int64_t made)
{
    const tseed_display_t *display = tseed_display_create(&context, &session, durable);
    tseed_row_t row;

    tseed_display_run(display, &run);
    assert_true(tseed_board_find(board, task.id, &row));
    assert_string_equal(row.progress.reason, reason);
    assert_int_equal(row.progress.state, TSEED_RUNNING);
    assert_int_equal(row.progress.made, made);
    assert_true(run.dirty);
    run.dirty = 0;
}

/* A run that ends while a sync fails, or the database, says which of them. */
static void test_marks__a_run_says_what_it_waits_for(void **state)
{
    (void)state;
    run.slot = tseed_board_slot_claim(board, &task, &run.progress);
    strcpy(root.trouble, "waits for the disk");
    strcpy(run.progress.reason, "one failed");
    run.progress.made = 7;
    assert_shown("one failed", 7);
    root.is_said = 1;
    assert_shown("one failed", 7); /* it does not end yet */
    run.phase = TSEED_RUN_ENDING;
    assert_shown("waits for the disk", 7);
    run.losses = 1; /* to be recorded first */
    assert_shown("one failed", 7);
    run.losses = 0;
    root.is_said = 0;
    assert_shown("one failed", 7);
    root.is_said = 1;
    session.trouble = "waits for the database";
    assert_shown("waits for the database", 7);
    run.phase = TSEED_RUN_GOING;
    assert_shown("one failed", 7);
    run.losses = 1;
    assert_shown("waits for the database", 7);
    run.terminated = 1; /* by a client: what it says stays */
    run.progress.made = 8;
    session.trouble = NULL;
    assert_shown("waits for the database", 7);
}

/* ---- marks of work ---- */

static void test_marks__shared_files_are_due_once(void **state)
{
    tseed_marks_t *marks = tseed_marks_create(pool);

    (void)state;
    tseed_marks_doubt_shared(marks, here);
    tseed_marks_doubt_shared(marks, here);
    assert_int_equal(marks->shared_due, 1);
    assert_int_equal(marks->to_count->nelts, 0);
    tseed_marks_doubt_shared(marks, elsewhere);
    assert_int_equal(marks->shared_due, 2);
    assert_true(here->shared_due);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_marks__##name, marks_setup, marks_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_level_keeps_its_mark_until_a_later_sync),
        TEST(a_store_without_syncs_waits_for_none),
        TEST(a_sweep_waits_for_a_sync_since_the_last),
        TEST(marks_that_linger_want_a_sync),
        TEST(at_the_end_the_last_sync_decides),
        TEST(the_database_gets_what_is_on_the_disk),
        TEST(an_end_that_promises_tiles_waits),
        TEST(a_run_says_what_it_waits_for),
        TEST(shared_files_are_due_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
