/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handlers of the hosts that share the database: the list, and draining one. A server that has its
 * database for itself shows the one host. */
#include "mod_tileseed_handlers.h"

#include <apr_network_io.h>
#include <apr_strings.h>
#include <http_log.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "mod_tileseed_audit.h"
#include "mod_tileseed_child.h"
#include "mod_tileseed_reply.h"
#include "state/tseed_hosts.h"

APLOG_USE_MODULE(tileseed);

#define QUOTE_MAX 60 /* of what the client sent, in a message */

static const char *machine_name(apr_pool_t *pool)
{
    char name[APRMAXHOSTLEN + 1] = "";

    apr_gethostname(name, sizeof(name), pool);
    return apr_pstrdup(pool, name);
}

/* The one host, which is dead when its seeder does not work. */
static void list_self(const tseed_rest_t *rest, tseed_host_list_t *list)
{
    apr_pool_t *pool = rest->r->pool;
    const apr_time_t since = tseed_board_seeder_since(rest->board);
    tseed_host_row_t *host;
    int works;

    list->now = apr_time_now();
    list->hosts = apr_array_make(pool, 1, sizeof(tseed_host_row_t));
    works = tseed_board_seeder(rest->board, NULL, NULL, NULL) == TSEED_SEEDER_WORKING;
    list->active = works ? list->self : "";
    host = apr_array_push(list->hosts);
    *host = (tseed_host_row_t){.name = list->self,
                               .machine = machine_name(pool),
                               .version = TSEED_VERSION,
                               .is_dead = !works,
                               .seen = list->now};
    host->started = since > 0 ? list->now - (tseed_clock_monotonic() - since) : 0;
}

static apr_status_t read_list(const tseed_rest_t *rest, tseed_host_list_t *list, const char **why)
{
    const tseed_settings_t *settings = &rest->conf->settings;
    apr_status_t rv = APR_SUCCESS;
    tseed_state_t *state;

    *list = (tseed_host_list_t){.self = settings->host};
    if (!tseed_hosts_can_share(settings->db_driver)) {
        list_self(rest, list);
        return APR_SUCCESS;
    }
    state = tseed_child_acquire(&rv);
    if (state) {
        rv = tseed_hosts_list(state, list, rest->r->pool);
    }
    *why = tseed_child_release(state, rest->r->pool);
    return rv;
}

int tseed_handle_hosts(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_host_list_t list;
    const char *why;
    const int status = tseed_rest_refuse_some(rest, "the list of hosts");
    apr_status_t rv;

    if (status != DECLINED) {
        return status;
    }
    rv = read_list(rest, &list, &why);
    return rv == APR_SUCCESS
               ? tseed_reply_document(r, TSEED_BODY_JSON, tseed_host_document(&list, r->pool))
               : tseed_reply_no_state(r, rv, why, "list the hosts");
}

/* DECLINED: the state of the host is changed. */
static int drain(const tseed_rest_t *rest, int is_draining)
{
    request_rec *r = rest->r;
    const char *host = rest->route.host, *why;
    apr_status_t rv;
    tseed_state_t *state = tseed_child_acquire(&rv);

    if (state) {
        rv = tseed_hosts_drain(state, host, is_draining);
    }
    why = tseed_child_release(state, r->pool);
    if (rv == APR_NOTFOUND) {
        return tseed_reply_error(r, HTTP_NOT_FOUND, "there is no host '%s'",
                                 tseed_text_quote(host, QUOTE_MAX, r->pool));
    }
    if (rv != APR_SUCCESS) {
        return tseed_reply_no_state(r, rv, why, "change the state of the host");
    }
    tseed_audit_note(r, "host '%s' is to be %s", host, is_draining ? "drained" : "active");
    return DECLINED;
}

int tseed_handle_drain(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    int is_draining, status = tseed_rest_refuse_some(rest, "a host");
    const char *error;

    if (status != DECLINED) {
        return status;
    }
    error = tseed_host_body_read(&is_draining, rest->body, rest->length, r->pool);
    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    if (!tseed_hosts_can_share(rest->conf->settings.db_driver)) {
        return tseed_reply_error(r, HTTP_CONFLICT,
                                 "this server has its state database for itself: no other host "
                                 "can take its work over");
    }
    status = drain(rest, is_draining);
    return status == DECLINED ? tseed_handle_hosts(rest) : status;
}
