/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Rows of hosts and of the role. */
#include "state/tseed_host_record.h"

#include "state/tseed_work.h"

#define SEEDER "seeder"

apr_status_t tseed_host_moment_read(tseed_state_t *state, tseed_host_moment_t *moment)
{
    tseed_rows_t rows;
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, TSEED_SQL_CLOCK, NULL, state->scratch);

    if (rv == APR_SUCCESS && !tseed_rows_next(&rows)) {
        rv = APR_NOTFOUND;
    }
    if (rv == APR_SUCCESS) {
        moment->now = tseed_rows_int64(&rows);
        moment->started = tseed_rows_int64(&rows);
    }
    return rv;
}

apr_status_t tseed_role_read(tseed_state_t *state, tseed_role_t *role, tseed_sql_t sql)
{
    tseed_rows_t rows;
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, sql, (const void *[]){SEEDER}, state->scratch);

    if (rv == APR_SUCCESS && !tseed_rows_next(&rows)) {
        rv =
            tseed_database_fail(&state->db, APR_NOTFOUND, "the table role has no row '" SEEDER "'");
    }
    if (rv == APR_SUCCESS) {
        role->host = tseed_rows_text(&rows);
        role->epoch = tseed_rows_int64(&rows);
        role->tenure = tseed_rows_int64(&rows);
        role->former = tseed_rows_int64(&rows);
    }
    return rv;
}

apr_status_t tseed_role_write(tseed_state_t *state, const tseed_role_t *role)
{
    const void *args[] = {role->host, &role->epoch, &role->tenure, &role->former, SEEDER};

    return tseed_database_change(&state->db, NULL, TSEED_SQL_ROLE_SET, args);
}

apr_status_t tseed_host_record_read(tseed_state_t *state, tseed_host_record_t *row,
                                    const char *name, tseed_sql_t sql)
{
    tseed_rows_t rows;
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, sql, (const void *[]){name}, state->scratch);

    *row = (tseed_host_record_t){.instance = ""};
    if (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        row->is_there = 1;
        row->instance = tseed_rows_text(&rows);
        row->epoch = tseed_rows_int64(&rows);
        row->renewals = tseed_rows_int64(&rows);
        row->until = tseed_rows_int64(&rows);
        row->is_draining = tseed_rows_int(&rows) != 0;
    }
    return rv;
}
