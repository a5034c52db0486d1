/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions as rows. */
#include "state/tseed_portion_rows.h"

#include <apr_strings.h>

#include "state/tseed_hosts.h"
#include "state/tseed_work.h"

/* ---- changes ---- */

static apr_status_t give(tseed_database_t *db, void *data)
{
    tseed_portion_row_t *row = data;

    return tseed_database_change(
        db, NULL, TSEED_SQL_PORTION_ADD,
        (const void *[]){&row->giver, &row->number, &row->epoch, row->requests});
}

apr_status_t tseed_portion_rows_give(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, give, rows);
}

static apr_status_t finish(tseed_database_t *db, void *data)
{
    tseed_portion_row_t *row = data;
    int count = 0;
    apr_status_t rv = tseed_database_change(
        db, &count, TSEED_SQL_PORTION_FINISH,
        (const void *[]){row->results, &row->giver, &row->epoch, &row->number});

    row->is_gone = count == 0;
    return rv;
}

apr_status_t tseed_portion_rows_finish(tseed_state_t *state, apr_array_header_t *rows)
{
    return tseed_work_write_each(state, finish, rows);
}

static apr_status_t delete_one(tseed_database_t *db, void *data)
{
    tseed_portion_row_t *row = data;

    return tseed_database_change(db, NULL, TSEED_SQL_PORTION_DELETE,
                                 (const void *[]){&row->giver, &row->epoch, &row->number});
}

apr_status_t tseed_portion_rows_delete(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, delete_one, rows);
}

apr_status_t tseed_portion_rows_forget(tseed_state_t *state)
{
    return tseed_work_change(state, NULL, TSEED_SQL_PORTIONS_FORGET, NULL);
}

/* ---- reading ---- */

static void load_portion(void *data, tseed_rows_t *rows)
{
    tseed_portion_row_t *row = data;

    tseed_rows_scan(rows, &row->giver, &row->number, &row->epoch, &row->requests, &row->results);
}

/* `epoch`: of the giver, or of the host that gets them. */
static apr_status_t list(tseed_state_t *state, apr_array_header_t **rows, tseed_sql_t sql,
                         int64_t epoch, apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 8, sizeof(tseed_portion_row_t));
    return tseed_work_list(state, *rows, load_portion, sql, (const void *[]){&epoch});
}

apr_status_t tseed_portion_rows_given(tseed_state_t *state, apr_array_header_t **rows,
                                      int64_t epoch, apr_pool_t *pool)
{
    return list(state, rows, TSEED_SQL_PORTIONS_GIVEN, epoch, pool);
}

apr_status_t tseed_portion_rows_finished(tseed_state_t *state, apr_array_header_t **rows,
                                         int64_t giver, apr_pool_t *pool)
{
    return list(state, rows, TSEED_SQL_PORTIONS_FINISHED, giver, pool);
}

apr_status_t tseed_portion_rows_of(tseed_state_t *state, apr_array_header_t **rows, int64_t giver,
                                   apr_pool_t *pool)
{
    return list(state, rows, TSEED_SQL_PORTIONS_OF, giver, pool);
}

static void load_host(void *row, tseed_rows_t *rows)
{
    tseed_portion_host_t *host = row;

    tseed_rows_scan(rows, &host->epoch, &host->name);
}

typedef struct {
    const char *name;
    apr_array_header_t *found;
} hosts_call_t;

static apr_status_t read_hosts(tseed_state_t *state, void *baton)
{
    const hosts_call_t *call = baton;
    tseed_host_moment_t moment;
    apr_status_t rv = tseed_host_moment_read(state, &moment);

    apr_array_clear(call->found);
    return rv == APR_SUCCESS
               ? tseed_work_add_rows(state, call->found, load_host, TSEED_SQL_PORTION_HOSTS,
                                     (const void *[]){call->name, &moment.now})
               : rv;
}

apr_status_t tseed_portion_rows_hosts(tseed_state_t *state, apr_array_header_t **hosts,
                                      const char *name, apr_pool_t *pool)
{
    *hosts = apr_array_make(pool, 4, sizeof(tseed_portion_host_t));
    return tseed_work_read(state, read_hosts, &(hosts_call_t){name, *hosts});
}
