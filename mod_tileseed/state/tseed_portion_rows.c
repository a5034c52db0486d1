/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions as rows. */
#include "state/tseed_portion_rows.h"

#include <apr_strings.h>

#include "state/tseed_host_record.h"
#include "state/tseed_work.h"

/* ---- changes ---- */

typedef apr_status_t change_t(tseed_database_t *db, const tseed_portion_row_t *row);

typedef struct {
    change_t *change;
    const apr_array_header_t *rows;
} changes_t;

static apr_status_t change_each(tseed_state_t *state, void *baton)
{
    const changes_t *call = baton;
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < call->rows->nelts; i++) {
        rv = call->change(&state->db, &APR_ARRAY_IDX(call->rows, i, tseed_portion_row_t));
    }
    return rv;
}

static apr_status_t change_all(tseed_state_t *state, change_t *change,
                               const apr_array_header_t *rows)
{
    return rows->nelts > 0 ? tseed_work_write(state, change_each, &(changes_t){change, rows})
                           : APR_SUCCESS;
}

static apr_status_t give(tseed_database_t *db, const tseed_portion_row_t *row)
{
    return tseed_database_change(db, NULL, TSEED_SQL_PORTION_ADD,
                                 (const void *[]){&row->epoch, &row->number, row->requests});
}

apr_status_t tseed_portion_rows_give(tseed_state_t *state, const apr_array_header_t *rows)
{
    return change_all(state, give, rows);
}

static apr_status_t finish(tseed_database_t *db, const tseed_portion_row_t *row)
{
    return tseed_database_change(db, NULL, TSEED_SQL_PORTION_FINISH,
                                 (const void *[]){row->results, &row->epoch, &row->number});
}

apr_status_t tseed_portion_rows_finish(tseed_state_t *state, const apr_array_header_t *rows)
{
    return change_all(state, finish, rows);
}

static apr_status_t delete_one(tseed_database_t *db, const tseed_portion_row_t *row)
{
    return tseed_database_change(db, NULL, TSEED_SQL_PORTION_DELETE,
                                 (const void *[]){&row->epoch, &row->number});
}

apr_status_t tseed_portion_rows_delete(tseed_state_t *state, const apr_array_header_t *rows)
{
    return change_all(state, delete_one, rows);
}

static apr_status_t delete_everything(tseed_state_t *state, void *baton)
{
    (void)baton;
    return tseed_database_change(&state->db, NULL, TSEED_SQL_PORTIONS_DELETE, NULL);
}

apr_status_t tseed_portion_rows_delete_all(tseed_state_t *state)
{
    return tseed_work_write(state, delete_everything, NULL);
}

/* ---- reading ---- */

typedef struct {
    int64_t epoch; /* 0: of all hosts, those with results */
    const char *name;
    apr_array_header_t *found;
} reading_t;

static apr_status_t read_rows(tseed_state_t *state, void *baton)
{
    const reading_t *call = baton;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(
        &rows, &state->db, call->epoch ? TSEED_SQL_PORTIONS_GIVEN : TSEED_SQL_PORTIONS_FINISHED,
        (const void *[]){&call->epoch}, state->scratch);

    apr_array_clear(call->found);
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        tseed_portion_row_t *row = apr_array_push(call->found);

        row->epoch = tseed_rows_int64(&rows);
        row->number = tseed_rows_int64(&rows);
        row->requests = apr_pstrdup(call->found->pool, tseed_rows_text(&rows));
        row->results = apr_pstrdup(call->found->pool, tseed_rows_text(&rows));
    }
    return rv;
}

apr_status_t tseed_portion_rows_given(tseed_state_t *state, apr_array_header_t **rows,
                                      int64_t epoch, apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 8, sizeof(tseed_portion_row_t));
    return tseed_work_read(state, read_rows, &(reading_t){.epoch = epoch, .found = *rows});
}

apr_status_t tseed_portion_rows_finished(tseed_state_t *state, apr_array_header_t **rows,
                                         apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 8, sizeof(tseed_portion_row_t));
    return tseed_work_read(state, read_rows, &(reading_t){.found = *rows});
}

static apr_status_t read_helpers(tseed_state_t *state, void *baton)
{
    const reading_t *call = baton;
    tseed_host_moment_t moment;
    tseed_rows_t rows;
    apr_status_t rv = tseed_host_moment_read(state, &moment);

    apr_array_clear(call->found);
    if (rv == APR_SUCCESS) {
        rv = tseed_database_select(&rows, &state->db, TSEED_SQL_HELPERS,
                                   (const void *[]){call->name, &moment.now}, state->scratch);
    }
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        APR_ARRAY_PUSH(call->found, int64_t) = tseed_rows_int64(&rows);
    }
    return rv;
}

apr_status_t tseed_portion_rows_helpers(tseed_state_t *state, apr_array_header_t **epochs,
                                        const char *name, apr_pool_t *pool)
{
    *epochs = apr_array_make(pool, 4, sizeof(int64_t));
    return tseed_work_read(state, read_helpers, &(reading_t){.name = name, .found = *epochs});
}
