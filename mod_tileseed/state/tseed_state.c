/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The handle, and what httpd's children do with it. */
#include "state/tseed_state.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_log.h"
#include "protocol/tseed_answer.h"
#include "state/tseed_pgsql.h"
#include "state/tseed_record.h"
#include "state/tseed_sqlite_open.h"
#include "state/tseed_work.h"

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
    get_t *call = baton;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(&rows, &state->db, TSEED_SQL_TASK_GET,
                                            (const void *[]){&call->id}, state->scratch);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (!tseed_rows_next(&rows)) {
        return APR_NOTFOUND;
    }
    *call->task = tseed_record_task_load(&rows, call->pool);
    tseed_record_progress_load(call->progress, &rows);
    return APR_SUCCESS;
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

        task->id = tseed_rows_int64(&rows);
        task->layer = apr_pstrdup(call->terminated->pool, tseed_rows_text(&rows));
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

/* Adds the next rows; *more is 0 when there are none behind them. */
static apr_status_t list_chunk(tseed_state_t *state, list_t *call, int64_t *after, int *more)
{
    const int64_t most = CHUNK;
    const void *of_all[] = {after, &most};
    const void *of_layer[] = {after, call->layer, &most};
    tseed_rows_t rows;
    int count = 0;
    apr_status_t rv = tseed_database_select(
        &rows, &state->db, call->layer ? TSEED_SQL_ROWS_AFTER_OF_LAYER : TSEED_SQL_ROWS_AFTER,
        call->layer ? of_layer : of_all, state->scratch);

    for (; rv == APR_SUCCESS && tseed_rows_next(&rows); count++) {
        tseed_status_row_t *row = apr_array_push(call->rows);

        row->id = *after = tseed_rows_int64(&rows);
        row->total = tseed_rows_int64(&rows);
        row->processed = tseed_rows_int64(&rows);
        row->state = (tseed_task_state_t)tseed_rows_int(&rows);
    }
    *more = count == CHUNK;
    apr_pool_clear(state->scratch);
    return rv;
}

static apr_status_t list(tseed_state_t *state, void *baton)
{
    list_t *call = baton;
    apr_status_t rv = APR_SUCCESS;
    int64_t after = 0;
    int more = 1;

    apr_array_clear(call->rows);
    while (rv == APR_SUCCESS && more) {
        rv = list_chunk(state, call, &after, &more);
    }
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
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, TSEED_SQL_QUOTA_GET, NULL, state->scratch);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (!tseed_rows_next(&rows)) {
        return APR_NOTFOUND;
    }
    *call->saved = apr_pstrdup(call->pool, tseed_rows_text(&rows));
    *call->directive = apr_pstrdup(call->pool, tseed_rows_text(&rows));
    *call->version = tseed_rows_int64(&rows);
    return APR_SUCCESS;
}

apr_status_t tseed_state_quota_get(tseed_state_t *state, const char **saved, const char **directive,
                                   int64_t *version, apr_pool_t *pool)
{
    return tseed_work_read(state, quota_get, &(quota_get_t){saved, directive, version, pool});
}

typedef struct {
    const char *saved, *directive;
    int64_t version;
} quota_set_t;

static apr_status_t quota_set(tseed_state_t *state, void *baton)
{
    quota_set_t *call = baton;
    const void *args[] = {call->saved, call->directive, &call->version};
    int rows = 0;
    apr_status_t rv = tseed_database_change(
        &state->db, &rows, call->version > 0 ? TSEED_SQL_QUOTA_UPDATE : TSEED_SQL_QUOTA_INSERT,
        args);

    if (rv == APR_SUCCESS && rows == 0) {
        rv = tseed_database_fail(&state->db, APR_EAGAIN,
                                 "the disk quota is no longer at version %" APR_INT64_T_FMT,
                                 call->version);
    }
    return rv;
}

apr_status_t tseed_state_quota_set(tseed_state_t *state, const char *saved, const char *directive,
                                   int64_t version)
{
    return tseed_work_write(state, quota_set, &(quota_set_t){saved, directive, version});
}
