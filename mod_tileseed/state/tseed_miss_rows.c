/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions for missing tiles as rows. */
#include "state/tseed_miss_rows.h"

#include <apr_strings.h>

#include "state/tseed_hosts.h"
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

apr_status_t tseed_miss_rows_delete_all(tseed_state_t *state, int64_t epoch)
{
    return tseed_work_change(state, NULL, TSEED_SQL_MISSES_DELETE, (const void *[]){&epoch});
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

static void load_question(void *data, tseed_rows_t *rows)
{
    tseed_miss_row_t *row = data;

    *row = (tseed_miss_row_t){.outcome = -1, .cause = "", .tile = ""};
    tseed_rows_scan(rows, &row->epoch, &row->number, &row->question);
}

static void load_answer(void *data, tseed_rows_t *rows)
{
    tseed_miss_row_t *row = data;

    *row = (tseed_miss_row_t){.question = ""};
    tseed_rows_scan(rows, &row->epoch, &row->number, &row->outcome, &row->retry_after,
                    &row->upstream, &row->cause, &row->tile);
}

apr_status_t tseed_miss_rows_open(tseed_state_t *state, apr_array_header_t **rows, apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 16, sizeof(tseed_miss_row_t));
    return tseed_work_list(state, *rows, load_question, TSEED_SQL_MISSES_OPEN, NULL);
}

apr_status_t tseed_miss_rows_answers(tseed_state_t *state, apr_array_header_t **rows, int64_t epoch,
                                     apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 16, sizeof(tseed_miss_row_t));
    return tseed_work_list(state, *rows, load_answer, TSEED_SQL_MISSES_ANSWERED,
                           (const void *[]){&epoch});
}
