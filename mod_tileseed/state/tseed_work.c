/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Connecting, and the one loop through which every call goes.
 *
 * A connection is lost when the file was replaced or removed, when another process has migrated the
 * schema, and when damage shows; to PostgreSQL, when anything has failed. Then the call connects
 * again and runs once more.
 */
#include "state/tseed_work.h"

#include <stdatomic.h>

#include "base/tseed_clock.h"
#include "state/tseed_sqlite_salvage.h"

/* So long a change waits for another process's transaction. The writers of a slow disk take turns
 * by chance. */
#define LOCK_PATIENCE    (10 * APR_USEC_PER_SEC)
#define HURRIED_PATIENCE (3 * APR_USEC_PER_SEC)

apr_status_t tseed_work_ready(tseed_state_t *state)
{
    tseed_database_t *db = &state->db;

    if (db->handle && !db->lost && db->dialect->check(db) == APR_SUCCESS) {
        return APR_SUCCESS;
    }
    return db->dialect->open(db);
}

/* ---- waiting ---- */

static void begin_wait(tseed_state_t *state)
{
    if (state->waits) {
        atomic_store(state->waits, tseed_clock_monotonic());
    }
}

static void end_wait(tseed_state_t *state)
{
    if (state->waits) {
        atomic_store(state->waits, 0);
    }
}

/* ---- carrying out ---- */

/* Each try waits for a while itself. */
static apr_status_t begin_patiently(tseed_state_t *state)
{
    const apr_time_t until =
        tseed_clock_monotonic() + (state->is_hurried ? HURRIED_PATIENCE : LOCK_PATIENCE);
    apr_status_t rv;

    do {
        rv = tseed_database_begin(&state->db);
    } while (rv == EBUSY && tseed_clock_monotonic() < until);
    return rv;
}

/* Whether what failed may go well over another connection. Never when the change may have been
 * done. A file that was replaced is another matter: the change was done to the file before. */
static int may_try_again(const tseed_database_t *db)
{
    return db->lost && !db->is_away && (!db->is_uncertain || db->dialect->has_file);
}

void tseed_work_fence(tseed_state_t *state, tseed_work_t *fence, void *baton)
{
    state->fence = fence;
    state->fence_baton = baton;
}

static apr_status_t pass_fence(tseed_state_t *state)
{
    return state->fence ? state->fence(state, state->fence_baton) : APR_SUCCESS;
}

static apr_status_t write_once(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    apr_status_t rv = begin_patiently(state);

    if (rv == APR_SUCCESS) {
        rv = pass_fence(state);
    }
    if (rv == APR_SUCCESS) {
        rv = work(state, baton);
    }
    if (rv == APR_SUCCESS) {
        return state->db.dialect->commit(&state->db);
    }
    tseed_database_rollback(&state->db);
    return rv;
}

static apr_status_t read_once(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    return work(state, baton);
}

apr_status_t tseed_work_patience(tseed_state_t *state)
{
    return tseed_database_ask_all(&state->db, state->db.dialect->patience, state->scratch);
}

static apr_status_t read_long_once(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    apr_status_t rv;

    if (state->db.dialect->has_file) {
        return work(state, baton); /* readers keep nobody waiting, but a transaction would */
    }
    rv = tseed_database_begin(&state->db);
    if (rv == APR_SUCCESS) {
        rv = tseed_work_patience(state);
    }
    if (rv == APR_SUCCESS) {
        rv = work(state, baton);
    }
    tseed_database_rollback(&state->db);
    return rv;
}

typedef apr_status_t once_t(tseed_state_t *state, tseed_work_t *work, void *baton);

static apr_status_t try_often(tseed_state_t *state, once_t *once, tseed_work_t *work, void *baton)
{
    apr_status_t rv = APR_SUCCESS;

    state->db.is_uncertain = 0;
    for (int i = 0; i < state->db.dialect->tries; i++) {
        rv = tseed_work_ready(state);
        if (rv == APR_SUCCESS) {
            rv = once(state, work, baton);
        }
        if (rv == APR_SUCCESS || !may_try_again(&state->db)) {
            break;
        }
    }
    return rv != APR_SUCCESS && state->db.is_uncertain ? APR_INCOMPLETE : rv;
}

/* In a transaction that is under way already, its commit says whether the connection was lost. */
static apr_status_t carry_out(tseed_state_t *state, once_t *once, tseed_work_t *work, void *baton)
{
    const int is_nested = state->db.in_transaction;
    apr_status_t rv;

    apr_pool_clear(state->scratch);
    if (is_nested) {
        return work(state, baton);
    }
    begin_wait(state);
    rv = try_often(state, once, work, baton);
    end_wait(state);
    return rv;
}

apr_status_t tseed_work_write(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    return carry_out(state, write_once, work, baton);
}

typedef struct {
    int *rows;
    tseed_sql_t sql;
    const void *const *args;
} change_t;

static apr_status_t change_one(tseed_state_t *state, void *baton)
{
    const change_t *call = baton;

    return tseed_database_change(&state->db, call->rows, call->sql, call->args);
}

apr_status_t tseed_work_change(tseed_state_t *state, int *rows, tseed_sql_t sql,
                               const void *const *args)
{
    return tseed_work_write(state, change_one, &(change_t){rows, sql, args});
}

typedef struct {
    tseed_work_change_t *change;
    const apr_array_header_t *rows;
} changes_t;

static apr_status_t change_each(tseed_state_t *state, void *baton)
{
    const changes_t *call = baton;
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < call->rows->nelts; i++) {
        rv = call->change(&state->db, call->rows->elts + i * call->rows->elt_size);
    }
    return rv;
}

apr_status_t tseed_work_write_each(tseed_state_t *state, tseed_work_change_t *change,
                                   const apr_array_header_t *rows)
{
    return rows->nelts > 0 ? tseed_work_write(state, change_each, &(changes_t){change, rows})
                           : APR_SUCCESS;
}

apr_status_t tseed_work_read(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    return carry_out(state, read_once, work, baton);
}

apr_status_t tseed_work_add_rows(tseed_state_t *state, apr_array_header_t *list,
                                 tseed_work_row_t *load, tseed_sql_t sql, const void *const *args)
{
    tseed_rows_t rows;
    const apr_status_t rv = tseed_database_select(&rows, &state->db, sql, args, state->scratch);

    rows.texts = list->pool;
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        load(apr_array_push(list), &rows);
    }
    return rv;
}

typedef struct {
    apr_array_header_t *list;
    tseed_work_row_t *load;
    tseed_sql_t sql;
    const void *const *args;
} listing_t;

static apr_status_t list_rows(tseed_state_t *state, void *baton)
{
    const listing_t *call = baton;

    apr_array_clear(call->list);
    return tseed_work_add_rows(state, call->list, call->load, call->sql, call->args);
}

apr_status_t tseed_work_list(tseed_state_t *state, apr_array_header_t *list, tseed_work_row_t *load,
                             tseed_sql_t sql, const void *const *args)
{
    return tseed_work_read(state, list_rows, &(listing_t){list, load, sql, args});
}

apr_status_t tseed_work_read_long(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    return carry_out(state, read_long_once, work, baton);
}

/* ---- transactions of several calls ---- */

/* The question whether this host may still write takes BEGIN along. */
static apr_status_t begin_once(tseed_state_t *state)
{
    tseed_database_t *db = &state->db;
    apr_status_t rv = state->fence ? tseed_database_begin_soon(db) : tseed_database_begin(db);

    return rv == APR_SUCCESS ? pass_fence(state) : rv;
}

/* A connection that was lost meanwhile may show that only now. */
static apr_status_t begin_anyhow(tseed_state_t *state)
{
    apr_status_t rv = tseed_work_ready(state);

    state->db.is_uncertain = 0;
    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = begin_once(state);
    if (rv == APR_SUCCESS || !may_try_again(&state->db)) {
        return rv;
    }
    tseed_database_rollback(&state->db);
    rv = tseed_work_ready(state);
    return rv == APR_SUCCESS ? begin_once(state) : rv;
}

apr_status_t tseed_work_commit(tseed_state_t *state)
{
    apr_status_t rv = state->db.dialect->commit(&state->db);

    end_wait(state);
    return rv;
}

void tseed_work_rollback(tseed_state_t *state)
{
    tseed_database_rollback(&state->db);
    end_wait(state);
}

/* The wait lasts until the end of the transaction. */
apr_status_t tseed_work_begin(tseed_state_t *state)
{
    apr_status_t rv;

    begin_wait(state);
    rv = begin_anyhow(state);
    if (rv != APR_SUCCESS) {
        tseed_work_rollback(state);
    }
    return rv;
}

/* ---- shared pieces of work ---- */

apr_status_t tseed_work_number(tseed_state_t *state, int64_t *number, tseed_sql_t sql,
                               const void *const *args)
{
    return tseed_database_number(&state->db, number, sql, args, state->scratch);
}

/* The id comes first: to give one out takes a lock that others wait for until the commit. So tasks
 * appear in the order of their ids, and nobody adds a task between the count and the commit. */
apr_status_t tseed_work_next_id(tseed_state_t *state, int64_t *id, int64_t most)
{
    int64_t unfinished = 0;
    apr_status_t rv = tseed_work_number(state, id, TSEED_SQL_ID_NEXT, NULL);

    if (rv == APR_SUCCESS) {
        rv = tseed_work_number(state, &unfinished, TSEED_SQL_TASKS_COUNT, NULL);
    }
    if (rv == APR_SUCCESS && unfinished >= most) {
        return tseed_database_fail(&state->db, APR_EAGAIN,
                                   "%" APR_INT64_T_FMT " tasks are unfinished", unfinished);
    }
    return rv == APR_SUCCESS && state->db.dialect->has_file
               ? tseed_sqlite_raise_mark(&state->db, *id)
               : rv;
}
