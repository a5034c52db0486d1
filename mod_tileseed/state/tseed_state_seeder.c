/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's functions of the state. */
#include "state/tseed_record.h"
#include "state/tseed_sqlite.h"
#include "state/tseed_sqlite_salvage.h"
#include "state/tseed_work.h"

#define CHUNK     256                /* tasks that are read at a time */
#define TRIM_MOST 500                /* tasks a call … */
#define TRIM_ROWS 5000               /* … and about as many failures */
#define LOG_MOST  (16 * 1024 * 1024) /* bytes that a stop has time for */

/* ---- the end ---- */

void tseed_state_settle(tseed_state_t *state)
{
    tseed_database_t *db = &state->db;

    if (db->dialect->has_file && db->handle && !db->lost && !db->in_transaction &&
        tseed_sqlite_check_file(db) == APR_SUCCESS && tseed_sqlite_log_size(db) <= LOG_MOST) {
        tseed_sqlite_finish(db);
        apr_pool_clear(state->scratch);
    }
}

/* ---- which one it is ---- */

uint64_t tseed_state_file(const tseed_state_t *state)
{
    return state->db.dialect->has_file ? (uint64_t)state->db.inode : 0;
}

/* ---- taking in ---- */

typedef struct {
    apr_array_header_t *records; /* of tseed_task_record_t */
    int64_t after;
} tasks_t;

static apr_status_t load_tasks(tseed_state_t *state, void *baton)
{
    const tasks_t *call = baton;
    const apr_array_header_t *records = call->records;
    int64_t after = call->after;
    const int64_t most = CHUNK;
    apr_status_t rv;
    int count;

    apr_array_clear(call->records);
    do {
        count = records->nelts;
        rv = tseed_work_add_rows(state, call->records, tseed_record_load, TSEED_SQL_TASKS_AFTER,
                                 (const void *[]){&after, &most});
        count = records->nelts - count;
        after = count ? APR_ARRAY_IDX(records, records->nelts - 1, tseed_task_record_t).task->id
                      : after;
        apr_pool_clear(state->scratch);
    } while (rv == APR_SUCCESS && count == CHUNK);
    return rv;
}

apr_status_t tseed_state_new_tasks(tseed_state_t *state, apr_array_header_t **records,
                                   int64_t after, apr_pool_t *pool)
{
    tasks_t call = {apr_array_make(pool, 16, sizeof(tseed_task_record_t)), after};

    *records = call.records;
    return tseed_work_read(state, load_tasks, &call);
}

static apr_status_t recover(tseed_state_t *state, void *baton)
{
    apr_status_t rv = tseed_database_change(&state->db, NULL, TSEED_SQL_RECOVER_RUNNING, NULL);

    return rv == APR_SUCCESS ? load_tasks(state, baton) : rv;
}

/* PostgreSQL looks after its files itself. */
apr_status_t tseed_state_look_through(tseed_state_t *state, int *is_damaged)
{
    apr_status_t rv;

    apr_pool_clear(state->scratch);
    rv = tseed_work_ready(state);
    if (rv == APR_SUCCESS && state->db.dialect->has_file) {
        rv = tseed_sqlite_look_through(&state->db);
    }
    *is_damaged = rv == TSEED_EDAMAGED;
    return *is_damaged ? APR_SUCCESS : rv;
}

apr_status_t tseed_state_check(tseed_state_t *state)
{
    apr_status_t rv;

    apr_pool_clear(state->scratch);
    rv = tseed_work_ready(state);
    return rv == APR_SUCCESS && state->db.dialect->has_file ? tseed_sqlite_replace(&state->db) : rv;
}

int tseed_state_watch(tseed_state_t *state, _Atomic int64_t *waits)
{
    if (state->db.dialect->has_file) {
        return 0;
    }
    state->waits = waits;
    return 1;
}

apr_status_t tseed_state_recover(tseed_state_t *state, apr_array_header_t **records,
                                 apr_pool_t *pool)
{
    tasks_t call = {apr_array_make(pool, 16, sizeof(tseed_task_record_t)), 0};

    *records = call.records;
    return tseed_work_write(state, recover, &call);
}

static void load_id(void *id, tseed_rows_t *rows)
{
    tseed_rows_scan(rows, (int64_t *)id);
}

apr_status_t tseed_state_terminations(tseed_state_t *state, apr_array_header_t **ids,
                                      apr_pool_t *pool)
{
    *ids = apr_array_make(pool, 8, sizeof(int64_t));
    return tseed_work_list(state, *ids, load_id, TSEED_SQL_TERMINATED, NULL);
}

/* ---- lists of metatiles ---- */

typedef struct {
    apr_array_header_t *metatiles;
    int64_t task;
} metatiles_t;

static void load_metatile(void *row, tseed_rows_t *rows)
{
    tseed_tile_t *first = row;

    tseed_rows_scan(rows, &first->z, &first->x, &first->y);
}

static apr_status_t load_metatiles(tseed_state_t *state, void *baton)
{
    const metatiles_t *call = baton;
    const int64_t most = CHUNK;
    apr_status_t rv;
    int64_t from;

    apr_array_clear(call->metatiles);
    do {
        from = call->metatiles->nelts;
        rv = tseed_work_add_rows(state, call->metatiles, load_metatile, TSEED_SQL_METATILES_FROM,
                                 (const void *[]){&call->task, &from, &most});
        apr_pool_clear(state->scratch);
    } while (rv == APR_SUCCESS && call->metatiles->nelts == from + most);
    return rv;
}

apr_status_t tseed_state_metatiles(tseed_state_t *state, apr_array_header_t **metatiles,
                                   int64_t task, apr_pool_t *pool)
{
    metatiles_t call = {apr_array_make(pool, 64, sizeof(tseed_tile_t)), task};

    *metatiles = call.metatiles;
    return tseed_work_read(state, load_metatiles, &call);
}

/* ---- transactions ---- */

apr_status_t tseed_state_begin(tseed_state_t *state)
{
    apr_pool_clear(state->scratch);
    return tseed_work_begin(state);
}

apr_status_t tseed_state_commit(tseed_state_t *state)
{
    return tseed_work_commit(state);
}

void tseed_state_rollback(tseed_state_t *state)
{
    tseed_work_rollback(state);
}

/* ---- running tasks ---- */

/* One conditional update of a task: a statement, its arguments behind the counters, what it met. */
typedef struct {
    tseed_sql_t sql;
    const tseed_progress_t *progress;
    const void *args[5];
    int count;
    int rows;
} update_t;

static apr_status_t update(tseed_state_t *state, void *baton)
{
    update_t *call = baton;

    return tseed_record_progress_save(&state->db, &call->rows, call->sql, call->progress,
                                      call->args, call->count);
}

/* A task that has this very end already got it from a commit whose answer was lost. */
static apr_status_t finish(tseed_state_t *state, void *baton)
{
    update_t *call = baton;
    int64_t ended = 0;
    apr_status_t rv = update(state, call);

    if (rv == APR_SUCCESS && call->rows == 0) {
        rv = tseed_work_number(state, &ended, TSEED_SQL_TASK_ENDING,
                               (const void *[]){call->args[4], call->args[0], call->args[3]});
        call->rows = (int)ended;
    }
    return rv;
}

apr_status_t tseed_state_task_claim(tseed_state_t *state, int64_t id, apr_time_t now, int *won)
{
    int rows = 0;
    const apr_status_t rv =
        tseed_work_change(state, &rows, TSEED_SQL_TASK_CLAIM, (const void *[]){&now, &now, &id});

    *won = rv == APR_SUCCESS && rows > 0;
    return rv;
}

apr_status_t tseed_state_task_finish(tseed_state_t *state, int64_t id,
                                     const tseed_progress_t *progress, int *won)
{
    int ending = progress->state;
    update_t call = {.sql = TSEED_SQL_TASK_FINISH,
                     .progress = progress,
                     .args = {&ending, progress->reason, tseed_reason_name(progress->reason_code),
                              &progress->finished, &id},
                     .count = 5};
    apr_status_t rv = tseed_work_write(state, finish, &call);

    *won = rv == APR_SUCCESS && call.rows > 0;
    return rv;
}

apr_status_t tseed_state_task_checkpoint(tseed_state_t *state, int64_t id,
                                         const tseed_progress_t *progress, int *won)
{
    update_t call = {.sql = TSEED_SQL_TASK_CHECKPOINT,
                     .progress = progress,
                     .args = {progress->reason, tseed_reason_name(progress->reason_code), &id},
                     .count = 3};
    apr_status_t rv = tseed_work_write(state, update, &call);

    *won = rv == APR_SUCCESS && call.rows > 0;
    return rv;
}

/* Thousands of tasks can get one at once: nobody asks for the count of rows, so they are sent
 * together. */
apr_status_t tseed_state_task_reason(tseed_state_t *state, int64_t id,
                                     const tseed_progress_t *progress)
{
    const void *args[] = {progress->reason, tseed_reason_name(progress->reason_code), &id};

    return tseed_work_change(state, NULL, TSEED_SQL_TASK_REASON, args);
}

typedef struct {
    int64_t id;
    const tseed_progress_t *progress;
} confirm_t;

static apr_status_t confirm(tseed_state_t *state, void *baton)
{
    confirm_t *call = baton;
    const void *args[] = {&call->id};
    apr_status_t rv = APR_SUCCESS;

    if (call->progress) {
        rv = tseed_record_progress_save(&state->db, NULL, TSEED_SQL_TASK_COUNT_LAST, call->progress,
                                        args, 1);
    }
    return rv == APR_SUCCESS ? tseed_database_change(&state->db, NULL, TSEED_SQL_TASK_CONFIRM, args)
                             : rv;
}

apr_status_t tseed_state_task_confirm(tseed_state_t *state, int64_t id,
                                      const tseed_progress_t *progress)
{
    return tseed_work_write(state, confirm, &(confirm_t){id, progress});
}

apr_status_t tseed_state_failure_add(tseed_state_t *state, const tseed_failure_t *failure)
{
    const void *args[] = {&failure->task,     &failure->z,    &failure->x,
                          &failure->y,        failure->cause, &failure->http_status,
                          &failure->attempts, &failure->time};

    return tseed_work_change(state, NULL, TSEED_SQL_FAILURE_ADD, args);
}

/* ---- history ---- */

typedef struct {
    int64_t most;
    apr_time_t before;
} trim_t;

static apr_status_t forget(tseed_state_t *state, int64_t id, int *failures)
{
    const void *args[] = {&id};
    int rows = 0;
    apr_status_t rv = tseed_database_change(&state->db, &rows, TSEED_SQL_FAILURES_DELETE, args);

    *failures += rows;
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(&state->db, &rows, TSEED_SQL_METATILES_DELETE, args);
        *failures += rows;
    }
    return rv == APR_SUCCESS ? tseed_database_change(&state->db, NULL, TSEED_SQL_TASK_DELETE, args)
                             : rv;
}

static apr_status_t trim(tseed_state_t *state, void *baton)
{
    const trim_t *call = baton;
    const int64_t bound = TRIM_MOST;
    int64_t last = 0;
    tseed_rows_t rows;
    int failures = 0;
    apr_status_t rv =
        tseed_work_number(state, &last, TSEED_SQL_HISTORY_END, (const void *[]){&call->most});

    if (rv != APR_SUCCESS && rv != APR_NOTFOUND) {
        return rv;
    }
    rv = tseed_database_select(&rows, &state->db, TSEED_SQL_HISTORY_BEYOND,
                               (const void *[]){&last, &call->before, &bound}, state->scratch);
    while (rv == APR_SUCCESS && failures < TRIM_ROWS && tseed_rows_next(&rows)) {
        rv = forget(state, tseed_rows_int64(&rows), &failures);
    }
    return rv;
}

apr_status_t tseed_state_trim(tseed_state_t *state, int64_t most, apr_time_t before)
{
    return tseed_work_write(state, trim, &(trim_t){most, before});
}
