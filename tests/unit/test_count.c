/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Counts: what stays in doubt when a count fails. The modules that begin jobs are replaced here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/tseed_clock.h"
#include "books/tseed_count.h"
#include "pool_fixture.h"

#define TILESETS 2

static tseed_book_tileset_t *tilesets[TILESETS];
static tseed_run_t background[TILESETS];
static tseed_job_t job; /* the last that was begun */
static int begun;       /* jobs */
static int under_way;
static int configured;

static tseed_job_t *job_begin(const tseed_job_what_t *what)
{
    job = (tseed_job_t){.run = what->run,
                        .request.stage = what->first,
                        .metatile.wanted = {.z = -1},
                        .is_recount = what->is_recount,
                        .report = what->report,
                        .report_module = what->report_module};
    begun++;
    under_way++;
    return &job;
}

tseed_run_t *tseed_background_of(tseed_background_t *module, tseed_book_tileset_t *booked)
{
    (void)module;
    return configured ? &background[booked->number] : NULL;
}

tseed_job_t *tseed_page_jobs_begin(tseed_page_jobs_t *page_jobs, const tseed_job_what_t *what,
                                   const tseed_page_t *page)
{
    (void)page_jobs;
    job_begin(what)->metatile.wanted =
        (tseed_range_t){page->z, page->x * TSEED_PAGE_SIDE, page->y * TSEED_PAGE_SIDE,
                        (page->x + 1) * TSEED_PAGE_SIDE - 1, (page->y + 1) * TSEED_PAGE_SIDE - 1};
    return &job;
}

tseed_job_t *tseed_page_jobs_begin_shared(tseed_page_jobs_t *page_jobs,
                                          const tseed_job_what_t *what,
                                          tseed_book_tileset_t *booked)
{
    tseed_job_what_t whole = *what;

    (void)page_jobs;
    whole.run = &background[booked->number];
    return configured ? job_begin(&whole) : NULL;
}

void tseed_page_jobs_take(tseed_page_jobs_t *page_jobs, const tseed_job_t *taken)
{
    (void)page_jobs;
    (void)taken;
    under_way--;
}

void tseed_page_jobs_pass_over(tseed_page_jobs_t *page_jobs, tseed_job_t *hanging)
{
    (void)page_jobs;
    under_way -= !hanging->accounts.is_overdue;
    hanging->accounts.is_overdue = 1;
}

int tseed_page_jobs_count(const tseed_page_jobs_t *page_jobs)
{
    (void)page_jobs;
    return under_way;
}

void tseed_jobs_put_back(tseed_jobs_t *jobs, tseed_job_t *taken)
{
    (void)jobs;
    (void)taken;
}

static void no_store(void *flow, tseed_job_t *failed)
{
    (void)flow;
    (void)failed;
}

void tseed_holds_book(tseed_holds_t *holds, tseed_job_t *swept)
{
    (void)holds;
    (void)swept;
}

#define NOW INT64_C(1790000000)

int64_t tseed_holds_date(const tseed_holds_t *holds)
{
    (void)holds;
    return NOW;
}

static tseed_session_t session;
static tseed_cache_t cache;
static tseed_chain_t chain;
static tseed_runs_t runs;
static tseed_marks_t *marks;
static tseed_count_t *count;

/* The tile sets lie in two store roots. */
static void add_tilesets(void)
{
    for (int i = 0; i < TILESETS; i++) {
        const tseed_tileset_record_t record = {.id = i + 1,
                                               .print = (uint64_t)(i + 1) * 1000003,
                                               .key = i ? "rivers" : "roads",
                                               .layer = "states",
                                               .gridset = "EPSG:4326",
                                               .format = "image/png",
                                               .parameters = "{}",
                                               .root = i ? "/ssd" : "/cache",
                                               .place = "",
                                               .complete = 1};

        tilesets[i] = tseed_book_add(cache.book, &record, &chain, 0);
        background[i] = (tseed_run_t){.booked = tilesets[i]};
    }
}

static int setup(void **state)
{
    (void)state;
    cache = (tseed_cache_t){.book = tseed_book_create(pool)};
    marks = tseed_marks_create(pool);
    begun = under_way = 0;
    configured = 1;
    add_tilesets();
    count = tseed_count_create(&(tseed_count_uses_t){.session = &session,
                                                     .runs = &runs,
                                                     .cache = &cache,
                                                     .marks = marks,
                                                     .no_store = no_store},
                               pool);
    return 0;
}

static void feed(tseed_client_t *client)
{
    client->feed(client->module);
}

/* Gives the job back that was begun last. */
static void end(tseed_outcome_t outcome)
{
    tseed_client_t *client = tseed_count_client(count);

    job.result.outcome = outcome;
    client->take(client->module, &job);
}

static void assert_begun(int jobs, int tileset, tseed_stage_t stage)
{
    assert_int_equal(begun, jobs);
    assert_ptr_equal(job.run, &background[tileset]);
    assert_int_equal(job.request.stage, stage);
}

static void test_count__of_shared_files_that_failed_is_still_due(void **state)
{
    (void)state;
    tseed_marks_count_shared(marks, tilesets[0]);
    feed(tseed_count_marks_client(count));
    assert_begun(1, 0, TSEED_STAGE_COUNT_SHARED);
    assert_false(tilesets[0]->shared_due);
    end(TSEED_JOB_NO_STORE);
    assert_true(tilesets[0]->shared_due);
    assert_int_equal(marks->shared_due, 1);
    feed(tseed_count_client(count)); /* not before a minute has passed */
    assert_int_equal(begun, 1);
    tseed_marks_count_shared(marks, tilesets[0]); /* a job waits for the count */
    feed(tseed_count_marks_client(count));
    assert_begun(2, 0, TSEED_STAGE_COUNT_SHARED);
    job.result.counted = (tseed_effect_t){1, 1, 70, 4096};
    end(TSEED_JOB_OK);
    assert_false(tilesets[0]->shared_due);
    assert_int_equal(marks->shared_due, 0);
    assert_int_equal(tilesets[0]->record.shared.files, 1);
    assert_int_equal(tilesets[0]->record.shared.allocated, 4096);
}

/* Shared files and pages of another tile set are counted at once. */
static void test_count__that_failed_puts_off_no_other_tile_set(void **state)
{
    const tseed_page_t page = {5, 3, 4};

    (void)state;
    for (int i = 0; i < TILESETS; i++) {
        tseed_book_load(cache.book, tilesets[i],
                        &(tseed_page_record_t){
                            .tileset = i + 1, .page = page, .usage = {1, 1, 70, 4096}, .dirty = 1});
        tseed_marks_doubt_shared(marks, tilesets[i]);
    }
    feed(tseed_count_client(count));
    assert_begun(1, 0, TSEED_STAGE_COUNT_SHARED);
    end(TSEED_JOB_NO_STORE);
    feed(tseed_count_client(count));
    assert_begun(2, 1, TSEED_STAGE_COUNT_SHARED);
    end(TSEED_JOB_OK);
    feed(tseed_count_client(count));
    assert_int_equal(begun, 2);
    feed(tseed_count_doubts_client(count));
    assert_begun(3, 1, TSEED_STAGE_COUNT);
    job.metatile.wanted = (tseed_range_t){5, 96, 128, 127, 159};
    job.result.counted = (tseed_effect_t){1, 1, 70, 4096};
    end(TSEED_JOB_OK);
    feed(tseed_count_doubts_client(count));
    feed(tseed_count_doubts_client(count));
    assert_int_equal(begun, 3);
    assert_int_equal(tseed_book_in_doubt(cache.book), 1);
}

static void test_count__in_a_store_that_hangs_keeps_no_other_waiting(void **state)
{
    tseed_client_t *client = tseed_count_client(count);

    (void)state;
    tseed_marks_doubt_shared(marks, tilesets[0]);
    tseed_marks_doubt_shared(marks, tilesets[1]);
    feed(client);
    assert_begun(1, 0, TSEED_STAGE_COUNT_SHARED);
    runs.background = &background[0];
    background[0].jobs = &job;
    client->tick(client->module, tseed_clock_monotonic());
    feed(client);
    assert_int_equal(begun, 1);
    background[0].is_hung = 1;
    client->tick(client->module, tseed_clock_monotonic());
    feed(client);
    assert_begun(2, 1, TSEED_STAGE_COUNT_SHARED);
    runs.background = NULL;
}

/* After a crash no tile is written before all is counted. A store that hangs is counted when it
 * answers; until then no tile is written there, and tiles are written elsewhere. */
static void test_count__leaves_out_a_store_that_hangs_for_now(void **state)
{
    tseed_client_t *client = tseed_count_client(count);
    const tseed_page_t pages[] = {{5, 3, 4}, {5, 3, 5}};
    tseed_job_t hanging;

    (void)state;
    for (int i = 0; i < 2; i++) {
        tseed_book_load(cache.book, tilesets[0],
                        &(tseed_page_record_t){
                            .tileset = 1, .page = pages[i], .usage = {1, 1, 70, 4096}, .dirty = 1});
    }
    tseed_count_recount(count);
    marks->shared_due = 0;
    feed(client);
    assert_int_equal(begun, 2);
    feed(client);
    assert_true(marks->is_recounting);
    end(TSEED_JOB_OK); /* of the last; the first one hangs */
    hanging = job;
    hanging.accounts.is_overdue = 0;
    hanging.metatile.wanted = (tseed_range_t){5, 96, 128, 127, 159};
    runs.background = &background[0];
    background[0].jobs = &hanging;
    background[0].is_hung = 1;
    client->tick(client->module, tseed_clock_monotonic());
    feed(client);
    assert_false(marks->is_recounting);
    assert_true(tilesets[0]->is_late);
    assert_false(tilesets[1]->is_late);
    feed(client);
    feed(tseed_count_doubts_client(count));
    assert_int_equal(begun, 2);

    background[0].is_hung = 0; /* it answers */
    feed(client);
    assert_true(tilesets[0]->is_late); /* the job that hung is not back */
    background[0].jobs = NULL;
    tseed_book_count(&(tseed_effect_t){0}, cache.book, tilesets[0], &pages[0],
                     &(tseed_effect_t){1, 1, 70, 4096}, 0);
    tseed_book_count(&(tseed_effect_t){0}, cache.book, tilesets[0], &pages[1],
                     &(tseed_effect_t){1, 1, 70, 4096}, 0);
    feed(client);
    assert_false(tilesets[0]->is_late);
    assert_false(marks->is_recounting);
    runs.background = NULL;
}

/* The tile set may be configured again. */
static void test_count__passes_over_a_tile_set_that_no_job_can_be_begun_in(void **state)
{
    (void)state;
    tseed_marks_doubt_shared(marks, tilesets[0]);
    configured = 0;
    feed(tseed_count_client(count));
    assert_int_equal(begun, 0);
    configured = 1;
    tseed_marks_doubt_shared(marks, tilesets[1]);
    feed(tseed_count_client(count));
    assert_begun(1, 1, TSEED_STAGE_COUNT_SHARED);
    end(TSEED_JOB_OK);
    feed(tseed_count_client(count)); /* that was the last */
    feed(tseed_count_client(count));
    assert_begun(2, 0, TSEED_STAGE_COUNT_SHARED);
    assert_int_equal(marks->shared_due, 0);
}

/* The count of a page has found a tile of that date. */
static void assert_written(int64_t date, int64_t written)
{
    const tseed_page_t page = {5, 3, 4};
    tseed_book_page_t found;

    tseed_count_page(count, tilesets[0], &page);
    job.metatile.wanted = (tseed_range_t){5, 96, 128, 127, 159};
    job.result.counted = (tseed_effect_t){1, 1, 70, 4096};
    job.result.oldest = date;
    end(TSEED_JOB_OK);
    assert_true(tseed_book_page(&found, cache.book, tilesets[0], &page));
    assert_int_equal(found.written, written);
}

/* A clock of the disk may be a little ahead; what was written next year nobody knows. */
static void test_count__a_file_is_as_old_as_its_date(void **state)
{
    (void)state;
    assert_written(NOW - 86400, NOW - 86400);
    assert_written(NOW, NOW);
    assert_written(NOW + 2, NOW);
    assert_written(NOW + 3600, 0);
    assert_written(-1, 0);
    assert_written(INT64_C(5000000000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_count__of_shared_files_that_failed_is_still_due, setup),
        cmocka_unit_test_setup(test_count__passes_over_a_tile_set_that_no_job_can_be_begun_in,
                               setup),
        cmocka_unit_test_setup(test_count__that_failed_puts_off_no_other_tile_set, setup),
        cmocka_unit_test_setup(test_count__in_a_store_that_hangs_keeps_no_other_waiting, setup),
        cmocka_unit_test_setup(test_count__leaves_out_a_store_that_hangs_for_now, setup),
        cmocka_unit_test_setup(test_count__a_file_is_as_old_as_its_date, setup),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
