/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions for missing tiles as rows. */
#include "state/tseed_miss_rows.h"

#include <apr_strings.h>

#include "state/tseed_host_record.h"
#include "state/tseed_work.h"

/* ---- changes ---- */

static apr_status_t ask(tseed_database_t *db, void *data)
{
    const tseed_miss_row_t *row = data;

    return tseed_database_change(db, NULL, TSEED_SQL_MISS_ADD,
                                 (const void *[]){&row->epoch, &row->number, row->question});
}

apr_status_t tseed_miss_rows_ask(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, ask, rows);
}

static apr_status_t answer(tseed_database_t *db, void *data)
{
    const tseed_miss_row_t *row = data;

    return tseed_database_change(db, NULL, TSEED_SQL_MISS_ANSWER,
                                 (const void *[]){&row->outcome, &row->retry_after, &row->upstream,
                                                  row->cause, row->tile, &row->epoch,
                                                  &row->number});
}

apr_status_t tseed_miss_rows_answer(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, answer, rows);
}

static apr_status_t delete_one(tseed_database_t *db, void *data)
{
    const tseed_miss_row_t *row = data;

    return tseed_database_change(db, NULL, TSEED_SQL_MISS_DELETE,
                                 (const void *[]){&row->epoch, &row->number});
}

apr_status_t tseed_miss_rows_delete(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, delete_one, rows);
}

static apr_status_t delete_epoch(tseed_state_t *state, void *baton)
{
    return tseed_database_change(&state->db, NULL, TSEED_SQL_MISSES_DELETE,
                                 (const void *[]){baton});
}

apr_status_t tseed_miss_rows_delete_all(tseed_state_t *state, int64_t epoch)
{
    return tseed_work_write(state, delete_epoch, &epoch);
}

static apr_status_t forget(tseed_state_t *state, void *baton)
{
    tseed_host_moment_t moment;
    apr_status_t rv = tseed_host_moment_read(state, &moment);

    (void)baton;
    return rv == APR_SUCCESS ? tseed_database_change(&state->db, NULL, TSEED_SQL_MISSES_FORGET,
                                                     (const void *[]){&moment.now})
                             : rv;
}

apr_status_t tseed_miss_rows_forget(tseed_state_t *state)
{
    return tseed_work_write(state, forget, NULL);
}

/* ---- reading ---- */

typedef struct {
    int64_t epoch; /* whose answers; 0: the questions that have none */
    apr_array_header_t *found;
} reading_t;

static void read_question(tseed_miss_row_t *row, tseed_rows_t *rows, apr_pool_t *pool)
{
    row->epoch = tseed_rows_int64(rows);
    row->number = tseed_rows_int64(rows);
    row->question = apr_pstrdup(pool, tseed_rows_text(rows));
    row->outcome = -1;
}

static void read_answer(tseed_miss_row_t *row, tseed_rows_t *rows, apr_pool_t *pool)
{
    row->number = tseed_rows_int64(rows);
    row->outcome = tseed_rows_int(rows);
    row->retry_after = tseed_rows_int(rows);
    row->upstream = tseed_rows_int(rows);
    row->cause = apr_pstrdup(pool, tseed_rows_text(rows));
    row->tile = apr_pstrdup(pool, tseed_rows_text(rows));
}

static apr_status_t read_all(tseed_state_t *state, void *baton)
{
    const reading_t *call = baton;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(
        &rows, &state->db, call->epoch ? TSEED_SQL_MISSES_ANSWERED : TSEED_SQL_MISSES_OPEN,
        (const void *[]){&call->epoch}, state->scratch);

    apr_array_clear(call->found);
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        tseed_miss_row_t *row = apr_array_push(call->found);

        *row = (tseed_miss_row_t){.epoch = call->epoch, .question = "", .cause = "", .tile = ""};
        if (call->epoch) {
            read_answer(row, &rows, call->found->pool);
        } else {
            read_question(row, &rows, call->found->pool);
        }
    }
    return rv;
}

apr_status_t tseed_miss_rows_open(tseed_state_t *state, apr_array_header_t **rows, apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 16, sizeof(tseed_miss_row_t));
    return tseed_work_read(state, read_all, &(reading_t){0, *rows});
}

apr_status_t tseed_miss_rows_answers(tseed_state_t *state, apr_array_header_t **rows, int64_t epoch,
                                     apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 16, sizeof(tseed_miss_row_t));
    return tseed_work_read(state, read_all, &(reading_t){epoch, *rows});
}
