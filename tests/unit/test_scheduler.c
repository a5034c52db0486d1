/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The scheduler: which PENDING tasks begin, with what, and what others say. The database, the tasks
 * and the books are replaced; the queue and the lending of threads are real. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WITH_BOARD
#include "board_memory.h"
#include "flow_fixture.h"
#include "protocol/tseed_task_check.h"
#include "seeder/tseed_scheduler.h"

#define TASKS 3

static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t cache;
static tseed_task_t tasks[TASKS];
static tseed_progress_t progress; /* of each, as the database has it */
static tseed_entry_t entries[TASKS];
static tseed_runs_t runs;
static tseed_layer_t layer;
static tseed_upstream_t upstream;
static tseed_subset_t subset;
static tseed_book_tileset_t booked;
static tseed_board_t *board;
static tseed_scheduler_t *scheduler;
static tseed_run_t *begun[TASKS];
static int begun_count;

/* ---- what the scheduler uses ---- */

static apr_status_t load_status, claim_status;
static int is_beaten; /* the first claim: a client has terminated the task */
static const char *gone;

apr_status_t tseed_state_task_get(tseed_state_t *state, tseed_task_t **task,
                                  tseed_progress_t *found, int64_t id, apr_pool_t *p)
{
    (void)state;
    (void)p;
    *task = &tasks[id - 1];
    *found = progress;
    return load_status;
}

const char *tseed_state_error(const tseed_state_t *state)
{
    (void)state;
    return "it fails";
}

apr_status_t tseed_state_failures(tseed_state_t *state, apr_array_header_t **rows, int64_t *total,
                                  int64_t task, const tseed_failure_query_t *query, apr_pool_t *p)
{
    (void)state;
    (void)rows;
    (void)total;
    (void)task;
    (void)query;
    (void)p;
    return APR_EGENERAL;
}

int tseed_job_trace_is_row(const tseed_row_t *row, const tseed_task_t *task,
                           const tseed_gridset_t *gridset)
{
    (void)gridset;
    return row->id == task->id;
}

const char *tseed_task_tileset(tseed_tileset_t *tileset, const tseed_task_t *task,
                               const tseed_catalog_t *catalog, apr_pool_t *p)
{
    (void)task;
    (void)catalog;
    (void)p;
    tileset->layer = &layer;
    tileset->subset = &subset;
    return gone;
}

apr_status_t tseed_cache_tileset(tseed_book_tileset_t **found, tseed_cache_t *of,
                                 const tseed_tileset_t *tileset)
{
    (void)of;
    (void)tileset;
    *found = &booked;
    return APR_SUCCESS;
}

void tseed_cache_keep(tseed_cache_t *of, tseed_book_tileset_t *kept)
{
    (void)of;
    (void)kept;
}

void tseed_capabilities_check_warn(const tseed_capabilities_check_t *check, tseed_run_t *run)
{
    (void)check;
    run->warning = "the layer is not there";
}

const char *tseed_page_loader_reason(const tseed_page_loader_t *loader)
{
    (void)loader;
    return "the usage is being read";
}

int64_t tseed_savings_truncate(tseed_savings_t *savings, const tseed_tileset_t *tileset)
{
    (void)savings;
    (void)tileset;
    return 5;
}

tseed_entry_t *tseed_tasks_first(const tseed_tasks_t *of)
{
    (void)of;
    return entries;
}

static int count_pending(int only_truncates)
{
    int count = 0;

    for (const tseed_entry_t *entry = entries; entry; entry = entry->next) {
        count += !entry->run && (!only_truncates || entry->type == TSEED_TRUNCATE);
    }
    return count;
}

int tseed_tasks_pending(const tseed_tasks_t *of)
{
    (void)of;
    return count_pending(0);
}

int tseed_tasks_pending_truncates(const tseed_tasks_t *of)
{
    (void)of;
    return count_pending(1);
}

apr_status_t tseed_tasks_claim(tseed_tasks_t *of, tseed_entry_t **found, int count)
{
    (void)of;
    (void)count;
    found[0] = is_beaten ? NULL : found[0];
    return claim_status;
}

void tseed_tasks_begin(tseed_tasks_t *of, tseed_entry_t *entry, tseed_run_t *run)
{
    (void)of;
    entry->run = run;
    run->next_run = runs.tasks;
    run->threads = run->task->type != TSEED_TRUNCATE;
    runs.tasks = run;
    runs.count++;
    begun[begun_count++] = run;
}

void tseed_tasks_forget(tseed_tasks_t *of, int64_t id)
{
    (void)of;
    entries[id - 1].terminated = 1;
}

/* ---- PENDING tasks ---- */

static int setup(void **state)
{
    tseed_display_t *display;

    (void)state;
    forget_neighbours();
    settings = (tseed_settings_t){.threads = 2};
    board = make_board(TASKS, 1);
    context =
        (tseed_context_t){.settings = &settings, .pool = pool, .scratch = pool, .board = board};
    session = (tseed_session_t){.state = (void *)&session};
    cache = (tseed_cache_t){.book = tseed_book_create(pool)};
    runs = (tseed_runs_t){.tasks = NULL};
    progress = (tseed_progress_t){.state = TSEED_PENDING};
    layer = (tseed_layer_t){.name = "states", .source.count = 1};
    layer.source.addresses[0].upstream = &upstream;
    upstream.connections = 4;
    subset = (tseed_subset_t){.gridset = tseed_gridset_builtin("EPSG:900913"), .zoom_last = 3};
    subset.extent = subset.gridset->extent;
    load_status = claim_status = APR_SUCCESS;
    is_beaten = begun_count = 0;
    gone = NULL;
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (tseed_task_t){.id = i + 1,
                                  .type = TSEED_SEED,
                                  .layer = "states",
                                  .gridset = "EPSG:900913",
                                  .format = "image/png",
                                  .has_area = 1,
                                  .bounds = subset.extent,
                                  .zoom_start = 3,
                                  .zoom_stop = 3,
                                  .meta_width = 2,
                                  .meta_height = 2,
                                  .tiles_total = 64,
                                  .thread_count = 1,
                                  .created = 7};
        entries[i] = (tseed_entry_t){.id = i + 1,
                                     .type = TSEED_SEED,
                                     .layer = (char *)"states",
                                     .tileset = (char *)"states png",
                                     .slot = tseed_board_slot_claim(board, &tasks[i], &progress),
                                     .next = i + 1 < TASKS ? &entries[i + 1] : NULL};
    }
    display = tseed_display_create(&context, &session, tseed_durable_create(&cache, pool));
    scheduler = tseed_scheduler_create(
        &(tseed_scheduler_uses_t){.context = &context,
                                  .session = &session,
                                  .runs = &runs,
                                  .cache = &cache,
                                  .display = display,
                                  .ends = tseed_ends_create(&(tseed_ends_uses_t){
                                      .context = &context, .session = &session, .runs = &runs})});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(board->segment);
    return 0;
}

static const char *shown(int task)
{
    static tseed_row_t row;

    assert_true(tseed_board_read(board, (unsigned)entries[task].slot, &row));
    return row.progress.reason;
}

static void tick(void)
{
    tseed_client_t *client = tseed_scheduler_client(scheduler);

    client->tick(client->module, now);
}

/* ---- what begins ---- */

static void test_scheduler__begins_as_many_tasks_as_threads_are_free(void **state)
{
    (void)state;
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun_count, 2);
    assert_int_equal(begun[0]->task->id, 1);
    assert_int_equal(begun[0]->progress.state, TSEED_RUNNING);
    assert_true(begun[0]->progress.started > 0);
    assert_int_equal(begun[0]->begun, now);
    assert_int_equal(begun[0]->measured_at, now);
    assert_int_equal(begun[0]->positions.count, 16);
    assert_string_equal(begun[0]->progress.reason, "the layer is not there");
    assert_non_null(begun[0]->views);
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun_count, 2);
}

static void test_scheduler__a_truncate_needs_no_thread(void **state)
{
    (void)state;
    settings.threads = 1;
    tasks[2].type = entries[2].type = TSEED_TRUNCATE;
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun_count, 2);
    assert_int_equal(begun[0]->task->id, 3);
    assert_int_equal(begun[0]->progress.forgotten, 5);
}

static void test_scheduler__a_termination_that_came_first_wins(void **state)
{
    (void)state;
    is_beaten = 1;
    settings.threads = 1;
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun_count, 0);
}

static void test_scheduler__nothing_begins_that_is_not_claimed(void **state)
{
    (void)state;
    claim_status = APR_EGENERAL;
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun_count, 0);
    claim_status = APR_SUCCESS;
    load_status = APR_EGENERAL;
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun_count, 0);
    assert_non_null(session.trouble);
    load_status = APR_SUCCESS;
    tseed_scheduler_turn(scheduler); /* too early to ask the database again */
    assert_int_equal(begun_count, 0);
    now = session.retry_at;
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun_count, 2);
}

static void test_scheduler__a_task_that_the_database_lost_is_forgotten(void **state)
{
    (void)state;
    load_status = APR_NOTFOUND;
    tseed_scheduler_turn(scheduler);
    assert_true(entries[0].terminated);
    assert_null(session.trouble);
}

static void test_scheduler__waits_until_the_books_are_read(void **state)
{
    (void)state;
    cache.is_loading = 1;
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun_count, 0);
    tick();
    assert_string_equal(shown(0), "the usage is being read");
}

/* ---- what a run begins with ---- */

static void test_scheduler__goes_on_from_the_board_where_that_is_ahead(void **state)
{
    tseed_progress_t ahead = {.state = TSEED_RUNNING, .made = 8};

    (void)state;
    tseed_progress_finish(&ahead, 0);
    tseed_progress_finish(&ahead, 1);
    tseed_board_slot_update(board, entries[0].slot, &ahead);
    progress.made = 4;
    tseed_progress_finish(&progress, 0);
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun[0]->progress.made, 8);
    assert_int_equal(begun[0]->progress.low, 2);
    assert_int_equal(begun[1]->progress.made, 4);
    assert_int_equal(begun[0]->removed_before, 0);
}

static void test_scheduler__a_task_whose_layer_has_changed_is_aborted(void **state)
{
    (void)state;
    gone = "layer states is not configured any more";
    settings.threads = 1;
    tseed_scheduler_turn(scheduler);
    assert_int_equal(begun[0]->phase, TSEED_RUN_ENDING);
    assert_int_equal(begun[0]->progress.state, TSEED_ABORTED);
    assert_int_equal(begun[0]->progress.reason_code, TSEED_REASON_CHANGED);
    assert_string_equal(begun[0]->progress.reason, gone);
    assert_int_equal(session.must_record, 1);
}

/* ---- what others say ---- */

static void test_scheduler__who_waits_says_what_for(void **state)
{
    (void)state;
    tseed_scheduler_turn(scheduler);
    tick();
    assert_string_not_equal(shown(2), "");
    session.trouble = "the database is away";
    tseed_scheduler_turn(scheduler);
    assert_string_equal(shown(2), "the database is away");
    session.trouble = NULL;
    tseed_scheduler_turn(scheduler);
    assert_string_equal(shown(2), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_scheduler__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(begins_as_many_tasks_as_threads_are_free),
        TEST(a_truncate_needs_no_thread),
        TEST(a_termination_that_came_first_wins),
        TEST(nothing_begins_that_is_not_claimed),
        TEST(a_task_that_the_database_lost_is_forgotten),
        TEST(waits_until_the_books_are_read),
        TEST(goes_on_from_the_board_where_that_is_ahead),
        TEST(a_task_whose_layer_has_changed_is_aborted),
        TEST(who_waits_says_what_for),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
