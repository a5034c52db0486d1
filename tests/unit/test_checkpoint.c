/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Checkpoints: what a transaction records, in which order, and what is forgotten when it fails. The
 * database, the tasks and what else is saved are replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#define WITH_BOARD
#include "board_memory.h"
#include "flow_fixture.h"
#include "seeder/tseed_checkpoint.h"

static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t cache;
static tseed_task_t tasks[2];
static tseed_run_t run[2];
static tseed_runs_t runs;
static tseed_entry_t entries[2];
static tseed_layer_t layer;
static tseed_upstream_t upstream;
static tseed_book_tileset_t booked;
static tseed_board_t *board;
static tseed_ends_t *ends;
static tseed_checkpoint_t *checkpoint;

/* ---- the database: a text of what was written, and what becomes of it ---- */

static char written[300];
static const char *failing_at; /* what fails; NULL: nothing */
static int is_beaten;          /* a client's termination was first */
static int dismissed, dropped;

static apr_status_t note(const char *what, int64_t id)
{
    const size_t length = strlen(written);

    snprintf(written + length, sizeof(written) - length, "%s%s", length ? " " : "", what);
    if (id > 0) {
        snprintf(written + strlen(written), sizeof(written) - strlen(written), "%d", (int)id);
    }
    return failing_at && strcmp(failing_at, what) == 0 ? APR_EGENERAL : APR_SUCCESS;
}

apr_status_t tseed_state_begin(tseed_state_t *state)
{
    (void)state;
    return note("begin", 0);
}

apr_status_t tseed_state_commit(tseed_state_t *state)
{
    (void)state;
    return note("commit", 0);
}

void tseed_state_rollback(tseed_state_t *state)
{
    (void)state;
    note("rollback", 0);
}

const char *tseed_state_error(const tseed_state_t *state)
{
    (void)state;
    return "it fails";
}

apr_status_t tseed_state_failure_add(tseed_state_t *state, const tseed_failure_t *failure)
{
    (void)state;
    return note("failure", failure->task);
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

apr_status_t tseed_state_task_finish(tseed_state_t *state, int64_t id,
                                     const tseed_progress_t *progress, int *won)
{
    (void)state;
    (void)progress;
    *won = !is_beaten;
    return note("finish", id);
}

apr_status_t tseed_state_task_confirm(tseed_state_t *state, int64_t id,
                                      const tseed_progress_t *progress)
{
    (void)state;
    (void)progress;
    return note("confirm", id);
}

apr_status_t tseed_state_task_checkpoint(tseed_state_t *state, int64_t id,
                                         const tseed_progress_t *progress, int *won)
{
    (void)state;
    (void)progress;
    *won = !is_beaten;
    return note("progress", id);
}

/* It knows no task. */
apr_status_t tseed_state_task_get(tseed_state_t *state, tseed_task_t **task,
                                  tseed_progress_t *progress, int64_t id, apr_pool_t *p)
{
    (void)state;
    (void)task;
    (void)progress;
    (void)id;
    (void)p;
    return APR_NOTFOUND;
}

apr_status_t tseed_state_measure_add(tseed_state_t *state, const char *tileset, int z,
                                     const tseed_measure_t *measure)
{
    (void)state;
    (void)tileset;
    (void)measure;
    return note("measure", z);
}

apr_status_t tseed_cache_write(tseed_cache_t *of, tseed_save_t save)
{
    (void)of;
    return note(save == TSEED_SAVE_ALL ? "book" : "marks", 0);
}

void tseed_cache_saved(tseed_cache_t *of, tseed_save_t save)
{
    (void)of;
    (void)save;
}

apr_status_t tseed_savings_write(tseed_savings_t *savings, int all)
{
    (void)savings;
    (void)all;
    return note("savings", 0);
}

void tseed_savings_saved(tseed_savings_t *savings, int all)
{
    (void)savings;
    (void)all;
}

int tseed_cache_has_changes(const tseed_cache_t *of, tseed_save_t save)
{
    (void)of;
    (void)save;
    return 0;
}

int tseed_savings_has_changes(const tseed_savings_t *savings)
{
    (void)savings;
    return 0;
}

/* ---- the tasks ---- */

tseed_entry_t *tseed_tasks_first(const tseed_tasks_t *of)
{
    (void)of;
    return entries;
}

void tseed_tasks_dismiss(tseed_tasks_t *of, tseed_run_t *gone)
{
    (void)of;
    (void)gone;
    dismissed++;
}

void tseed_tasks_forget(tseed_tasks_t *of, int64_t id)
{
    (void)of;
    note("forget", id);
}

void tseed_tasks_drop(tseed_tasks_t *of, tseed_entry_t *entry)
{
    (void)of;
    (void)entry;
    dropped++;
}

/* ---- two tasks that run ---- */

static int setup(void **state)
{
    tseed_display_t *display;
    tseed_durable_t *durable;

    (void)state;
    forget_neighbours();
    written[0] = '\0';
    failing_at = NULL;
    is_beaten = dismissed = dropped = 0;
    board = make_board(1, 1);
    context =
        (tseed_context_t){.settings = &settings, .pool = pool, .scratch = pool, .board = board};
    session = (tseed_session_t){.state = (void *)&session};
    layer = (tseed_layer_t){.name = "states", .source.count = 1};
    layer.source.addresses[0].upstream = &upstream;
    durable = tseed_durable_create(&cache, pool);
    display = tseed_display_create(&context, &session, durable);
    for (int i = 0; i < 2; i++) {
        tasks[i] =
            (tseed_task_t){.id = i + 1, .layer = "states", .requested_by = "", .failure_limit = -1};
        run[i] = (tseed_run_t){.task = &tasks[i],
                               .tileset.layer = &layer,
                               .booked = &booked,
                               .slot = 0,
                               .dirty = 1,
                               .next_run = i == 0 ? &run[1] : NULL};
        run[i].positions.count = 1000;
        run[i].progress.state = TSEED_RUNNING;
        entries[i] =
            (tseed_entry_t){.id = i + 1, .run = &run[i], .next = i == 0 ? &entries[1] : NULL};
    }
    runs = (tseed_runs_t){.tasks = run};
    ends = tseed_ends_create(&(tseed_ends_uses_t){
        .context = &context, .session = &session, .runs = &runs, .display = display});
    checkpoint = tseed_checkpoint_create(&(tseed_checkpoint_uses_t){.context = &context,
                                                                    .session = &session,
                                                                    .runs = &runs,
                                                                    .cache = &cache,
                                                                    .durable = durable,
                                                                    .display = display,
                                                                    .ends = ends});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    failing_at = NULL;
    tseed_ends_recorded(ends);
    free(board->segment);
    return 0;
}

/* Records, and compares what was written. */
static void assert_records(int all, const char *expected)
{
    written[0] = '\0';
    session.must_record = 1;
    tseed_checkpoint_record(checkpoint, all);
    assert_string_equal(written, expected);
}

static void end_run(tseed_run_t *of)
{
    tseed_run_abort(of);
    tseed_ends_conclude(of);
}

static void lose(tseed_run_t *of)
{
    const tseed_range_t tile = {3, 1, 1, 1, 1};
    const tseed_sink_t *sink = tseed_ends_sink(ends);
    tseed_job_t *job = tseed_jobs_get(
        NULL, &(tseed_job_what_t){
                  .sink = sink, .run = of, .metatile = {tile, tile}, .first = TSEED_STAGE_CUT});

    of->task->meta_width = of->task->meta_height = 1;
    sink->give_up(sink->module, job);
}

static void test_checkpoint__writes_progress_once_a_second_and_endings_at_once(void **state)
{
    (void)state;
    assert_records(0, "begin marks savings commit");
    assert_records(1, "begin progress1 progress2 book savings commit");
    end_run(&run[1]);
    assert_records(0, "begin finish2 marks savings commit");
    assert_int_equal(dismissed, 1);
    assert_int_equal(session.must_record, 0);
}

static void test_checkpoint__keeps_everything_when_the_database_fails(void **state)
{
    (void)state;
    end_run(&run[0]);
    lose(&run[1]);
    failing_at = "commit";
    assert_records(0, "begin failure2 finish1 marks savings commit");
    assert_int_equal(dismissed, 0);
    assert_int_equal(run[1].losses, 1);
    assert_non_null(session.trouble);
    assert_true(session.retry_at > now);
    failing_at = NULL;
    session.retry_at = 0;
    assert_records(0, "begin failure2 finish1 marks savings commit");
    assert_int_equal(dismissed, 1);
    assert_int_equal(run[1].losses, 0);
    assert_null(session.trouble);
}

static void test_checkpoint__rolls_back_what_can_not_be_written(void **state)
{
    (void)state;
    failing_at = "progress";
    assert_records(1, "begin progress1 rollback");
    assert_non_null(session.trouble);
}

/* Its counts are those with the losses. */
static void test_checkpoint__a_run_ends_after_its_losses(void **state)
{
    (void)state;
    lose(&run[0]);
    end_run(&run[0]);
    assert_records(0, "begin failure1 marks savings commit");
    assert_int_equal(dismissed, 0);
    assert_int_equal(run[0].progress.failures, 1);
    assert_records(0, "begin finish1 marks savings commit");
    assert_int_equal(dismissed, 1);
}

static void test_checkpoint__the_first_of_two_ends_wins(void **state)
{
    (void)state;
    end_run(&run[0]);
    is_beaten = 1;
    assert_records(0, "begin finish1 confirm1 marks savings commit");
    assert_true(run[0].terminated);
    end_run(&run[1]);
    run[1].terminated = 1;
    run[0].phase = TSEED_RUN_GOING;
    assert_records(0, "begin confirm2 marks savings commit");
}

static void test_checkpoint__a_task_that_never_ran_is_confirmed_and_dropped(void **state)
{
    (void)state;
    entries[1].run = NULL;
    entries[1].terminated = 1;
    run[0].next_run = NULL;
    assert_records(0, "begin confirm2 marks savings commit");
    assert_int_equal(dropped, 1);
}

static void test_checkpoint__measures_are_added_once(void **state)
{
    (void)state;
    run[0].is_measured = 1;
    run[0].measures[4].tiles = 16;
    assert_records(0, "begin marks savings commit");
    assert_records(1, "begin progress1 progress2 measure4 book savings commit");
    assert_false(run[0].is_measured);
    assert_int_equal((int)run[0].measures[4].tiles, 0);
}

static void test_checkpoint__nothing_is_written_where_nothing_is_new(void **state)
{
    (void)state;
    run[0].dirty = run[1].dirty = 0;
    tseed_checkpoint_record(checkpoint, 1);
    run[0].dirty = 1;
    tseed_checkpoint_record(checkpoint, 0);
    assert_string_equal(written, "");
    session.retry_at = now + 1;
    session.must_record = 1;
    tseed_checkpoint_record(checkpoint, 1);
    assert_string_equal(written, "");
}

static void test_checkpoint__a_task_that_the_database_lost_is_forgotten(void **state)
{
    (void)state;
    is_beaten = 1;
    run[1].terminated = 1; /* of which no progress is written */
    assert_records(1, "begin progress1 book savings commit forget1");
    assert_false(run[0].unknown);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_checkpoint__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writes_progress_once_a_second_and_endings_at_once),
        TEST(keeps_everything_when_the_database_fails),
        TEST(rolls_back_what_can_not_be_written),
        TEST(a_run_ends_after_its_losses),
        TEST(the_first_of_two_ends_wins),
        TEST(a_task_that_never_ran_is_confirmed_and_dropped),
        TEST(measures_are_added_once),
        TEST(nothing_is_written_where_nothing_is_new),
        TEST(a_task_that_the_database_lost_is_forgotten),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
