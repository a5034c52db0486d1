/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The state, as those see it who come back in the morning: lists of tasks and of failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/tseed_answer.h"
#include "protocol/tseed_document.h"
#include "state/tseed_state.h"

#include "database_fixture.h"

#define MOST 16384

/* One test's directory, pool and handle. */
typedef struct {
    apr_pool_t *pool;
    char dir[64];
    tseed_state_t *state;
} fixture_t;

static int setup(void **data)
{
    fixture_t *fixture = calloc(1, sizeof(*fixture));

    apr_pool_create(&fixture->pool, NULL);
    strcpy(fixture->dir, "/tmp/tileseed-history-XXXXXX");
    *data = fixture;
    return mkdtemp(fixture->dir) ? tseed_state_open(&fixture->state, fixture->dir, DATABASE_DRIVER,
                                                    database_params(fixture->pool), fixture->pool)
                                 : -1;
}

static int teardown(void **data)
{
    fixture_t *fixture = *data;
    int rv = system(apr_pstrcat(fixture->pool, "rm -r ", fixture->dir, NULL));

    apr_pool_destroy(fixture->pool);
    free(fixture);
    return rv;
}

static tseed_task_t task_of(const fixture_t *fixture, const char *layer)
{
    return (tseed_task_t){.type = TSEED_SEED,
                          .layer = layer,
                          .gridset = "EPSG:4326",
                          .format = "image/png",
                          .parameters = apr_table_make(fixture->pool, 1),
                          .bounds = {-180, -90, 180, 90},
                          .has_area = 1,
                          .zoom_stop = 4,
                          .thread_count = 1,
                          .meta_width = 4,
                          .meta_height = 4,
                          .failure_limit = -1,
                          .tiles_total = 682,
                          .gridset_print = "g",
                          .store_print = "s",
                          .requested_by = "",
                          .ignored = "",
                          .created = 1};
}

static int64_t insert(const fixture_t *fixture, const char *layer)
{
    tseed_task_t task = task_of(fixture, layer);

    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    return task.id;
}

static void end(const fixture_t *fixture, int64_t id, tseed_task_state_t ending)
{
    tseed_progress_t progress = {.state = ending, .made = 5, .finished = 9};
    int won;

    assert_int_equal(tseed_state_task_finish(fixture->state, id, &progress, &won), APR_SUCCESS);
    assert_true(won);
}

/* ---- lists of tasks ---- */

/* The ids that a query finds, as text. */
static const char *found(const fixture_t *fixture, const char *text, const char *layers)
{
    tseed_task_query_t query;
    apr_array_header_t *records, *only = NULL;
    const char *ids = "";
    char *rest;

    assert_null(tseed_task_query_read(&query, text, fixture->pool));
    if (layers) {
        only = apr_array_make(fixture->pool, 2, sizeof(const char *));
        for (char *name = apr_strtok(apr_pstrdup(fixture->pool, layers), " ", &rest); name;
             name = apr_strtok(NULL, " ", &rest)) {
            APR_ARRAY_PUSH(only, const char *) = name;
        }
    }
    assert_int_equal(tseed_state_find(fixture->state, &records, &query, only, fixture->pool),
                     APR_SUCCESS);
    for (int i = 0; i < records->nelts; i++) {
        ids = apr_psprintf(fixture->pool, "%s%s%" APR_INT64_T_FMT, ids, *ids ? " " : "",
                           APR_ARRAY_IDX(records, i, tseed_task_record_t).task->id);
    }
    return ids;
}

static void test_history__finds_tasks_newest_first(void **data)
{
    static const char *const layers[] = {"a", "b", "a", "c", "a", "b"};
    fixture_t *fixture = *data;
    int won;

    assert_string_equal(found(fixture, NULL, NULL), "");
    for (int i = 0; i < 6; i++) {
        assert_int_equal(insert(fixture, layers[i]), i + 1);
    }
    end(fixture, 1, TSEED_DONE);
    end(fixture, 2, TSEED_ABORTED);
    assert_int_equal(tseed_state_task_claim(fixture->state, 3, 5, &won), APR_SUCCESS);

    assert_string_equal(found(fixture, NULL, NULL), "6 5 4 3 2 1");
    assert_string_equal(found(fixture, "limit=2", NULL), "6 5");
    assert_string_equal(found(fixture, "limit=2&before=5", NULL), "4 3");
    assert_string_equal(found(fixture, "before=1", NULL), "");
    assert_string_equal(found(fixture, "state=done", NULL), "1");
    assert_string_equal(found(fixture, "state=done,aborted", NULL), "2 1");
    assert_string_equal(found(fixture, "state=running", NULL), "3");
    assert_string_equal(found(fixture, "state=pending&limit=2", NULL), "6 5");
    assert_string_equal(found(fixture, NULL, "a"), "5 3 1");
    assert_string_equal(found(fixture, "limit=3", "c a"), "5 4 3");
    assert_string_equal(found(fixture, "before=5&state=pending,aborted", "c b a"), "4 2");
    assert_string_equal(found(fixture, NULL, "nowhere"), "");
    assert_string_equal(found(fixture, NULL, ""), "");
}

static void test_history__a_record_is_what_was_recorded(void **data)
{
    fixture_t *fixture = *data;
    int64_t id = insert(fixture, "topp:states");
    tseed_task_query_t query;
    apr_array_header_t *records;
    const tseed_task_record_t *record;

    end(fixture, id, TSEED_ABORTED);
    assert_null(tseed_task_query_read(&query, NULL, fixture->pool));
    assert_int_equal(tseed_state_find(fixture->state, &records, &query, NULL, fixture->pool),
                     APR_SUCCESS);
    record = &APR_ARRAY_IDX(records, 0, tseed_task_record_t);
    assert_string_equal(record->task->layer, "topp:states");
    assert_int_equal(record->task->tiles_total, 682);
    assert_int_equal(record->progress.state, TSEED_ABORTED);
    assert_int_equal(record->progress.made, 5);
    assert_int_equal(record->progress.finished, 9);
}

static void test_history__terminates_one_task(void **data)
{
    fixture_t *fixture = *data;
    tseed_termination_t what = {.mask = 3, .reason = "by alice", .now = 77};
    apr_array_header_t *terminated;

    insert(fixture, "a");
    what.task = insert(fixture, "a");
    assert_int_equal(tseed_state_terminate(fixture->state, &terminated, &what, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(terminated->nelts, 1);
    assert_int_equal(APR_ARRAY_IDX(terminated, 0, tseed_terminated_t).id, 2);
    assert_string_equal(found(fixture, "state=pending", NULL), "1");
    assert_int_equal(tseed_state_terminate(fixture->state, &terminated, &what, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(terminated->nelts, 0);
}

/* ---- failures ---- */

static void give_up(const fixture_t *fixture, int64_t task, int z, int64_t x, int64_t y)
{
    tseed_failure_t failure = {.task = task,
                               .z = z,
                               .x = x,
                               .y = y,
                               .cause = "it's \"gone\"",
                               .http_status = 404,
                               .attempts = 3,
                               .time = 5};

    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
}

static void test_history__pages_through_failures_in_order(void **data)
{
    static const int64_t places[][3] = {{0, 0, 0}, {3, 4, 0}, {3, 4, 8}, {3, 8, 0}, {21, 1, 1}};
    fixture_t *fixture = *data;
    tseed_failure_query_t query = {.limit = 2, .z = -1};
    apr_array_header_t *failures;
    int64_t total;
    int seen = 0;

    for (int i = 4; i >= 0; i--) {
        give_up(fixture, 7, (int)places[i][0], places[i][1], places[i][2]);
    }
    give_up(fixture, 8, 1, 0, 0);
    do {
        assert_int_equal(
            tseed_state_failures(fixture->state, &failures, &total, 7, &query, fixture->pool),
            APR_SUCCESS);
        assert_int_equal(total, 5);
        for (int i = 0; i < failures->nelts; i++, seen++) {
            const tseed_failure_t *failure = &APR_ARRAY_IDX(failures, i, tseed_failure_t);

            assert_int_equal(failure->z, places[seen][0]);
            assert_int_equal(failure->x, places[seen][1]);
            assert_int_equal(failure->y, places[seen][2]);
            assert_string_equal(failure->cause, "it's \"gone\"");
            assert_int_equal(failure->http_status, 404);
            assert_int_equal(failure->attempts, 3);
            query.z = failure->z;
            query.x = failure->x;
            query.y = failure->y;
        }
    } while (failures->nelts > 0);
    assert_int_equal(seen, 5);
}

/* ---- causes ---- */

static void fail_at(const fixture_t *fixture, int64_t x, const char *cause, int status,
                    apr_time_t time)
{
    const tseed_failure_t failure = {.task = 7,
                                     .z = 3,
                                     .x = x,
                                     .cause = cause,
                                     .http_status = status,
                                     .attempts = 1,
                                     .time = time};

    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
}

static tseed_causes_t causes_of(const fixture_t *fixture, int64_t task)
{
    tseed_causes_t causes;

    assert_int_equal(tseed_state_causes(fixture->state, &causes, task, fixture->pool), APR_SUCCESS);
    return causes;
}

static const tseed_cause_t *cause(const tseed_causes_t *causes, int i)
{
    return &APR_ARRAY_IDX(causes->list, i, tseed_cause_t);
}

static void test_history__causes_by_their_number(void **data)
{
    fixture_t *fixture = *data;
    tseed_causes_t causes;

    assert_int_equal(causes_of(fixture, 7).list->nelts, 0);
    give_up(fixture, 8, 1, 0, 0);
    fail_at(fixture, 9, "b", 0, 50);
    fail_at(fixture, 1, "a", 404, 40);
    fail_at(fixture, 2, "a", 500, 30);
    fail_at(fixture, 3, "a", 500, 20);
    fail_at(fixture, 4, "a", 500, 60);
    fail_at(fixture, 5, "b", 0, 10);
    causes = causes_of(fixture, 7);
    assert_int_equal(causes.looked, 6);
    assert_int_equal(causes.list->nelts, 3);
    assert_string_equal(cause(&causes, 0)->cause, "a");
    assert_int_equal(cause(&causes, 0)->http_status, 500);
    assert_int_equal(cause(&causes, 0)->count, 3);
    assert_int_equal(cause(&causes, 0)->first, 20);
    assert_int_equal(cause(&causes, 0)->last, 60);
    assert_int_equal(cause(&causes, 0)->z, 3);
    assert_int_equal(cause(&causes, 0)->x, 2);
    assert_string_equal(cause(&causes, 1)->cause, "b");
    assert_int_equal(cause(&causes, 1)->count, 2);
    assert_int_equal(cause(&causes, 1)->first, 10);
    assert_int_equal(cause(&causes, 1)->x, 5);
    assert_int_equal(cause(&causes, 2)->http_status, 404);
    assert_int_equal(cause(&causes, 2)->count, 1);
}

/* All are counted, in several portions; the most frequent are named. */
static void test_history__causes_are_bounded(void **data)
{
    fixture_t *fixture = *data;
    tseed_causes_t causes;

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    for (int i = 0; i < 1500; i++) {
        fail_at(fixture, i, apr_psprintf(fixture->pool, "cause %d", i % 300), 0, i + 1);
    }
    for (int i = 1500; i < 1510; i++) {
        fail_at(fixture, i, "most of all", 0, i + 1);
    }
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    causes = causes_of(fixture, 7);
    assert_int_equal(causes.looked, 1510);
    assert_int_equal(causes.list->nelts, 50);
    assert_string_equal(cause(&causes, 0)->cause, "most of all");
    assert_int_equal(cause(&causes, 0)->count, 10);
    for (int i = 1; i < 50; i++) {
        assert_string_equal(cause(&causes, i)->cause,
                            apr_psprintf(fixture->pool, "cause %d", i - 1));
        assert_int_equal(cause(&causes, i)->count, 5);
        assert_int_equal(cause(&causes, i)->first, i);
        assert_int_equal(cause(&causes, i)->last, i + 1200);
    }
}

/* ---- retry ---- */

/* A grid set of EPSG:4326: 2 x 1 tiles at level 0. */
static const tseed_positions_t *positions_of(const fixture_t *fixture, const tseed_bounds_t *bounds)
{
    tseed_positions_t *positions = apr_palloc(fixture->pool, sizeof(*positions));

    tseed_positions_init(positions, tseed_gridset_builtin("EPSG:4326"), bounds,
                         &(tseed_shape_t){0, 4, 4, 4});
    return positions;
}

/* A retry of a task; its metatiles as text. */
static const char *retried(const fixture_t *fixture, tseed_task_t *task,
                           const tseed_bounds_t *bounds)
{
    apr_array_header_t *list;
    const char *text = "";

    assert_int_equal(
        tseed_state_task_retry(fixture->state, task, positions_of(fixture, bounds), MOST),
        APR_SUCCESS);
    assert_int_equal(tseed_state_metatiles(fixture->state, &list, task->id, fixture->pool),
                     APR_SUCCESS);
    for (int i = 0; i < list->nelts; i++) {
        const tseed_tile_t *first = &APR_ARRAY_IDX(list, i, tseed_tile_t);

        text = apr_psprintf(fixture->pool, "%s%s%d/%d/%d", text, i ? " " : "", first->z,
                            (int)first->x, (int)first->y);
    }
    return text;
}

static void test_history__a_retry_lists_what_failed_in_its_task(void **data)
{
    int64_t levels[TSEED_LEVELS_MAX];
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a"), *loaded;
    tseed_progress_t progress;
    /* level 4 has 32 x 16 tiles of 11.25 degrees: of columns 12 to 15 the bounds leave 13 to 15,
     * of rows 8 to 11 they leave 8 */
    const tseed_bounds_t bounds = {-33.75, 0, 180, 11.25};

    task.retry_of = insert(fixture, "a");
    give_up(fixture, task.retry_of, 4, 16, 8);
    give_up(fixture, task.retry_of, 4, 12, 8);
    give_up(fixture, task.retry_of, 0, 0, 0);
    give_up(fixture, task.retry_of, 4, 16, 0); /* nothing of it is wanted */
    give_up(fixture, insert(fixture, "a"), 4, 28, 8);
    assert_string_equal(retried(fixture, &task, &bounds), "0/0/0 4/12/8 4/16/8");
    assert_int_equal(tseed_state_metatile_levels(fixture->state, levels, task.id), APR_SUCCESS);
    for (int z = 0; z < TSEED_LEVELS_MAX; z++) {
        assert_int_equal(levels[z], z == 0 ? 1 : z == 4 ? 2 : 0);
    }
    assert_int_equal(task.tiles_total, 2 + 3 + 4);
    assert_int_equal(
        tseed_state_task_get(fixture->state, &loaded, &progress, task.id, fixture->pool),
        APR_SUCCESS);
    assert_int_equal(loaded->retry_of, task.retry_of);
    assert_int_equal(loaded->tiles_total, 9);
    assert_int_equal(progress.state, TSEED_PENDING);

    /* what fails of it is its own */
    give_up(fixture, task.id, 4, 12, 8);
    task.retry_of = task.id;
    assert_string_equal(retried(fixture, &task, &bounds), "4/12/8");
    assert_int_equal(task.tiles_total, 3);
}

static void test_history__a_retry_may_be_long(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    const tseed_positions_t *positions = positions_of(fixture, &task.bounds);
    apr_array_header_t *list;

    task.retry_of = insert(fixture, "a");
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    for (int i = 0; i < 2000; i++) {
        give_up(fixture, task.retry_of, 4, i,
                0); /* not aligned: there are not so many in the world */
    }
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_task_retry(fixture->state, &task, positions, MOST), APR_SUCCESS);
    assert_int_equal(tseed_state_metatiles(fixture->state, &list, task.id, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(list->nelts, 32);
    assert_int_equal(task.tiles_total, 32 * 16);
}

static void test_history__nothing_failed_is_nothing_to_retry(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    const tseed_positions_t *positions = positions_of(fixture, &task.bounds);

    task.retry_of = insert(fixture, "a");
    assert_int_equal(tseed_state_task_retry(fixture->state, &task, positions, MOST), APR_NOTFOUND);
    give_up(fixture, task.retry_of, 4, 0, 0);
    assert_int_equal(tseed_state_task_retry(fixture->state, &task, positions, 1), APR_EAGAIN);
    assert_string_equal(found(fixture, NULL, NULL), "1");
    assert_int_equal(tseed_state_task_retry(fixture->state, &task, positions, MOST), APR_SUCCESS);
    assert_int_equal(task.id, 2); /* a refused one takes no id */
}

static void test_history__a_retry_is_forgotten_with_its_list(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    apr_array_header_t *list;

    task.retry_of = insert(fixture, "a");
    give_up(fixture, task.retry_of, 4, 0, 0);
    assert_string_equal(retried(fixture, &task, &task.bounds), "4/0/0");
    end(fixture, task.id, TSEED_DONE);
    assert_int_equal(tseed_state_trim(fixture->state, 0, 0), APR_SUCCESS);
    assert_int_equal(tseed_state_metatiles(fixture->state, &list, task.id, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(list->nelts, 0);
    assert_string_equal(found(fixture, NULL, NULL), "1");
}

/* ---- measurements ---- */

static void test_history__measurements_add_up_by_tile_set_and_level(void **data)
{
    fixture_t *fixture = *data;
    const tseed_measure_t one = {1, 16, 1000.5, 62500.25, 0.125, 0.0009765625, 0, 0};
    const tseed_measure_t two = {3, 40, 3e12, 1e20, 2, 1, 64, 0.5};
    tseed_measure_t measures[TSEED_LEVELS_MAX];

    assert_int_equal(tseed_state_measure_add(fixture->state, "a/b", 3, &one), APR_SUCCESS);
    assert_int_equal(tseed_state_measure_add(fixture->state, "a/b", 3, &two), APR_SUCCESS);
    assert_int_equal(tseed_state_measure_add(fixture->state, "a/b", 21, &one), APR_SUCCESS);
    assert_int_equal(tseed_state_measure_add(fixture->state, "a/c", 4, &one), APR_SUCCESS);
    assert_int_equal(tseed_state_measures(fixture->state, measures, "a/b"), APR_SUCCESS);
    assert_int_equal(measures[3].metatiles, 4);
    assert_int_equal(measures[3].tiles, 56);
    assert_float_equal(measures[3].bytes, 3000000001000.5, 0.01);
    assert_float_equal(measures[3].bytes_squares / 1e20, 1, 1e-12);
    assert_float_equal(measures[3].busy, 2.125, 1e-12);
    assert_float_equal(measures[3].busy_squares, 1.0009765625, 1e-12);
    assert_float_equal(measures[3].looks, 64, 1e-12);
    assert_float_equal(measures[3].looking, 0.5, 1e-12);
    assert_int_equal(measures[21].tiles, 16);
    assert_int_equal(measures[4].tiles, 0);
    assert_int_equal(tseed_state_measures(fixture->state, measures, "a"), APR_SUCCESS);
    assert_int_equal(measures[3].tiles, 0);
}

/* ---- accepting ---- */

#define DAY (APR_INT64_C(86400) * APR_USEC_PER_SEC)

/* What a client's request becomes; the task is a copy. */
static tseed_acceptance_t accepted(const fixture_t *fixture, tseed_task_t task, const char *key,
                                   const char *digest, int lenient)
{
    tseed_acceptance_t acceptance = {.task = apr_pmemdup(fixture->pool, &task, sizeof(task)),
                                     .most = MOST,
                                     .key = key,
                                     .digest = digest,
                                     .lenient = lenient};

    assert_int_equal(tseed_state_accept(fixture->state, &acceptance), APR_SUCCESS);
    return acceptance;
}

static void assert_accepted(tseed_acceptance_t acceptance, tseed_outcome_of_request_t outcome,
                            int64_t id)
{
    assert_int_equal(acceptance.outcome, outcome);
    assert_int_equal(acceptance.task->id, id);
}

static void test_history__a_key_is_kept_for_a_day(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");

    task.created = 3 * DAY;
    assert_accepted(accepted(fixture, task, "k", "d", 0), TSEED_ACCEPTED, 1);
    assert_accepted(accepted(fixture, task, "k", "d", 0), TSEED_REPEATED, 1);
    assert_accepted(accepted(fixture, task, "k", "e", 0), TSEED_DIFFERS, 1);
    assert_accepted(accepted(fixture, task, "l", "d", 0), TSEED_ACCEPTED, 2);
    task.requested_by = "alice";
    assert_accepted(accepted(fixture, task, "k", "e", 0), TSEED_ACCEPTED, 3);
    assert_accepted(accepted(fixture, task, NULL, NULL, 0), TSEED_ACCEPTED, 4);

    end(fixture, 3, TSEED_DONE);
    assert_int_equal(tseed_state_trim(fixture->state, 0, 0), APR_SUCCESS);
    task.created += DAY;
    assert_accepted(accepted(fixture, task, "k", "e", 0), TSEED_REPEATED, 3);
    task.created += 1;
    assert_accepted(accepted(fixture, task, "k", "e", 0), TSEED_ACCEPTED, 5);
    assert_string_equal(found(fixture, NULL, NULL), "5 4 2 1");
}

static void test_history__a_key_of_a_refused_request_is_free(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    tseed_acceptance_t acceptance = {.task = &task, .most = 0, .key = "k", .digest = "d"};

    assert_int_equal(tseed_state_accept(fixture->state, &acceptance), APR_EAGAIN);
    assert_accepted(accepted(fixture, task, "k", "e", 0), TSEED_ACCEPTED, 1);
}

static void test_history__a_retry_has_a_key_as_well(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    tseed_acceptance_t acceptance = {.task = &task,
                                     .retry = positions_of(fixture, &task.bounds),
                                     .most = MOST,
                                     .key = "k",
                                     .digest = "d"};

    task.retry_of = insert(fixture, "a");
    give_up(fixture, task.retry_of, 4, 0, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tseed_state_accept(fixture->state, &acceptance), APR_SUCCESS);
        assert_accepted(acceptance, i ? TSEED_REPEATED : TSEED_ACCEPTED, 2);
    }
}

static void test_history__a_pending_task_covers_what_is_within(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a"), less = task, more = task, other;
    int won;

    less.zoom_start = 2;
    less.bounds = (tseed_bounds_t){-180, 0, 10, 90};
    more.zoom_stop = 5;
    assert_accepted(accepted(fixture, task, NULL, NULL, 1), TSEED_ACCEPTED, 1);
    assert_accepted(accepted(fixture, task, NULL, NULL, 1), TSEED_COVERED, 1);
    assert_accepted(accepted(fixture, less, NULL, NULL, 1), TSEED_COVERED, 1);
    assert_accepted(accepted(fixture, less, NULL, NULL, 0), TSEED_ACCEPTED, 2);
    assert_accepted(accepted(fixture, more, NULL, NULL, 1), TSEED_ACCEPTED, 3);
    for (int i = 0; i < 6; i++) {
        apr_table_t *parameters = apr_table_make(fixture->pool, 1);

        apr_table_set(parameters, "STYLES", "x");
        other = task;
        other.type = i == 0 ? TSEED_RESEED : task.type;
        other.gridset = i == 1 ? "EPSG:3857" : task.gridset;
        other.format = i == 2 ? "image/jpeg" : task.format;
        other.layer = i == 3 ? "b" : task.layer;
        other.parameters = i == 4 ? parameters : task.parameters;
        other.store_print = i == 5 ? "another" : task.store_print;
        assert_accepted(accepted(fixture, other, NULL, NULL, 1), TSEED_ACCEPTED, 4 + i);
    }
    /* running ones may have passed what is wanted, ended ones are over */
    assert_int_equal(tseed_state_task_claim(fixture->state, 1, 5, &won), APR_SUCCESS);
    end(fixture, 3, TSEED_DONE);
    assert_accepted(accepted(fixture, task, NULL, NULL, 1), TSEED_ACCEPTED, 10);
    assert_accepted(accepted(fixture, less, "k", "d", 1), TSEED_COVERED, 2);
    assert_accepted(accepted(fixture, less, "k", "d", 1), TSEED_REPEATED, 2);
}

static void test_history__a_truncate_between_uncovers(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a"), truncate = task;

    truncate.type = TSEED_TRUNCATE;
    assert_accepted(accepted(fixture, task, NULL, NULL, 1), TSEED_ACCEPTED, 1);
    assert_accepted(accepted(fixture, truncate, NULL, NULL, 1), TSEED_ACCEPTED, 2);
    assert_accepted(accepted(fixture, truncate, NULL, NULL, 1), TSEED_ACCEPTED, 3);
    assert_accepted(accepted(fixture, task, NULL, NULL, 1), TSEED_ACCEPTED, 4);
    assert_accepted(accepted(fixture, task, NULL, NULL, 1), TSEED_COVERED, 4);
}

static int group_setup(void **data)
{
    (void)data;
    apr_initialize();
    tseed_document_init();
    return 0;
}

static int group_teardown(void **data)
{
    (void)data;
    apr_terminate();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_history__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_tasks_newest_first),
        TEST(a_record_is_what_was_recorded),
        TEST(terminates_one_task),
        TEST(pages_through_failures_in_order),
        TEST(causes_by_their_number),
        TEST(causes_are_bounded),
        TEST(a_retry_lists_what_failed_in_its_task),
        TEST(a_retry_may_be_long),
        TEST(nothing_failed_is_nothing_to_retry),
        TEST(a_retry_is_forgotten_with_its_list),
        TEST(measurements_add_up_by_tile_set_and_level),
        TEST(a_key_is_kept_for_a_day),
        TEST(a_key_of_a_refused_request_is_free),
        TEST(a_retry_has_a_key_as_well),
        TEST(a_pending_task_covers_what_is_within),
        TEST(a_truncate_between_uncovers),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, group_teardown));
}
