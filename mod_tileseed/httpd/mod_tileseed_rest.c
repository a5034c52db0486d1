/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The REST interface: from address and method to one of the handlers, which stand in
 * mod_tileseed_tasks.c, mod_tileseed_quota.c and other files.
 */
#include "mod_tileseed_rest.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed_audit.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_origin.h"
#include "mod_tileseed_page.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_escape.h"

APLOG_USE_MODULE(tileseed);

#define HANDLER   "tileseed"
#define QUOTE_MAX 200 /* of what the client sent, in a message */

int tseed_rest_fixups(request_rec *r)
{
    const tseed_dir_conf_t *dir = ap_get_module_config(r->per_dir_config, &tileseed_module);

    if (dir->rest == TSEED_ON && !tseed_page_take(r, dir)) {
        r->handler = HANDLER;
    }
    return DECLINED;
}

/* ---- address ---- */

static tseed_method_t method_of(const request_rec *r)
{
    switch (r->method_number) {
    case M_GET:
        return TSEED_METHOD_GET;
    case M_POST:
        return TSEED_METHOD_POST;
    case M_PUT:
        return TSEED_METHOD_PUT;
    case M_DELETE:
        return TSEED_METHOD_DELETE;
    default:
        return TSEED_METHOD_OTHER;
    }
}

/* ---- refusals ---- */

static int not_allowed(tseed_rest_t *rest, unsigned allowed)
{
    static const struct {
        unsigned bit;
        const char *names;
    } methods[] = {
        {TSEED_METHOD_GET, "GET, HEAD"},
        {TSEED_METHOD_POST, "POST"},
        {TSEED_METHOD_PUT, "PUT"},
        {TSEED_METHOD_DELETE, "DELETE"},
    };
    request_rec *r = rest->r;
    const char *allow = NULL;

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (allowed & methods[i].bit) {
            allow =
                apr_pstrcat(r->pool, allow ? allow : "", allow ? ", " : "", methods[i].names, NULL);
        }
    }
    if (rest->dir->dialect == TSEED_DIALECT_GEOWEBCACHE) {
        allow = apr_pstrcat(r->pool, allow, ", OPTIONS", NULL);
    }
    apr_table_setn(r->headers_out, "Allow", allow);
    if (r->method_number == M_OPTIONS && rest->dir->dialect == TSEED_DIALECT_GEOWEBCACHE) {
        return tseed_reply_send(r, HTTP_OK, "text/plain", "");
    }
    return tseed_reply_error(r, HTTP_METHOD_NOT_ALLOWED, "%s is not possible here, only %s",
                             r->method, allow);
}

/* ---- handlers ---- */

typedef int handler_t(tseed_rest_t *rest);

/* One row an action. The body is read before the handler is called. An action that changes
 * something is refused while another httpd works on the state. */
static const struct {
    handler_t *handle;
    int has_body, changes;
} actions[] = {
    [TSEED_ACTION_PAGE] = {tseed_handle_page, 0, 0},
    [TSEED_ACTION_SEED] = {tseed_handle_seed, 1, 1},
    [TSEED_ACTION_LIST] = {tseed_handle_list, 0, 0},
    [TSEED_ACTION_KILL] = {tseed_handle_kill, 1, 1},
    [TSEED_ACTION_QUOTA_GET] = {tseed_handle_quota_get, 0, 0},
    [TSEED_ACTION_QUOTA_PUT] = {tseed_handle_quota_put, 1, 1},
    [TSEED_ACTION_USAGE] = {tseed_handle_usage, 0, 0},
    [TSEED_ACTION_FORGET] = {tseed_handle_forget, 0, 1},
    [TSEED_ACTION_DROP] = {tseed_handle_drop, 0, 1},
    [TSEED_ACTION_RECONCILE] = {tseed_handle_reconcile, 0, 1},
    [TSEED_ACTION_CLEANUP] = {tseed_handle_cleanup, 0, 1},
    [TSEED_ACTION_TASKS] = {tseed_handle_tasks, 0, 0},
    [TSEED_ACTION_TASK_GET] = {tseed_handle_task_get, 0, 0},
    [TSEED_ACTION_TASK_DELETE] = {tseed_handle_task_delete, 0, 1},
    [TSEED_ACTION_FAILURES] = {tseed_handle_failures, 0, 0},
    [TSEED_ACTION_ESTIMATE] = {tseed_handle_estimate, 1, 0},
    [TSEED_ACTION_LAYERS] = {tseed_handle_layers, 0, 0},
    [TSEED_ACTION_OVERVIEW] = {tseed_handle_overview, 0, 0},
    [TSEED_ACTION_UPSTREAMS] = {tseed_handle_upstreams, 0, 0},
    [TSEED_ACTION_ASK_AGAIN] = {tseed_handle_ask_again, 0, 1},
    [TSEED_ACTION_METRICS] = {tseed_handle_metrics, 0, 0},
    [TSEED_ACTION_COVERAGE] = {tseed_handle_coverage, 0, 0},
    [TSEED_ACTION_RETRY] = {tseed_handle_retry, 0, 1},
    [TSEED_ACTION_HOSTS] = {tseed_handle_hosts, 0, 0},
    [TSEED_ACTION_DRAIN] = {tseed_handle_drain, 1, 1},
};

/* A request that no action can take may have been meant to change something. */
static int may_change(const tseed_route_t *route)
{
    return route->action == TSEED_ACTION_NONE || actions[route->action].changes;
}

/* Once the body is read: an input filter of httpd may have decoded it, and says so. */
static int is_encoded(const request_rec *r)
{
    const char *coding = apr_table_get(r->headers_in, "Content-Encoding");

    return coding && *coding && apr_cstr_casecmp(coding, "identity") != 0;
}

static int run_action(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_action_t action = rest->route.action;
    apr_off_t most = (apr_off_t)rest->conf->settings.max_request_body;
    int status;

    if (actions[action].has_body) {
        status = tseed_reply_body(r, &rest->body, &rest->length, most);
        if (status == HTTP_REQUEST_ENTITY_TOO_LARGE) {
            return tseed_reply_error(r, status,
                                     "the body is longer than %" APR_OFF_T_FMT
                                     " bytes, the limit of TileSeedMaxRequestBody",
                                     most);
        }
        if (status != OK) {
            return status;
        }
        if (is_encoded(r)) {
            apr_table_setn(r->headers_out, "Accept-Encoding", "identity");
            return tseed_reply_error(
                r, HTTP_UNSUPPORTED_MEDIA_TYPE,
                "Content-Encoding '%s' is not understood, send the body as it "
                "is; SetInputFilter DEFLATE makes httpd decode gzip",
                tseed_text_quote(apr_table_get(r->headers_in, "Content-Encoding"), QUOTE_MAX,
                                 r->pool));
        }
    }
    return actions[action].handle(rest);
}

/* A child of the last generation may see a board that a new build has given up. The children of the
 * new build have passed its counts. The state may even be another httpd's, which must not be
 * changed. */
static int refuse_for_now(const tseed_rest_t *rest)
{
    request_rec *r = rest->r;

    if (tseed_board_is_fenced(rest->board)) {
        apr_table_setn(r->headers_out, "Retry-After", "2");
        return tseed_reply_error(r, HTTP_SERVICE_UNAVAILABLE,
                                 "a new build of the module is taking over; send it again");
    }
    if (actions[rest->route.action].changes &&
        tseed_board_seeder(rest->board, NULL, NULL, NULL) == TSEED_SEEDER_LOCKED_OUT) {
        apr_table_setn(r->headers_out, "Retry-After", "30");
        return tseed_reply_error(r, HTTP_SERVICE_UNAVAILABLE,
                                 "another httpd works on this server's state directory; send it "
                                 "to that one, or again when it has stopped");
    }
    return DECLINED;
}

/* The 404, which says so if nothing is wrong but the suffix. */
static int not_found(const tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const char *path = apr_pstrcat(r->pool, r->uri, ".json", NULL);
    int is_suffix = strncmp(r->uri, rest->base, strlen(rest->base)) == 0 &&
                    tseed_route(path + strlen(rest->base), method_of(r), r->pool).allowed;

    return tseed_reply_error(r, HTTP_NOT_FOUND, "there is nothing at this address%s",
                             is_suffix ? "; .json is missing at its end" : "");
}

/* Answers a request that must not reach its handler. DECLINED: it may. */
static int refuse(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const tseed_route_t *route = &rest->route;
    const char *problem;
    int status;

    if (route->action == TSEED_ACTION_NONE) {
        return route->allowed ? not_allowed(rest, route->allowed) : not_found(rest);
    }
    if (!rest->board) {
        apr_table_setn(r->headers_out, "Retry-After", "30");
        return tseed_reply_error(r, HTTP_SERVICE_UNAVAILABLE,
                                 "no layer is configured, or there is no memory for the task "
                                 "table; the error log says which");
    }
    status = refuse_for_now(rest);
    if (status != DECLINED) {
        return status;
    }
    if (actions[route->action].changes && !actions[route->action].has_body && r->args && *r->args) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST,
                                 "nothing can be said in the query here, it would narrow nothing: "
                                 "leave out '%s'",
                                 tseed_text_quote(tseed_escape_plain(r->args, r->pool), QUOTE_MAX,
                                                  r->pool));
    }
    problem = tseed_origin_refusal(r, rest->dir);
    return problem ? tseed_reply_error(r, HTTP_FORBIDDEN, "%s", problem) : DECLINED;
}

int tseed_rest_handler(request_rec *r)
{
    tseed_rest_t rest = {.r = r};
    int status;

    rest.dir = ap_get_module_config(r->per_dir_config, &tileseed_module);
    /* a .htaccess may name the handler as well, where no location has said who may ask for what */
    if (!r->handler || strcmp(r->handler, HANDLER) != 0 || rest.dir->rest != TSEED_ON) {
        return DECLINED;
    }
    rest.conf = tseed_conf_get(r->server);
    rest.board = tseed_supervise_board();
    rest.base = rest.dir->base;
    if (strncmp(r->uri, rest.base, strlen(rest.base)) == 0 &&
        !tseed_page_hides(rest.dir, r->uri + strlen(rest.base))) {
        rest.route = tseed_route(r->uri + strlen(rest.base), method_of(r), r->pool);
    }
    status = refuse(&rest);
    status = status == DECLINED ? run_action(&rest) : status;
    tseed_audit_handled(r, rest.route.layer, status, may_change(&rest.route));
    return status;
}
