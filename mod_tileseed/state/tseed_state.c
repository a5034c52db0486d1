/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The handle, and what httpd's children do with it: reading, accepting tasks. */
#include "state/tseed_state.h"

#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>

#include "base/tseed_log.h"
#include "protocol/tseed_answer.h"
#include "protocol/tseed_parameters.h"
#include "state/tseed_pgsql.h"
#include "state/tseed_record.h"
#include "state/tseed_sqlite.h"
#include "state/tseed_work.h"

/* Accepting a request that may be there already: sent again by a client that heard no answer, or
 * meant by another task. */

#define KEPT (APR_INT64_C(86400) * APR_USEC_PER_SEC) /* a request's key */

/* ---- a request that came before ---- */

static apr_status_t find_request(tseed_state_t *state, tseed_acceptance_t *call)
{
    const int64_t before = call->task->created - KEPT;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_change(&state->db, NULL, TSEED_SQL_REQUESTS_FORGET,
                                            (const void *[]){&before});

    if (rv == APR_SUCCESS) {
        rv = tseed_database_select(&rows, &state->db, TSEED_SQL_REQUEST_GET,
                                   (const void *[]){call->task->requested_by, call->key},
                                   state->scratch);
    }
    if (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        call->outcome =
            strcmp(tseed_rows_text(&rows), call->digest) == 0 ? TSEED_REPEATED : TSEED_DIFFERS;
        call->task->id = tseed_rows_int64(&rows);
    }
    return rv;
}

static apr_status_t add_request(tseed_state_t *state, const tseed_acceptance_t *call)
{
    const tseed_task_t *task = call->task;

    return tseed_database_change(
        &state->db, NULL, TSEED_SQL_REQUEST_ADD,
        (const void *[]){task->requested_by, call->key, call->digest, &task->id, &task->created});
}

/* ---- a task that covers it ---- */

static int covers(const tseed_task_t *task, const tseed_task_t *wanted)
{
    return task->type == wanted->type && !task->retry_of && task->has_area &&
           task->zoom_start <= wanted->zoom_start && task->zoom_stop >= wanted->zoom_stop &&
           task->bounds.minx <= wanted->bounds.minx && task->bounds.miny <= wanted->bounds.miny &&
           task->bounds.maxx >= wanted->bounds.maxx && task->bounds.maxy >= wanted->bounds.maxy &&
           task->derived.first == wanted->derived.first &&
           task->derived.end == wanted->derived.end &&
           strcmp(task->gridset_print, wanted->gridset_print) == 0 &&
           strcmp(task->store_print, wanted->store_print) == 0;
}

/* The first pending task that covers the request. No truncate may have come after that task: it
 * would remove what the task makes. */
static apr_status_t find_cover(tseed_state_t *state, tseed_acceptance_t *call)
{
    tseed_task_t *wanted = call->task;
    int64_t found = 0;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(
        &rows, &state->db, TSEED_SQL_TASKS_OF_SET,
        (const void *[]){wanted->layer, wanted->gridset, wanted->format,
                         tseed_parameters_save(wanted->parameters, state->scratch)},
        state->scratch);

    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        const tseed_task_t *task = tseed_record_task_load(&rows);
        const int is_pending = tseed_rows_int(&rows) == TSEED_PENDING;

        if (task->type == TSEED_TRUNCATE) {
            found = 0;
        } else if (!found && is_pending && covers(task, wanted)) {
            found = task->id;
        }
    }
    if (found) {
        wanted->id = found;
        call->outcome = TSEED_COVERED;
    }
    return rv;
}

/* ---- accept ---- */

/* Requests are accepted one after the other: what one looks for here, no other adds meanwhile. */
static apr_status_t accept_one(tseed_state_t *state, void *baton)
{
    tseed_acceptance_t *call = baton;
    const int may_cover =
        call->lenient && !call->retry && call->task->has_area && call->task->type != TSEED_TRUNCATE;
    int64_t last;
    apr_status_t rv = tseed_work_number(state, &last, TSEED_SQL_ID_HOLD, NULL);

    call->outcome = TSEED_ACCEPTED;
    if (rv == APR_SUCCESS && call->key) {
        rv = find_request(state, call);
    }
    if (rv != APR_SUCCESS || call->outcome != TSEED_ACCEPTED) {
        return rv;
    }
    if (may_cover) {
        rv = find_cover(state, call);
    }
    if (rv == APR_SUCCESS && call->outcome == TSEED_ACCEPTED) {
        rv = call->retry ? tseed_state_task_retry(state, call->task, call->retry, call->most)
                         : tseed_state_task_insert(state, call->task, call->most);
    }
    return rv == APR_SUCCESS && call->key ? add_request(state, call) : rv;
}

apr_status_t tseed_state_accept(tseed_state_t *state, tseed_acceptance_t *acceptance)
{
    return tseed_work_write(state, accept_one, acceptance);
}

#define CHUNK 512 /* rows that are read at a time */

/* ---- the handle ---- */

static apr_status_t close_state(void *data)
{
    tseed_state_t *state = data;

    tseed_database_disconnect(&state->db);
    return APR_SUCCESS;
}

/* Logs why the database can't be used. Each call tries again, so the same reason is an error once
 * and only for debugging afterwards. */
static void log_reason(apr_status_t rv, const char *reason)
{
    static char said[TSEED_DATABASE_ERROR_SIZE];
    int repeated = strcmp(said, reason) == 0;

    apr_cpystrn(said, reason, sizeof(said));
    tseed_log(repeated ? TSEED_LOG_DEBUG : TSEED_LOG_ERROR, rv,
              "TS0043: the state database can't be used: %s", reason);
}

static const tseed_sql_dialect_t *dialect_of(const char *driver)
{
    static const tseed_sql_dialect_t *const dialects[] = {&tseed_sqlite_dialect,
                                                          &tseed_pgsql_dialect};

    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        if (strcmp(dialects[i]->driver, driver) == 0) {
            return dialects[i];
        }
    }
    return NULL;
}

/* Connects for the first time. */
static apr_status_t begin(tseed_state_t *state, const char *dir, const char *driver,
                          const char *params)
{
    tseed_database_t *db = &state->db;

    db->dialect = dialect_of(driver);
    if (!db->dialect) {
        return tseed_database_fail(db, APR_ENOTIMPL,
                                   "driver %s is not supported, sqlite3 and pgsql are", driver);
    }
    db->path = db->dialect->params(db, dir, params);
    return db->path ? tseed_work_ready(state) : APR_EINVAL;
}

apr_status_t tseed_state_open(tseed_state_t **state, const char *dir, const char *driver,
                              const char *params, apr_pool_t *pool)
{
    apr_pool_t *own;
    tseed_state_t *opened;
    apr_status_t rv;

    *state = NULL;
    apr_pool_create(&own, pool);
    opened = apr_pcalloc(own, sizeof(*opened));
    opened->pool = own;
    apr_pool_create(&opened->scratch, own);
    apr_pool_create(&opened->db.parent, own);
    opened->db.scratch = opened->scratch;
    rv = begin(opened, dir, driver && *driver ? driver : "sqlite3", params);
    if (rv != APR_SUCCESS) {
        log_reason(rv, opened->db.error);
        apr_pool_destroy(own);
        return rv;
    }
    apr_pool_pre_cleanup_register(own, opened, close_state);
    *state = opened;
    return APR_SUCCESS;
}

apr_status_t tseed_state_ready(tseed_state_t **state, const tseed_settings_t *settings,
                               apr_pool_t *pool)
{
    return *state ? APR_SUCCESS
                  : tseed_state_open(state, settings->state_dir, settings->db_driver,
                                     settings->db_params, pool);
}

void tseed_state_close(tseed_state_t *state)
{
    apr_pool_destroy(state->pool);
}

void tseed_state_hurry(tseed_state_t *state)
{
    state->is_hurried = 1;
}

const char *tseed_state_error(const tseed_state_t *state)
{
    return state->db.error;
}

/* ---- insert ---- */

typedef struct {
    tseed_task_t *task;
    int64_t most;
} insert_t;

/* A task without tiles is done as soon as it is there: it takes no place, and no list has it. */
static apr_status_t finish_empty(tseed_state_t *state, const tseed_task_t *task)
{
    const tseed_progress_t progress = {.state = TSEED_DONE, .started = task->created};
    const void *const more[] = {&progress.state, progress.reason,
                                tseed_reason_name(progress.reason_code), &task->created, &task->id};

    return tseed_record_progress_save(&state->db, NULL, TSEED_SQL_TASK_FINISH, &progress, more, 5);
}

static apr_status_t insert(tseed_state_t *state, void *baton)
{
    insert_t *call = baton;
    const int is_empty = call->task->tiles_total == 0;
    apr_status_t rv = tseed_work_next_id(state, &call->task->id, is_empty ? INT64_MAX : call->most);

    if (rv == APR_SUCCESS) {
        rv = tseed_record_task_insert(&state->db, call->task, state->scratch);
    }
    return rv == APR_SUCCESS && is_empty ? finish_empty(state, call->task) : rv;
}

apr_status_t tseed_state_task_insert(tseed_state_t *state, tseed_task_t *task, int64_t most)
{
    apr_status_t rv = tseed_work_write(state, insert, &(insert_t){task, most});

    if (rv != APR_SUCCESS) {
        task->id = 0;
    }
    return rv;
}

/* ---- get ---- */

typedef struct {
    tseed_task_t **task;
    tseed_progress_t *progress;
    int64_t id;
    apr_pool_t *pool;
} get_t;

static apr_status_t get(tseed_state_t *state, void *baton)
{
    const get_t *call = baton;
    tseed_task_record_t record;
    tseed_rows_t rows;
    const apr_status_t rv = tseed_database_first(&rows, &state->db, TSEED_SQL_TASK_GET,
                                                 (const void *[]){&call->id}, state->scratch);

    if (rv == APR_SUCCESS) {
        rows.texts = call->pool;
        tseed_record_load(&record, &rows);
        *call->task = record.task;
        *call->progress = record.progress;
    }
    return rv;
}

apr_status_t tseed_state_task_get(tseed_state_t *state, tseed_task_t **task,
                                  tseed_progress_t *progress, int64_t id, apr_pool_t *pool)
{
    return tseed_work_read(state, get, &(get_t){task, progress, id, pool});
}

/* ---- terminate ---- */

typedef struct {
    apr_array_header_t *terminated;
    const tseed_termination_t *what;
} terminate_t;

/* Terminates tasks of one state; `which` is the statement's last argument, a layer or an id. */
static apr_status_t terminate_some(tseed_state_t *state, terminate_t *call, int before,
                                   tseed_sql_t sql, const void *which)
{
    const void *args[] = {&call->what->now,   &call->what->now, &call->what->now,
                          call->what->reason, &before,          which};
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(&rows, &state->db, sql, args, state->scratch);

    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        tseed_terminated_t *task = apr_array_push(call->terminated);

        rows.texts = call->terminated->pool;
        tseed_rows_scan(&rows, &task->id, &task->layer);
        task->type = tseed_record_type(tseed_rows_int(&rows));
        task->before = (tseed_task_state_t)before;
        task->confirmed = 0;
    }
    return rv;
}

static apr_status_t terminate_state(tseed_state_t *state, terminate_t *call, int before)
{
    const apr_array_header_t *layers = call->what->layers;
    apr_status_t rv = APR_SUCCESS;

    if (!(call->what->mask & 1U << before)) {
        return APR_SUCCESS;
    }
    if (call->what->task) {
        return terminate_some(state, call, before, TSEED_SQL_TERMINATE_ONE, &call->what->task);
    }
    if (!layers) {
        return terminate_some(state, call, before, TSEED_SQL_TERMINATE, NULL);
    }
    for (int i = 0; rv == APR_SUCCESS && i < layers->nelts; i++) {
        rv = terminate_some(state, call, before, TSEED_SQL_TERMINATE_OF_LAYER,
                            APR_ARRAY_IDX(layers, i, const char *));
    }
    return rv;
}

/* Without it a task would be missed that a new seeder makes PENDING again between the looks at the
 * two states. */
static apr_status_t hold(tseed_state_t *state, const tseed_termination_t *what)
{
    int64_t held;
    const apr_status_t rv =
        what->task
            ? tseed_work_number(state, &held, TSEED_SQL_TASK_HOLD, (const void *[]){&what->task})
            : tseed_work_number(state, &held, TSEED_SQL_TASKS_HOLD, NULL);

    return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
}

static apr_status_t terminate(tseed_state_t *state, void *baton)
{
    terminate_t *call = baton;
    apr_status_t rv = hold(state, call->what);

    apr_array_clear(call->terminated);
    if (rv == APR_SUCCESS) {
        rv = terminate_state(state, call, TSEED_PENDING);
    }
    return rv == APR_SUCCESS ? terminate_state(state, call, TSEED_RUNNING) : rv;
}

static int by_id(const void *a, const void *b)
{
    int64_t left = ((const tseed_terminated_t *)a)->id;
    int64_t right = ((const tseed_terminated_t *)b)->id;

    return (left > right) - (left < right);
}

apr_status_t tseed_state_terminate(tseed_state_t *state, apr_array_header_t **terminated,
                                   const tseed_termination_t *what, apr_pool_t *pool)
{
    terminate_t call = {apr_array_make(pool, 8, sizeof(tseed_terminated_t)), what};
    apr_status_t rv = tseed_work_write(state, terminate, &call);

    *terminated = call.terminated;
    qsort(call.terminated->elts, (size_t)call.terminated->nelts, sizeof(tseed_terminated_t), by_id);
    return rv;
}

/* ---- list ---- */

typedef struct {
    apr_array_header_t *rows;
    const char *layer;
} list_t;

static void load_row(void *data, tseed_rows_t *rows)
{
    tseed_status_row_t *row = data;

    tseed_rows_scan(rows, &row->id, &row->total, &row->processed);
    row->state = (tseed_task_state_t)tseed_rows_int(rows);
}

static apr_status_t list(tseed_state_t *state, void *baton)
{
    const list_t *call = baton;
    int64_t after = 0;
    const int64_t most = CHUNK;
    const void *of_all[] = {&after, &most};
    const void *of_layer[] = {&after, call->layer, &most};
    apr_status_t rv;
    int count = 0;

    apr_array_clear(call->rows);
    do {
        count = call->rows->nelts;
        rv = tseed_work_add_rows(state, call->rows, load_row,
                                 call->layer ? TSEED_SQL_ROWS_AFTER_OF_LAYER : TSEED_SQL_ROWS_AFTER,
                                 call->layer ? of_layer : of_all);
        count = call->rows->nelts - count;
        after = count ? APR_ARRAY_IDX(call->rows, call->rows->nelts - 1, tseed_status_row_t).id : 0;
        apr_pool_clear(state->scratch);
    } while (rv == APR_SUCCESS && count == CHUNK);
    return rv;
}

apr_status_t tseed_state_list(tseed_state_t *state, apr_array_header_t **rows, const char *layer,
                              apr_pool_t *pool)
{
    list_t call = {apr_array_make(pool, 16, sizeof(tseed_status_row_t)), layer};

    *rows = call.rows;
    return tseed_work_read(state, list, &call);
}

static apr_status_t find_one(tseed_state_t *state, void *baton)
{
    int64_t id;

    return tseed_work_number(state, &id, TSEED_SQL_LAYER_HAS, (const void *[]){baton});
}

apr_status_t tseed_state_has_tasks(tseed_state_t *state, int *has, const char *layer)
{
    apr_status_t rv = tseed_work_read(state, find_one, (void *)layer);

    *has = rv == APR_SUCCESS;
    return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
}

static apr_status_t find_newest(tseed_state_t *state, void *baton)
{
    return tseed_work_number(state, baton, TSEED_SQL_ID_GET, NULL);
}

apr_status_t tseed_state_newest(tseed_state_t *state, int64_t *id)
{
    return tseed_work_read(state, find_newest, id);
}

/* ---- quota ---- */

typedef struct {
    const char **saved, **directive;
    int64_t *version;
    apr_pool_t *pool;
} quota_get_t;

static apr_status_t quota_get(tseed_state_t *state, void *baton)
{
    quota_get_t *call = baton;
    tseed_rows_t rows;
    const apr_status_t rv =
        tseed_database_first(&rows, &state->db, TSEED_SQL_QUOTA_GET, NULL, state->scratch);

    rows.texts = call->pool;
    if (rv == APR_SUCCESS) {
        tseed_rows_scan(&rows, call->saved, call->directive, call->version);
    }
    return rv;
}

apr_status_t tseed_state_quota_get(tseed_state_t *state, const char **saved, const char **directive,
                                   int64_t *version, apr_pool_t *pool)
{
    return tseed_work_read(state, quota_get, &(quota_get_t){saved, directive, version, pool});
}

apr_status_t tseed_state_quota_set(tseed_state_t *state, const char *saved, const char *directive,
                                   int64_t version)
{
    const void *args[] = {saved, directive, &version};
    int rows = 0;
    const apr_status_t rv = tseed_work_change(
        state, &rows, version > 0 ? TSEED_SQL_QUOTA_UPDATE : TSEED_SQL_QUOTA_INSERT, args);

    return rv == APR_SUCCESS && rows == 0
               ? tseed_database_fail(&state->db, APR_EAGAIN,
                                     "the disk quota is no longer at version %" APR_INT64_T_FMT,
                                     version)
               : rv;
}
