/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Hosts as operators see and change them: any process may list and drain them. */
#include <apr_strings.h>

#include "state/tseed_host_record.h"
#include "state/tseed_hosts.h"
#include "state/tseed_work.h"

typedef struct {
    tseed_host_list_t *list;
    apr_pool_t *pool;
} listing_t;

static void load_host(void *row, tseed_rows_t *rows)
{
    tseed_host_row_t *host = row;

    tseed_rows_scan(rows, &host->name, &host->machine, &host->version, &host->until,
                    &host->is_draining, &host->started, &host->seen, &host->is_fetching);
}

static apr_status_t do_list(tseed_state_t *state, void *baton)
{
    const listing_t *call = baton;
    tseed_host_moment_t moment = {0, 0};
    tseed_role_t role = {.host = ""};
    apr_status_t rv;

    call->list->hosts = apr_array_make(call->pool, 4, sizeof(tseed_host_row_t));
    rv = tseed_work_add_rows(state, call->list->hosts, load_host, TSEED_SQL_HOSTS, NULL);
    if (rv == APR_SUCCESS) {
        rv = tseed_role_read(state, &role, TSEED_SQL_ROLE_GET);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_host_moment_read(state, &moment);
    }
    call->list->active = apr_pstrdup(call->pool, role.host);
    call->list->now = moment.now;
    for (int i = 0; i < call->list->hosts->nelts; i++) {
        tseed_host_row_t *host = &APR_ARRAY_IDX(call->list->hosts, i, tseed_host_row_t);

        host->is_dead = host->until < moment.now;
        host->is_fetching = host->is_fetching && !host->is_dead;
    }
    return rv;
}

apr_status_t tseed_hosts_list(tseed_state_t *state, tseed_host_list_t *list, apr_pool_t *pool)
{
    return tseed_work_read(state, do_list, &(listing_t){list, pool});
}

apr_status_t tseed_hosts_drain(tseed_state_t *state, const char *name, int is_draining)
{
    int rows = 0;
    const apr_status_t rv =
        tseed_work_change(state, &rows, TSEED_SQL_HOST_DRAIN, (const void *[]){&is_draining, name});

    return rv == APR_SUCCESS && rows == 0 ? APR_NOTFOUND : rv;
}

static apr_status_t do_forget(tseed_state_t *state, void *baton)
{
    const apr_interval_time_t *age = baton;
    tseed_host_moment_t moment;
    int64_t before = 0;
    apr_status_t rv = tseed_host_moment_read(state, &moment);

    if (rv == APR_SUCCESS) {
        before = moment.now - *age;
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_HOSTS_FORGET,
                                   (const void *[]){&before});
    }
    return rv;
}

apr_status_t tseed_hosts_forget(tseed_state_t *state, apr_interval_time_t age)
{
    return tseed_work_write(state, do_forget, &age);
}
