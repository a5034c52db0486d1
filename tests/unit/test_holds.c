/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Page holds: what keeps a job from going to work, what is set about then, and what is booked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "books/tseed_holds.h"

#define LEVEL 5

static apr_pool_t *pool;
static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_runs_t runs;
static tseed_cache_t *cache;
static tseed_marks_t *marks;
static tseed_holds_t *holds;
static tseed_chain_t chain;

static tseed_task_t task;
static tseed_run_t seed, truncation, background; /* all of the same tile set */

static tseed_book_tileset_t *enter(int64_t id, int complete)
{
    const tseed_tileset_record_t record = {.id = id,
                                           .print = (uint64_t)id * 1000003,
                                           .key = "topp:states/EPSG:4326/png/default",
                                           .layer = "topp:states",
                                           .gridset = "EPSG:4326",
                                           .format = "image/png",
                                           .parameters = "{}",
                                           .root = "/cache",
                                           .place = "",
                                           .complete = complete};

    return tseed_book_add(cache->book, &record, &chain, 0);
}

static void make_context(void)
{
    context = (tseed_context_t){.settings = &settings, .pool = pool};
    apr_pool_create(&context.scratch, pool);
    context.calendar = tseed_calendar_begin(apr_time_now(), tseed_clock_monotonic());
}

static void make_runs(void)
{
    task = (tseed_task_t){.id = 12, .layer = "topp:states"};
    seed = truncation = background = (tseed_run_t){.task = &task};
    seed.next_run = &truncation;
    runs = (tseed_runs_t){.tasks = &seed, .background = &background};
    background.is_background = 1;
    seed.booked = truncation.booked = background.booked = enter(1, 1);
}

static int setup(void **state)
{
    (void)state;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    make_context();
    session = (tseed_session_t){0};
    cache = tseed_cache_create(&context, &session);
    cache->book = tseed_book_create(pool);
    chain = (tseed_chain_t){.global = tseed_account_create()};
    marks = tseed_marks_create(pool);
    holds = tseed_holds_create(&(tseed_holds_uses_t){
        .context = &context,
        .session = &session,
        .runs = &runs,
        .cache = cache,
        .marks = marks,
        .durable = tseed_durable_create(cache, pool),
        .origins = tseed_origins_create(&context, &session, cache),
    });
    make_runs();
    return 0;
}

static int teardown(void **state)
{
    const char *problem = tseed_book_validate(cache->book, pool);

    (void)state;
    if (problem) {
        print_error("%s\n", problem);
    }
    apr_pool_destroy(pool);
    free(chain.global);
    return problem != NULL;
}

/* A job in tiles min..max of the row 40, which lies in the pages of row 1. */
static tseed_job_t job_of(tseed_stage_t stage, int64_t min, int64_t max)
{
    const tseed_range_t tiles = {LEVEL, min, 40, max, 40};

    return (tseed_job_t){.request.stage = stage, .metatile = {tiles, tiles}};
}

static void commit(void)
{
    tseed_book_saved(cache->book, TSEED_SAVE_ALL);
}

/* Puts a job under way in a run. */
static void add_job(tseed_run_t *of, tseed_job_t *job)
{
    job->run = of;
    tseed_run_job_add(of, job);
}

/* A job of a run that holds pages whose marks are committed. */
static void begin(tseed_run_t *run, tseed_job_t *job)
{
    add_job(run, job);
    tseed_holds_hold(holds, job);
    commit();
}

static void end(tseed_job_t *job)
{
    tseed_holds_drop(holds, job);
    tseed_run_job_remove(job->run, job);
}

static void assert_marked(int number, int z, int64_t x, int64_t y)
{
    const tseed_count_mark_t *mark = &APR_ARRAY_IDX(marks->to_count, number, tseed_count_mark_t);

    assert_true(number < marks->to_count->nelts);
    assert_ptr_equal(mark->booked, seed.booked);
    assert_int_equal(mark->page.z, z);
    assert_int_equal(mark->page.x, x);
    assert_int_equal(mark->page.y, y);
}

/* ---- before the first tile ---- */

static void test_holds__a_mark_comes_before_the_first_tile(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 0, 3);

    (void)state;
    add_job(&seed, &cut);
    tseed_holds_hold(holds, &cut);
    assert_true(session.must_record);
    assert_int_equal(tseed_book_changes(cache->book, TSEED_SAVE_MARKS), 1);
    assert_false(tseed_holds_may_work(holds, &cut));
    commit();
    assert_true(tseed_holds_may_work(holds, &cut));
    assert_int_equal(marks->to_count->nelts, 0);
    end(&cut);
}

/* The second job in a page finds the mark of the first one. */
static void test_holds__a_marked_page_is_not_marked_again(void **state)
{
    tseed_job_t first = job_of(TSEED_STAGE_CUT, 0, 3), second = job_of(TSEED_STAGE_CUT, 4, 7);

    (void)state;
    begin(&seed, &first);
    session.must_record = 0;
    add_job(&seed, &second);
    tseed_holds_hold(holds, &second);
    assert_false(session.must_record);
    assert_true(tseed_holds_may_work(holds, &second));
    end(&first);
    end(&second);
}

/* Tiles 30 to 33 lie in pages 0 and 1. The disk may have tiles there that are not in the book. */
static void test_holds__pages_in_doubt_are_counted_first(void **state)
{
    const tseed_effect_t nothing = {0, 0, 0, 0};
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 30, 33);
    tseed_effect_t difference;

    (void)state;
    seed.booked = enter(2, 0);
    begin(&seed, &cut);
    assert_false(tseed_holds_may_work(holds, &cut));
    assert_int_equal(marks->to_count->nelts, 2);
    assert_marked(0, LEVEL, 0, 1);
    assert_marked(1, LEVEL, 1, 1);
    for (int x = 0; x < 2; x++) {
        assert_false(tseed_holds_may_work(holds, &cut));
        tseed_book_count(&difference, cache->book, seed.booked, &(tseed_page_t){LEVEL, x, 1},
                         &nothing, 0);
    }
    assert_true(tseed_holds_may_work(holds, &cut));
    end(&cut);
}

/* Else nobody could count it; and whether its mark is committed does not matter. */
static void test_holds__a_count_goes_to_work_in_a_page_in_doubt(void **state)
{
    tseed_job_t count = job_of(TSEED_STAGE_COUNT, 0, 31);

    (void)state;
    background.booked = enter(2, 0);
    add_job(&background, &count);
    tseed_holds_hold(holds, &count);
    assert_true(tseed_holds_may_work(holds, &count));
    assert_int_equal(marks->to_count->nelts, 0);
    end(&count);
}

static void test_holds__shared_files_are_counted_before_tiles_are_linked(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 0, 3), removal = job_of(TSEED_STAGE_REMOVE, 0, 3);

    (void)state;
    begin(&seed, &cut);
    begin(&truncation, &removal);
    seed.booked->shared_due = 1;
    marks->shared_due = 1;
    assert_true(tseed_holds_may_work(holds, &removal));
    tseed_run_job_remove(&truncation, &removal);
    assert_false(tseed_holds_may_work(holds, &cut));
    assert_int_equal(marks->shared_due, 1); /* it was due already */
    assert_marked(0, -1, 0, 0);
    seed.booked->shared_due = 0;
    assert_true(tseed_holds_may_work(holds, &cut));
    tseed_holds_drop(holds, &removal);
    end(&cut);
}

static void test_holds__nothing_is_cut_during_a_recount(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 0, 3), count = job_of(TSEED_STAGE_COUNT, 64, 95);

    (void)state;
    begin(&seed, &cut);
    begin(&background, &count);
    marks->is_recounting = 1;
    assert_false(tseed_holds_may_work(holds, &cut));
    assert_true(tseed_holds_may_work(holds, &count));
    marks->is_recounting = 0;
    assert_true(tseed_holds_may_work(holds, &cut));
    end(&count);
    end(&cut);
}

/* Pages that are still to be loaded can't be held. */
static void test_holds__nothing_is_held_while_the_book_is_loaded(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 0, 3);

    (void)state;
    cache->is_loading = 1;
    add_job(&background, &cut);
    tseed_holds_hold(holds, &cut);
    assert_false(cut.accounts.holds);
    assert_int_equal(tseed_book_pages(cache->book), 0);
    assert_false(tseed_holds_may_work(holds, &cut));
    end(&cut);
}

/* ---- one kind of work at a time ---- */

static void test_holds__other_work_in_the_same_tiles_goes_first(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 0, 3), count = job_of(TSEED_STAGE_COUNT, 0, 31);

    (void)state;
    begin(&seed, &cut);
    begin(&background, &count);
    count.accounts.at_work = 1;
    assert_false(tseed_holds_may_work(holds, &cut));
    count.accounts.at_work = 0;
    cut.accounts.at_work = 1;
    assert_false(tseed_holds_may_work(holds, &count));
    end(&count);
    end(&cut);
}

static void test_holds__work_elsewhere_is_in_nobodys_way(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 32, 35), count = job_of(TSEED_STAGE_COUNT, 0, 31);

    (void)state;
    begin(&seed, &cut);
    begin(&background, &count);
    count.accounts.at_work = 1;
    assert_true(tseed_holds_may_work(holds, &cut)); /* in other tiles */
    count.metatile = cut.metatile;
    assert_false(tseed_holds_may_work(holds, &cut));
    background.booked = enter(2, 1);
    assert_true(tseed_holds_may_work(holds, &cut)); /* in another tile set */
    background.booked = seed.booked;
    count.metatile = job_of(TSEED_STAGE_COUNT, 0, 31).metatile;
    end(&count);
    end(&cut);
}

/* Tiles of the whole tile set may be names of a shared file. */
static void test_holds__a_count_of_shared_files_is_alone_in_the_tile_set(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 32, 35);
    tseed_job_t count = job_of(TSEED_STAGE_COUNT_SHARED, 0, -1);

    (void)state;
    begin(&seed, &cut);
    add_job(&background, &count);
    cut.accounts.at_work = 1;
    assert_false(tseed_holds_may_work(holds, &count));
    cut.accounts.at_work = 0;
    count.accounts.at_work = 1;
    assert_false(tseed_holds_may_work(holds, &cut));
    tseed_run_job_remove(&background, &count);
    end(&cut);
}

/* ---- pins ---- */

/* Only a thread at work keeps a page from being evicted, however often its job is pinned. */
static void test_holds__a_page_is_pinned_while_a_thread_is_at_work(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 30, 33), unheld = job_of(TSEED_STAGE_CUT, 0, 3);

    (void)state;
    begin(&seed, &cut);
    assert_false(tseed_book_has_pins(cache->book));
    tseed_holds_pin(holds, &unheld);
    assert_false(tseed_book_has_pins(cache->book));
    tseed_holds_pin(holds, &cut);
    tseed_holds_pin(holds, &cut);
    assert_true(tseed_book_has_pins(cache->book));
    tseed_holds_unpin(holds, &cut);
    assert_false(tseed_book_has_pins(cache->book));
    tseed_holds_pin(holds, &cut);
    end(&cut);
    assert_false(tseed_book_has_pins(cache->book));
}

/* Two jobs at work in a page: one of them ends. */
static void test_holds__each_job_has_its_own_pins(void **state)
{
    tseed_job_t first = job_of(TSEED_STAGE_CUT, 0, 3), second = job_of(TSEED_STAGE_CUT, 4, 7);

    (void)state;
    begin(&seed, &first);
    begin(&seed, &second);
    tseed_holds_pin(holds, &first);
    tseed_holds_pin(holds, &second);
    tseed_holds_unpin(holds, &first);
    tseed_holds_unpin(holds, &first);
    end(&first);
    assert_true(tseed_book_has_pins(cache->book));
    tseed_holds_unpin(holds, &second);
    assert_false(tseed_book_has_pins(cache->book));
    end(&second);
}

/* ---- levels ---- */

static void test_holds__a_level_is_marked_before_its_first_tile_goes(void **state)
{
    tseed_job_t removal = job_of(TSEED_STAGE_REMOVE, 0, 1000);

    (void)state;
    add_job(&truncation, &removal);
    tseed_holds_mark_level(holds, &removal);
    assert_true(session.must_record);
    assert_false(tseed_holds_may_work(holds, &removal));
    commit();
    assert_true(tseed_holds_may_work(holds, &removal));
    session.must_save = 0;
    end(&removal);
    assert_int_equal(truncation.booked->record.doubtful, 0);
    assert_true(session.must_save);
}

/* Two truncates, one after the other, in the same level. */
static void test_holds__a_level_keeps_its_mark_for_another_job(void **state)
{
    tseed_job_t first = job_of(TSEED_STAGE_REMOVE, 0, 9),
                second = job_of(TSEED_STAGE_REMOVE, 5, 20);

    (void)state;
    add_job(&truncation, &first);
    add_job(&seed, &second);
    tseed_holds_mark_level(holds, &first);
    tseed_holds_mark_level(holds, &second);
    commit();
    end(&first);
    assert_int_equal(truncation.booked->record.doubtful, UINT64_C(1) << LEVEL);
    end(&second);
    assert_int_equal(truncation.booked->record.doubtful, 0);
}

/* ---- what is booked ---- */

static const tseed_page_t page_of_row = {LEVEL, 0, 1};

/* Two tiles, 300 bytes each, that are in the book. */
static void load_page(void)
{
    const tseed_page_record_t record = {
        .tileset = 1, .page = page_of_row, .usage = {2, 2, 600, 8192}};

    tseed_book_load(cache->book, truncation.booked, &record);
}

static tseed_effect_t usage_of_page(void)
{
    tseed_book_page_t found;

    assert_true(tseed_book_page(&found, cache->book, truncation.booked, &page_of_row));
    return found.usage;
}

/* The bytes of a removed tile are free again when they are out of the book, not before. */
static void test_holds__books_what_a_job_has_removed(void **state)
{
    const tseed_effect_t gone = {-1, -1, -300, -4096};
    tseed_job_t removal = job_of(TSEED_STAGE_REMOVE, 0, 0);
    unsigned cursor = 0;

    (void)state;
    load_page();
    begin(&truncation, &removal);
    tseed_tally_add(&removal.result.tally, &page_of_row, &gone);
    removal.result.freed = (tseed_amount_t){4096, 1};
    assert_int_equal(tseed_account_used(chain.global).bytes, 8192);
    tseed_holds_book(holds, &removal);
    assert_int_equal(tseed_account_used(chain.global).bytes, 4096);
    assert_int_equal(tseed_account_used(chain.global).files, 1);
    assert_int_equal(usage_of_page().names, 1);
    assert_int_equal(usage_of_page().bytes, 300);
    assert_null(tseed_tally_next(&removal.result.tally, &cursor)); /* it is not booked twice */
    assert_int_equal(removal.result.freed.bytes, 0);
    end(&removal);
    free(removal.result.tally.lines);
}

/* Tiles 30 to 33 lie in pages 0 and 1. */
static void test_holds__a_job_that_ends_holds_nothing(void **state)
{
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 30, 33);
    tseed_book_page_t found;

    (void)state;
    begin(&seed, &cut);
    for (int x = 0; x < 2; x++) {
        tseed_book_page(&found, cache->book, seed.booked, &(tseed_page_t){LEVEL, x, 1});
        assert_int_equal(found.held, 1);
    }
    end(&cut);
    tseed_holds_drop(holds, &cut);
    for (int x = 0; x < 2; x++) {
        tseed_book_page(&found, cache->book, seed.booked, &(tseed_page_t){LEVEL, x, 1});
        assert_int_equal(found.held, 0);
    }
}

/* Tiles on both sides of the edge of two pages, and a shared file of 4096 bytes. */
static void test_holds__books_each_page_and_the_shared_files_once(void **state)
{
    const tseed_effect_t made = {2, 0, 0, 0}, master = {0, 1, 70, 4096};
    tseed_job_t cut = job_of(TSEED_STAGE_CUT, 30, 33);

    (void)state;
    begin(&seed, &cut);
    for (int x = 0; x < 2; x++) {
        tseed_tally_add(&cut.result.tally, &(tseed_page_t){LEVEL, x, 1}, &made);
    }
    cut.result.shared = master;
    tseed_account_charge(&chain, (tseed_amount_t){4096, 1});
    for (int i = 0; i < 2; i++) { /* the second time there is nothing left to be booked */
        tseed_holds_book(holds, &cut);
        assert_int_equal(seed.booked->record.paged.names, 4);
        assert_int_equal(seed.booked->record.shared.files, 1);
        assert_int_equal(seed.booked->record.shared.bytes, 70);
        assert_int_equal(tseed_account_used(chain.global).bytes, 4096);
    }
    assert_int_equal(marks->shared_due, 0);
    end(&cut);
    free(cut.result.tally.lines);
}

/* A page is as old as its oldest tile: a task has made both tiles of this one again. */
static void assert_renewed(tseed_job_t *job, int is_renewed)
{
    tseed_book_page_t found;

    tseed_holds_book(holds, job);
    tseed_book_page(&found, cache->book, truncation.booked, &page_of_row);
    assert_int_equal(found.written, is_renewed ? 1000000000 : 0);
}

static void test_holds__only_a_cut_renews_a_page(void **state)
{
    static const tseed_stage_t others[] = {TSEED_STAGE_CHECK, TSEED_STAGE_FETCH, TSEED_STAGE_DERIVE,
                                           TSEED_STAGE_REMOVE};
    tseed_job_t job = job_of(TSEED_STAGE_CUT, 0, 1);

    (void)state;
    load_page();
    task.type = TSEED_RESEED;
    seed.progress.started = apr_time_from_sec(1000000000);
    begin(&seed, &job);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        job.request.stage = others[i];
        assert_renewed(&job, 0);
    }
    job.request.stage = TSEED_STAGE_CUT;
    job.result.outcome = TSEED_JOB_LACKS;
    assert_renewed(&job, 0);
    job.result.outcome = TSEED_JOB_OK;
    job.accounts.is_stale = 1;
    assert_renewed(&job, 0);
    job.accounts.is_stale = 0;
    task.type = TSEED_SEED;
    assert_renewed(&job, 0);
    task.type = TSEED_RESEED;
    assert_renewed(&job, 1);
    end(&job);
}

/* Somebody else has removed tiles that the job has found there: the page is counted again. */
static void test_holds__a_change_that_can_t_be_true_puts_its_page_in_doubt(void **state)
{
    const tseed_effect_t too_much = {-3, -3, -900, -12288};
    tseed_job_t removal = job_of(TSEED_STAGE_REMOVE, 0, 2);

    (void)state;
    load_page();
    begin(&truncation, &removal);
    tseed_tally_add(&removal.result.tally, &page_of_row, &too_much);
    removal.result.freed = (tseed_amount_t){12288, 3};
    tseed_holds_book(holds, &removal);
    assert_int_equal(tseed_book_in_doubt(cache->book), 1);
    assert_int_equal(tseed_account_used(chain.global).bytes, 8192);
    assert_false(tseed_holds_may_work(holds, &removal));
    assert_marked(0, LEVEL, 0, 1);
    end(&removal);
    free(removal.result.tally.lines);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_holds__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_mark_comes_before_the_first_tile),
        TEST(a_marked_page_is_not_marked_again),
        TEST(pages_in_doubt_are_counted_first),
        TEST(a_count_goes_to_work_in_a_page_in_doubt),
        TEST(shared_files_are_counted_before_tiles_are_linked),
        TEST(nothing_is_cut_during_a_recount),
        TEST(nothing_is_held_while_the_book_is_loaded),
        TEST(other_work_in_the_same_tiles_goes_first),
        TEST(work_elsewhere_is_in_nobodys_way),
        TEST(a_count_of_shared_files_is_alone_in_the_tile_set),
        TEST(a_page_is_pinned_while_a_thread_is_at_work),
        TEST(each_job_has_its_own_pins),
        TEST(a_level_is_marked_before_its_first_tile_goes),
        TEST(a_level_keeps_its_mark_for_another_job),
        TEST(books_what_a_job_has_removed),
        TEST(a_job_that_ends_holds_nothing),
        TEST(books_each_page_and_the_shared_files_once),
        TEST(only_a_cut_renews_a_page),
        TEST(a_change_that_can_t_be_true_puts_its_page_in_doubt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
