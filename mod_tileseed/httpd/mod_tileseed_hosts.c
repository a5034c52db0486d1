/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Hosts that share the database, for administrators and clients: their directives, the list, and
 * draining one. A server that has its database for itself shows the one host. */
#include <apr_network_io.h>
#include <apr_strings.h>
#include <httpd.h>
#include <http_log.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "fleet/tseed_fleet.h"
#include "fleet/tseed_hosts.h"
#include "mod_tileseed_directive.h"
#include "mod_tileseed_dump.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"

APLOG_USE_MODULE(tileseed);

/* ---- directives ---- */

static const char *set_host(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *name = APR_ARRAY_IDX(words, 0, const char *);

    (void)dir;
    if (!tseed_text_is_host(name, TSEED_HOST_NAME_MAX)) {
        return apr_psprintf(cmd->pool,
                            "'%s' is not possible, a name of at most %d letters, digits, '-', '_' "
                            "and '.' is expected, such as web1",
                            tseed_text_quote(name, 60, cmd->pool), TSEED_HOST_NAME_MAX);
    }
    tseed_conf_main()->settings.host = name;
    return NULL;
}

static void show_host(const tseed_dump_t *dump, const void *conf)
{
    const tseed_server_conf_t *server = conf;

    tseed_dump_line(dump, "TileSeedHost %s", tseed_show_word(server->settings.host, dump->pool));
}

static const char *set_lease(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    (void)dir;
    return tseed_rule_read(tseed_conf_main(), cmd->info, words, cmd->pool);
}

static const command_rec directives[] = {
    TSEED_DIRECTIVE("TileSeedHost", TSEED_SHOWN(TSEED_IN_SERVER, 1, 1, set_host, show_host),
                    "NAME, of this host among those that share the database"),
    TSEED_DIRECTIVE("TileSeedLease",
                    TSEED_VALUED(TSEED_IN_SERVER, 1, 1, set_lease,
                                 .value = {NULL, tseed_read_duration,
                                           offsetof(tseed_server_conf_t, settings.lease),
                                           3 * APR_USEC_PER_SEC, 600 * APR_USEC_PER_SEC, NULL}),
                    "DURATION, after which another host takes over from a silent one"),
    {.name = NULL},
};

/* ---- requests ---- */

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
    const apr_time_t now = tseed_clock_monotonic();
    tseed_host_row_t *host;
    apr_time_t beat;
    int works;

    list->now = apr_time_now();
    list->hosts = apr_array_make(pool, 1, sizeof(tseed_host_row_t));
    works = tseed_board_seeder(rest->board, NULL, NULL, &beat) == TSEED_SEEDER_WORKING;
    list->active = works ? list->self : "";
    host = apr_array_push(list->hosts);
    *host = (tseed_host_row_t){.name = list->self,
                               .machine = machine_name(pool),
                               .version = TSEED_VERSION,
                               .is_dead = !works,
                               .seen = beat > 0 ? list->now - (now - beat) : 0};
    host->started = since > 0 ? list->now - (now - since) : 0;
}

/* DECLINED, or OK with the refusal sent. */
static int read_list(const tseed_rest_t *rest, tseed_host_list_t *list)
{
    const tseed_settings_t *settings = &rest->conf->settings;
    tseed_visit_t db;

    *list = (tseed_host_list_t){.self = settings->host};
    if (!tseed_fleet_can_share(settings->db_driver)) {
        list_self(rest, list);
        return DECLINED;
    }
    db = tseed_visit_begin(rest->r);
    tseed_visit_do(&db, tseed_hosts_list(db.state, list, rest->r->pool));
    return tseed_visit_done(&db, "list the hosts");
}

static int handle_hosts(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_host_list_t list;
    int status = tseed_rest_refuse_some(rest, "the list of hosts");

    if (status == DECLINED) {
        status = read_list(rest, &list);
    }
    return status == DECLINED
               ? tseed_reply_document(r, TSEED_BODY_JSON, tseed_host_document(&list, r->pool))
               : status;
}

/* DECLINED: the state of the host is changed. */
static int drain(const tseed_rest_t *rest, int is_draining)
{
    request_rec *r = rest->r;
    const char *host = rest->route.host;
    tseed_visit_t db = tseed_visit_begin(r);

    tseed_visit_do(&db, tseed_hosts_drain(db.state, host, is_draining));
    tseed_visit_end(&db);
    if (db.rv == APR_NOTFOUND) {
        return tseed_reply_error(r, HTTP_NOT_FOUND, "there is no host '%s'",
                                 tseed_text_quote(host, QUOTE_MAX, r->pool));
    }
    if (db.rv != APR_SUCCESS) {
        return tseed_visit_refuse(&db, "change the state of the host");
    }
    tseed_audit_note(r, "host '%s' is to be %s", host, is_draining ? "drained" : "active");
    return DECLINED;
}

static int handle_drain(tseed_rest_t *rest)
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
    if (!tseed_fleet_can_share(rest->conf->settings.db_driver)) {
        return tseed_reply_error(r, HTTP_CONFLICT,
                                 "this server has its state database for itself: no other host "
                                 "can take its work over");
    }
    status = drain(rest, is_draining);
    return status == DECLINED ? handle_hosts(rest) : status;
}

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_HOSTS, .handle = handle_hosts, .keys = tseed_no_key},
    {.action = TSEED_ACTION_DRAIN,
     .handle = handle_drain,
     .has_body = 1,
     .changes = 1,
     .keys = tseed_no_key},
    {.handle = NULL},
};

/* No process has opened the database yet. */
static void enter_fleet(apr_pool_t *pool)
{
    (void)pool;
    tseed_statements_welcome(&tseed_fleet_statements);
}

const tseed_module_part_t tseed_hosts_part = {
    .directives = directives, .handlers = handlers, .hook = enter_fleet};
