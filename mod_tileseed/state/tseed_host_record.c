/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Rows of hosts and of the role. */
#include "state/tseed_host_record.h"

#include "state/tseed_work.h"

#define SEEDER "seeder"

apr_status_t tseed_host_moment_read(tseed_state_t *state, tseed_host_moment_t *moment)
{
    tseed_rows_t rows;
    const apr_status_t rv =
        tseed_database_first(&rows, &state->db, TSEED_SQL_CLOCK, NULL, state->scratch);

    if (rv == APR_SUCCESS) {
        tseed_rows_scan(&rows, &moment->now, &moment->started);
    }
    return rv;
}

apr_status_t tseed_role_read(tseed_state_t *state, tseed_role_t *role, tseed_sql_t sql)
{
    tseed_rows_t rows;
    const apr_status_t rv =
        tseed_database_first(&rows, &state->db, sql, (const void *[]){SEEDER}, state->scratch);

    if (rv == APR_SUCCESS) {
        tseed_rows_scan(&rows, &role->host, &role->epoch, &role->tenure, &role->former);
    }
    return rv == APR_NOTFOUND
               ? tseed_database_fail(&state->db, rv, "the table role has no row '" SEEDER "'")
               : rv;
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
        tseed_rows_scan(&rows, &row->instance, &row->epoch, &row->renewals, &row->until,
                        &row->is_draining);
    }
    return rv;
}
