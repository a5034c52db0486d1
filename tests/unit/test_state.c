/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The state: what was reported as recorded is there, whatever happens to processes and files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tseed_log.h"
#include "protocol/tseed_answer.h"
#include "state/tseed_state.h"

#include "state_fixture.h"

static void get(const fixture_t *fixture, int64_t id, tseed_progress_t *progress)
{
    tseed_task_t *task;

    assert_int_equal(tseed_state_task_get(fixture->state, &task, progress, id, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(task->id, id);
}

static int finish(const fixture_t *fixture, int64_t id, apr_time_t when)
{
    tseed_progress_t progress = {.state = TSEED_DONE, .made = 100, .finished = when};
    int won;

    assert_int_equal(tseed_state_task_finish(fixture->state, id, &progress, &won), APR_SUCCESS);
    return won;
}

static apr_array_header_t *terminate(const fixture_t *fixture, const char *layer, unsigned mask)
{
    apr_array_header_t *terminated, *layers = NULL;
    tseed_termination_t what = {.mask = mask, .reason = "by alice", .now = 77};

    if (layer) {
        layers = apr_array_make(fixture->pool, 1, sizeof(const char *));
        APR_ARRAY_PUSH(layers, const char *) = layer;
    }
    what.layers = layers;
    assert_int_equal(tseed_state_terminate(fixture->state, &terminated, &what, fixture->pool),
                     APR_SUCCESS);
    return terminated;
}

/* ---- records ---- */

static void test_state__gives_a_task_back_as_it_was(void **data)
{
    fixture_t *fixture = *data;
    const char *nasty =
        "x'); DROP TABLE task; --\"%s %lld ? $1 \\ \xc3\xa9\xe2\x82\xac\xf0\x9f\x97\xba";
    tseed_task_t task = task_of(fixture, nasty), *back;
    tseed_progress_t progress, fresh = {0};
    apr_table_t *parameters = apr_table_make(fixture->pool, 2);

    apr_table_set(parameters, "CQL_FILTER", "name = 'O''Brien' AND \"a\" > 1");
    apr_table_set(parameters, "STYLES", nasty);
    task.type = TSEED_TRUNCATE;
    task.gridset = task.format = task.gridset_print = task.store_print = task.requested_by = nasty;
    task.ignored = nasty;
    task.parameters = parameters;
    task.bounds = (tseed_bounds_t){-20037508.342789244, 0.1 + 0.2, 1e-300, 1.7976931348623157e308};
    task.zoom_start = 3;
    task.thread_count = 2147483647;
    task.gutter = 7;
    task.retries = 2;
    task.retry_wait = INT64_MAX;
    task.failure_limit = -1;
    task.tiles_total = 9223372036854775807;
    task.created = 1795255200123456;
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);

    assert_int_equal(tseed_state_task_get(fixture->state, &back, &progress, task.id, fixture->pool),
                     APR_SUCCESS);
    assert_memory_equal(&progress, &fresh, sizeof(fresh));
    assert_int_equal(back->id, 1);
    assert_int_equal(back->type, TSEED_TRUNCATE);
    assert_string_equal(back->layer, nasty);
    assert_string_equal(back->gridset, nasty);
    assert_string_equal(back->format, nasty);
    assert_string_equal(back->gridset_print, nasty);
    assert_string_equal(back->store_print, nasty);
    assert_string_equal(back->requested_by, nasty);
    assert_string_equal(back->ignored, nasty);
    assert_string_equal(apr_table_get(back->parameters, "STYLES"), nasty);
    assert_string_equal(apr_table_get(back->parameters, "CQL_FILTER"),
                        "name = 'O''Brien' AND \"a\" > 1");
    assert_memory_equal(&back->bounds, &task.bounds, sizeof(task.bounds));
    assert_int_equal(back->has_area, 1);
    assert_int_equal(back->zoom_start, 3);
    assert_int_equal(back->zoom_stop, 10);
    assert_int_equal(back->thread_count, 2147483647);
    assert_int_equal(back->meta_width, 4);
    assert_int_equal(back->meta_height, 4);
    assert_int_equal(back->gutter, 7);
    assert_int_equal(back->retries, 2);
    assert_int_equal(back->retry_wait, INT64_MAX);
    assert_int_equal(back->failure_limit, -1);
    assert_int_equal(back->tiles_total, 9223372036854775807);
    assert_int_equal(back->created, 1795255200123456);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task"), 1);
}

/* Whether a task whose row somebody has changed is one that fits no grid set, and can be shown. */
static void check_disarmed(fixture_t *fixture, const char *change)
{
    const int64_t id = insert(fixture, fixture->state, "a");
    tseed_termination_t what = {
        .task = id, .mask = 1U << TSEED_PENDING, .reason = "by alice", .now = 77};
    apr_array_header_t *found;
    tseed_task_t *back;
    tseed_progress_t progress;

    execute(fixture, apr_psprintf(fixture->pool, "UPDATE task SET %s WHERE id = %" APR_INT64_T_FMT,
                                  change, id));
    assert_int_equal(tseed_state_task_get(fixture->state, &back, &progress, id, fixture->pool),
                     APR_SUCCESS);
    assert_string_equal(back->gridset_print, "");
    assert_in_range(back->type, TSEED_SEED, TSEED_TRUNCATE);
    assert_int_equal(back->zoom_start, 0);
    assert_int_equal(back->zoom_stop, 0);
    assert_int_equal(back->meta_width * back->meta_height, 1);
    assert_int_equal(tseed_state_new_tasks(fixture->state, &found, id - 1, fixture->pool),
                     APR_SUCCESS);
    assert_string_equal(APR_ARRAY_IDX(found, 0, tseed_task_record_t).task->gridset_print, "");
    assert_int_equal(tseed_state_terminate(fixture->state, &found, &what, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(found->nelts, 1);
    assert_in_range(APR_ARRAY_IDX(found, 0, tseed_terminated_t).type, TSEED_SEED, TSEED_TRUNCATE);
}

static void test_state__what_somebody_has_changed_does_no_harm(void **data)
{
    static const char *const changes[] = {
        "type = -1",        "type = 3",
        "zoom_start = -5",  "zoom_start = 11",
        "zoom_stop = 64",   "zoom_stop = 2147483647",
        "meta_width = 0",   "meta_width = 33",
        "meta_height = -1", "meta_height = 2147483647",
        "gutter = -1",      "derived_first = -2147483648",
    };
    fixture_t *fixture = *data;
    tseed_progress_t progress;
    tseed_task_t *back;
    int64_t id;

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        check_disarmed(fixture, changes[i]);
    }
    id = insert(fixture, fixture->state, "a");
    execute(fixture, "UPDATE task SET state = 77, low = -5");
    assert_int_equal(tseed_state_task_get(fixture->state, &back, &progress, id, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_int_equal(progress.low, 0);
    assert_string_not_equal(back->gridset_print, "");
}

static void test_state__gives_progress_back_as_it_was(void **data)
{
    fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");
    tseed_progress_t there, progress = {.state = TSEED_RUNNING,
                                        .made = INT64_MAX,
                                        .skipped = 2,
                                        .removed = 3,
                                        .failed = 4,
                                        .looked = 11,
                                        .wrong = INT64_MAX,
                                        .shared = 12,
                                        .bytes = 9007199254740993,
                                        .requests = 6,
                                        .failures = 7,
                                        .started = 8,
                                        .away_since = 9,
                                        .low = 10};
    int won;

    progress.window[0] = 0x8000000000000002;
    progress.window[5] = 0x0123456789abcdef;
    progress.window[TSEED_WINDOW / 64 - 1] = 0x10;
    memset(progress.reason, 'r', TSEED_REASON_SIZE - 1);
    assert_true(claim(fixture, id));
    assert_int_equal(tseed_state_task_checkpoint(fixture->state, id, &progress, &won), APR_SUCCESS);
    assert_true(won);
    get(fixture, id, &there);
    assert_memory_equal(&there, &progress, sizeof(progress));

    memset(progress.window, 0, sizeof(progress.window));
    progress.window[0] = 0x4000000000000000;
    assert_int_equal(tseed_state_task_checkpoint(fixture->state, id, &progress, &won), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT passed = '4' FROM task"), 1);
    get(fixture, id, &there);
    assert_memory_equal(&there, &progress, sizeof(progress));
}

static void test_state__says_when_there_is_no_such_task(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t *task;
    tseed_progress_t progress;
    int won;

    assert_int_equal(tseed_state_task_get(fixture->state, &task, &progress, 1, fixture->pool),
                     APR_NOTFOUND);
    assert_int_equal(tseed_state_task_checkpoint(fixture->state, 1, &(tseed_progress_t){0}, &won),
                     APR_SUCCESS);
    assert_false(won);
}

static void test_state__bounds_unfinished_tasks(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    int64_t first = insert(fixture, fixture->state, "a");

    insert(fixture, fixture->state, "a");
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, 2), APR_EAGAIN);
    assert_int_equal(task.id, 0);
    assert_true(finish(fixture, first, 9));
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, 2), APR_SUCCESS);
    assert_int_equal(task.id, 3);
}

/* ---- states ---- */

static void test_state__moves_a_task_from_state_to_state_once(void **data)
{
    fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");
    tseed_progress_t progress;

    assert_true(claim(fixture, id));
    assert_true(claim(fixture, id)); /* its answer may have been lost; the seeder alone claims */
    get(fixture, id, &progress);
    assert_int_equal(progress.state, TSEED_RUNNING);
    assert_int_equal(progress.started, 5);
    assert_true(finish(fixture, id, 9));
    assert_false(finish(fixture, id, 10));
    assert_false(claim(fixture, id));
    get(fixture, id, &progress);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.finished, 9);
    assert_int_equal(progress.made, 100);
    assert_int_equal(terminate(fixture, NULL, 3)->nelts, 0);
}

static void test_state__terminates_by_layer_and_state(void **data)
{
    fixture_t *fixture = *data;
    int64_t running = insert(fixture, fixture->state, "a"),
            pending = insert(fixture, fixture->state, "a");
    int64_t other = insert(fixture, fixture->state, "b");
    apr_array_header_t *terminated;
    const tseed_terminated_t *one;
    tseed_progress_t progress;

    assert_true(claim(fixture, running));
    assert_int_equal(terminate(fixture, "c", 3)->nelts, 0);
    terminated = terminate(fixture, "a", 1 << TSEED_PENDING);
    assert_int_equal(terminated->nelts, 1);
    one = &APR_ARRAY_IDX(terminated, 0, tseed_terminated_t);
    assert_int_equal(one->id, pending);
    assert_string_equal(one->layer, "a");
    assert_int_equal(one->type, TSEED_SEED);
    assert_int_equal(one->before, TSEED_PENDING);
    assert_int_equal(one->confirmed, 0);

    terminated = terminate(fixture, NULL, 3);
    assert_int_equal(terminated->nelts, 2);
    assert_int_equal(APR_ARRAY_IDX(terminated, 0, tseed_terminated_t).id, running);
    assert_int_equal(APR_ARRAY_IDX(terminated, 0, tseed_terminated_t).before, TSEED_RUNNING);
    assert_int_equal(APR_ARRAY_IDX(terminated, 1, tseed_terminated_t).id, other);
    get(fixture, running, &progress);
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_int_equal(progress.finished, 77);
    assert_string_equal(progress.reason, "by alice");
    assert_int_equal(progress.reason_code, TSEED_REASON_TERMINATED);
}

/* The clock was set back after the task was accepted (1000), or had begun (2000). */
static void test_state__no_time_is_before_an_earlier_one(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    tseed_progress_t progress;
    int won;

    task.created = 1000;
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    assert_true(claim(fixture, task.id)); /* at 5 */
    get(fixture, task.id, &progress);
    assert_int_equal(progress.started, 1000);
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    assert_int_equal(tseed_state_task_claim(fixture->state, task.id, 2000, &won), APR_SUCCESS);
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    assert_int_equal(terminate(fixture, NULL, 3)->nelts, 3); /* at 77 */
    get(fixture, task.id - 2, &progress);
    assert_int_equal(progress.finished, 1000);
    get(fixture, task.id - 1, &progress);
    assert_int_equal(progress.finished, 2000);
    get(fixture, task.id, &progress);
    assert_int_equal(progress.finished, 1000);
}

static void test_state__a_termination_wins_over_what_the_seeder_does_later(void **data)
{
    fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");
    tseed_progress_t there, progress = {.state = TSEED_RUNNING,
                                        .made = 42,
                                        .low = 3,
                                        .reason = "upstream away",
                                        .reason_code = TSEED_REASON_AWAY};
    apr_array_header_t *ids;
    int won;

    assert_true(claim(fixture, id));
    assert_int_equal(terminate(fixture, NULL, 3)->nelts, 1);
    assert_false(claim(fixture, id));
    assert_false(finish(fixture, id, 99));
    assert_int_equal(tseed_state_task_checkpoint(fixture->state, id, &progress, &won), APR_SUCCESS);
    assert_false(won);
    get(fixture, id, &there);
    assert_int_equal(there.made, 0);

    assert_int_equal(tseed_state_terminations(fixture->state, &ids, fixture->pool), APR_SUCCESS);
    assert_int_equal(ids->nelts, 1);
    assert_int_equal(APR_ARRAY_IDX(ids, 0, int64_t), id);
    assert_int_equal(tseed_state_task_confirm(fixture->state, id, &progress), APR_SUCCESS);
    get(fixture, id, &there);
    assert_int_equal(there.state, TSEED_ABORTED);
    assert_int_equal(there.made, 42);
    assert_int_equal(there.finished, 77);
    assert_string_equal(there.reason, "by alice");
    assert_int_equal(there.reason_code, TSEED_REASON_TERMINATED);
    assert_int_equal(tseed_state_terminations(fixture->state, &ids, fixture->pool), APR_SUCCESS);
    assert_int_equal(ids->nelts, 0);
}

static void test_state__a_pending_task_is_confirmed_without_counters(void **data)
{
    fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");
    apr_array_header_t *ids;

    terminate(fixture, NULL, 3);
    assert_int_equal(tseed_state_task_confirm(fixture->state, id, NULL), APR_SUCCESS);
    assert_int_equal(tseed_state_terminations(fixture->state, &ids, fixture->pool), APR_SUCCESS);
    assert_int_equal(ids->nelts, 0);
}

static void test_state__recovers_unfinished_tasks_in_order(void **data)
{
    fixture_t *fixture = *data;
    int64_t running = insert(fixture, fixture->state, "a"),
            ended = insert(fixture, fixture->state, "a");
    int64_t pending = insert(fixture, fixture->state, "b");
    apr_array_header_t *tasks, *ids;
    tseed_progress_t progress;

    claim(fixture, running);
    claim(fixture, ended);
    finish(fixture, ended, 9);
    insert(fixture, fixture->state, "c");
    terminate(fixture, "c", 3);
    assert_int_equal(tseed_state_recover(fixture->state, &tasks, fixture->pool), APR_SUCCESS);
    assert_int_equal(tasks->nelts, 2);
    assert_int_equal(APR_ARRAY_IDX(tasks, 0, tseed_task_record_t).task->id, running);
    assert_int_equal(APR_ARRAY_IDX(tasks, 1, tseed_task_record_t).task->id, pending);
    assert_string_equal(APR_ARRAY_IDX(tasks, 1, tseed_task_record_t).task->layer, "b");
    get(fixture, running, &progress);
    assert_int_equal(progress.state, TSEED_PENDING);
    assert_int_equal(progress.started, 5);
    assert_int_equal(tseed_state_terminations(fixture->state, &ids, fixture->pool), APR_SUCCESS);
    assert_int_equal(ids->nelts, 1); /* which is confirmed with its last counts */
}

static void test_state__finds_new_tasks_however_many(void **data)
{
    fixture_t *fixture = *data;
    apr_array_header_t *tasks, *rows;

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    for (int i = 0; i < 1300; i++) {
        insert(fixture, fixture->state, i % 2 ? "odd" : "even");
    }
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_new_tasks(fixture->state, &tasks, 10, fixture->pool), APR_SUCCESS);
    assert_int_equal(tasks->nelts, 1290);
    assert_int_equal(tseed_state_list(fixture->state, &rows, NULL, fixture->pool), APR_SUCCESS);
    assert_int_equal(rows->nelts, 1300);
    for (int i = 0; i < 1290; i++) {
        assert_int_equal(APR_ARRAY_IDX(tasks, i, tseed_task_record_t).task->id, 11 + i);
        assert_int_equal(APR_ARRAY_IDX(rows, i, tseed_status_row_t).id, 1 + i);
    }
    assert_int_equal(tseed_state_list(fixture->state, &rows, "odd", fixture->pool), APR_SUCCESS);
    assert_int_equal(rows->nelts, 650);
}

static void test_state__lists_what_is_unfinished(void **data)
{
    fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");
    tseed_progress_t progress = {.made = 1, .skipped = 2, .removed = 3, .failed = 4};
    apr_array_header_t *rows;
    const tseed_status_row_t *row;
    int has;
    int won;

    claim(fixture, id);
    tseed_state_task_checkpoint(fixture->state, id, &progress, &won);
    assert_int_equal(tseed_state_list(fixture->state, &rows, "a", fixture->pool), APR_SUCCESS);
    assert_int_equal(rows->nelts, 1);
    row = &APR_ARRAY_IDX(rows, 0, tseed_status_row_t);
    assert_int_equal(row->total, 100);
    assert_int_equal(row->processed, 10);
    assert_int_equal(row->state, TSEED_RUNNING);
    assert_int_equal(tseed_state_has_tasks(fixture->state, &has, "a"), APR_SUCCESS);
    assert_true(has);

    finish(fixture, id, 9);
    assert_int_equal(tseed_state_list(fixture->state, &rows, NULL, fixture->pool), APR_SUCCESS);
    assert_int_equal(rows->nelts, 0);
    assert_int_equal(tseed_state_has_tasks(fixture->state, &has, "a"), APR_SUCCESS);
    assert_false(has);
}

static void test_state__a_transaction_is_all_or_nothing(void **data)
{
    fixture_t *fixture = *data;
    int64_t first = insert(fixture, fixture->state, "a"),
            second = insert(fixture, fixture->state, "a");
    tseed_progress_t progress;

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    claim(fixture, first);
    claim(fixture, second);
    tseed_state_rollback(fixture->state);
    get(fixture, second, &progress);
    assert_int_equal(progress.state, TSEED_PENDING);
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    claim(fixture, first);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    get(fixture, first, &progress);
    assert_int_equal(progress.state, TSEED_RUNNING);
}

/* Counts transactions, and lets two of them through. */
static apr_status_t let_two_through(tseed_state_t *state, void *baton)
{
    int *count = baton;

    assert_true(state->db.in_transaction);
    return ++*count > 2 ? EPERM : APR_SUCCESS;
}

static void test_state__a_fence_stands_before_each_transaction(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    apr_array_header_t *rows;
    int count = 0;

    tseed_work_fence(fixture->state, let_two_through, &count);
    insert(fixture, fixture->state, "a");
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    insert(fixture, fixture->state, "a");
    insert(fixture, fixture->state, "a");
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), EPERM);
    assert_int_equal(tseed_state_begin(fixture->state), EPERM);
    assert_int_equal(tseed_state_list(fixture->state, &rows, NULL, fixture->pool), APR_SUCCESS);
    assert_int_equal(rows->nelts, 3);
    tseed_work_fence(fixture->state, NULL, NULL);
    assert_int_equal(insert(fixture, fixture->state, "a"), 4);
}

/* ---- quota, failures, history ---- */

static void test_state__replaces_the_quota_one_version_after_the_other(void **data)
{
    fixture_t *fixture = *data;
    const char *saved, *directive;
    int64_t version;

    assert_int_equal(
        tseed_state_quota_get(fixture->state, &saved, &directive, &version, fixture->pool),
        APR_NOTFOUND);
    assert_int_equal(tseed_state_quota_set(fixture->state, "{\"a\":'1'}", "on 5GiB", 0),
                     APR_SUCCESS);
    assert_int_equal(tseed_state_quota_set(fixture->state, "late", "on 5GiB", 0), APR_EAGAIN);
    assert_int_equal(tseed_state_quota_set(fixture->state, "second", "on 6GiB", 1), APR_SUCCESS);
    assert_int_equal(tseed_state_quota_set(fixture->state, "late", "on 5GiB", 1), APR_EAGAIN);
    assert_int_equal(
        tseed_state_quota_get(fixture->state, &saved, &directive, &version, fixture->pool),
        APR_SUCCESS);
    assert_string_equal(saved, "second");
    assert_string_equal(directive, "on 6GiB");
    assert_int_equal(version, 2);
}

static void test_state__a_second_failure_of_a_metatile_replaces_the_first(void **data)
{
    fixture_t *fixture = *data;
    tseed_failure_t failure = {.task = 1,
                               .z = 20,
                               .x = 1048575,
                               .y = 9007199254740993,
                               .cause = "it's \"gone\"",
                               .http_status = 404,
                               .attempts = 1,
                               .time = 5};

    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
    failure.attempts = 3;
    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
    failure.x++;
    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM failure"), 2);
    assert_int_equal(number(fixture, "SELECT attempts FROM failure WHERE x = 1048575 AND"
                                     " y = 9007199254740993 AND cause = 'it''s \"gone\"'"),
                     3);
}

static void test_state__forgets_finished_tasks_by_number_and_age(void **data)
{
    fixture_t *fixture = *data;
    tseed_failure_t failure = {.task = 1, .cause = "c"};
    int64_t unfinished = insert(fixture, fixture->state, "a");

    for (int i = 0; i < 10; i++) {
        finish(fixture, insert(fixture, fixture->state, "a"), 100 + i);
    }
    failure.task = unfinished + 1;
    tseed_state_failure_add(fixture->state, &failure);
    failure.task = unfinished + 10;
    tseed_state_failure_add(fixture->state, &failure);
    insert(fixture, fixture->state, "killed");
    terminate(fixture, "killed", 3);

    assert_int_equal(tseed_state_trim(fixture->state, 100, 0), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task"), 12);
    assert_int_equal(tseed_state_trim(fixture->state, 5, 0), APR_SUCCESS);
    assert_false(is_there(fixture, unfinished + 6)); /* the terminated one is the newest of five */
    assert_true(is_there(fixture, unfinished + 7));
    assert_true(is_there(fixture, unfinished));
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM failure"), 1);
    assert_int_equal(tseed_state_trim(fixture->state, 100, 109), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task WHERE state = 2"), 1);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task WHERE kill_pending = 1"), 1);
}

static void test_state__forgets_a_few_hundred_at_a_time(void **data)
{
    fixture_t *fixture = *data;

    execute(fixture,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
            " INSERT INTO task SELECT i, 0, 'l', 'g', 'f', '{}', '0 0 1 1', 1, 0, 1, 1, 4, 4,"
            " 0, 2, 0, 10, 1, '', '', '', 1, 2, 0, '', 1, 0, 0, 0, 0, 0, 0, 1, 2, 1,"
            " '', 0, 0, 0, '', 0, 0, 0, 0, 0, 0, 0, 0, '', ''"
            " FROM n");
    assert_int_equal(tseed_state_trim(fixture->state, 100, 0), APR_SUCCESS);
    assert_in_range(number(fixture, "SELECT COUNT(*) FROM task"), 1100, 1900);
    for (int i = 0; i < 10; i++) {
        tseed_state_trim(fixture->state, 100, 0);
    }
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task"), 100);
    assert_int_equal(number(fixture, "SELECT MIN(id) FROM task"), 1901);
}

/* ---- several processes ---- */

static void test_state__four_writers_get_ids_of_their_own(void **data)
{
    fixture_t *fixture = *data;
    pid_t writers[4];

    tseed_state_close(fixture->state); /* no connection crosses a fork */
    for (int i = 0; i < 4; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            tseed_state_t *mine;
            tseed_task_t task = task_of(fixture, "a");
            int64_t last = 0;
            int wrong = tseed_state_open(&mine, fixture->dir, DATABASE_DRIVER, fixture->params,
                                         fixture->pool);

            for (int n = 0; !wrong && n < 50; n++) {
                wrong = tseed_state_task_insert(mine, &task, MOST) || task.id <= last;
                last = task.id;
            }
            _exit(wrong != 0);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status;

        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    fixture->state = state_open(fixture);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task"), 200);
    assert_int_equal(number(fixture, "SELECT MAX(id) FROM task"), 200);
}

/* Inserts until it is killed; says each id once it is recorded. */
static void insert_and_say(const fixture_t *fixture, int out)
{
    tseed_state_t *mine;

    if (tseed_state_open(&mine, fixture->dir, DATABASE_DRIVER, fixture->params, fixture->pool) ==
        APR_SUCCESS) {
        for (;;) {
            tseed_task_t task = task_of(fixture, "a");

            if (tseed_state_task_insert(mine, &task, INT64_MAX) != APR_SUCCESS ||
                write(out, &task.id, sizeof(task.id)) != sizeof(task.id)) {
                break;
            }
        }
    }
    _exit(1);
}

static void test_state__what_a_killed_process_recorded_is_there(void **data)
{
    fixture_t *fixture = *data;
    unsigned seed = 20260102;
    int64_t id, last = 0;

    tseed_state_close(fixture->state);
    for (int round = 0; round < 8; round++) {
        int ends[2], status;
        pid_t writer;

        assert_int_equal(pipe(ends), 0);
        writer = fork();
        if (writer == 0) {
            insert_and_say(fixture, ends[1]);
        }
        close(ends[1]);
        assert_int_equal(read(ends[0], &id, sizeof(id)), sizeof(id)); /* it is at work */
        usleep((unsigned)rand_r(&seed) % 40000);
        kill(writer, SIGKILL);
        waitpid(writer, &status, 0);
        assert_true(WIFSIGNALED(status));
        fixture->state = state_open(fixture);
        do {
            assert_true(id > last);
            assert_true(is_there(fixture, id));
            last = id;
        } while (read(ends[0], &id, sizeof(id)) == sizeof(id));
        assert_int_equal(number(fixture, "SELECT COUNT(*) = MAX(id) FROM task"), 1);
        tseed_state_close(fixture->state);
        close(ends[0]);
    }
    fixture->state = state_open(fixture);
}

/* A watch over a database server that hangs would else fence a seeder that does not wait. */
static void test_state__the_clock_of_waits_stops_with_the_wait(void **data)
{
    static _Atomic int64_t waits;
    const fixture_t *fixture = *data;

    fixture->state->waits = &waits; /* as if the database were a server's */
    insert(fixture, fixture->state, "states");
    assert_int_equal(atomic_load(&waits), 0);
    is_there(fixture, 1);
    assert_int_equal(atomic_load(&waits), 0);
    assert_int_equal(tseed_work_begin(fixture->state), APR_SUCCESS);
    assert_true(atomic_load(&waits) > 0);
    insert(fixture, fixture->state, "states"); /* a part of the same wait */
    assert_true(atomic_load(&waits) > 0);
    assert_int_equal(tseed_work_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(atomic_load(&waits), 0);
    assert_int_equal(tseed_work_begin(fixture->state), APR_SUCCESS);
    tseed_work_rollback(fixture->state);
    assert_int_equal(atomic_load(&waits), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_state__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gives_a_task_back_as_it_was),
        TEST(the_clock_of_waits_stops_with_the_wait),
        TEST(what_somebody_has_changed_does_no_harm),
        TEST(gives_progress_back_as_it_was),
        TEST(says_when_there_is_no_such_task),
        TEST(bounds_unfinished_tasks),
        TEST(moves_a_task_from_state_to_state_once),
        TEST(terminates_by_layer_and_state),
        TEST(no_time_is_before_an_earlier_one),
        TEST(a_termination_wins_over_what_the_seeder_does_later),
        TEST(a_pending_task_is_confirmed_without_counters),
        TEST(recovers_unfinished_tasks_in_order),
        TEST(finds_new_tasks_however_many),
        TEST(lists_what_is_unfinished),
        TEST(a_transaction_is_all_or_nothing),
        TEST(a_fence_stands_before_each_transaction),
        TEST(replaces_the_quota_one_version_after_the_other),
        TEST(a_second_failure_of_a_metatile_replaces_the_first),
        TEST(forgets_finished_tasks_by_number_and_age),
        TEST(forgets_a_few_hundred_at_a_time),
        TEST(four_writers_get_ids_of_their_own),
        TEST(what_a_killed_process_recorded_is_there),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, group_teardown));
}
