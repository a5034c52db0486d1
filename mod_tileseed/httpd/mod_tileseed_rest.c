/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The REST interface (manual/rest.md): which browsers' pages may send what, the files of the
 * operators' page, and from address and method to one of the handlers, which stand in
 * mod_tileseed_tasks.c, mod_tileseed_quota.c and other files. */
#include <string.h>

#include <apr_cstr.h>
#include <apr_strings.h>
#include <apr_uri.h>
#include <httpd.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>

#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_config.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_route.h"
#include "protocol/tseed_write.h"

APLOG_USE_MODULE(tileseed);

/* ---- the operators' page ----
 *
 * The page is a few files: mod_tileseed/page/ in the sources. The fixups hook gives a request one
 * of them as its file, and httpd's own handler sends it, with ETag, ranges and 304. Access control
 * has judged the request by then, as it judges every address of the REST interface.
 */

#ifndef TSEED_PAGE_DIR
#define TSEED_PAGE_DIR "/usr/share/mod_tileseed/page"
#endif

#define INDEX "index.html"

/* What a browser may load: files of this server, and what the page itself draws. */
#define POLICY                                                                                     \
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "         \
    "form-action 'self'; frame-ancestors 'none'"

/* Whether a path below the base of a location with TileSeedRest is an address of the page that
 * TileSeedPage off takes away. Can't fail. */
static int page_hides(const tseed_dir_conf_t *dir, const char *path)
{
    return dir->page == TSEED_OFF &&
           (!*path || strcmp(path, "/") == 0 || strncmp(path, "/page/", strlen("/page/")) == 0);
}

/* The type of a file, or NULL if the page has no such files. With nosniff browsers believe nothing
 * but an exact type. */
static const char *type_of(const char *name)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {
        {".html", "text/html;charset=utf-8"},
        {".css", "text/css;charset=utf-8"},
        {".js", "text/javascript;charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    const char *suffix = strrchr(name, '.');

    for (size_t i = 0; suffix && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(suffix, types[i].suffix) == 0) {
            return types[i].type;
        }
    }
    return NULL;
}

/* The name of the file that the request is for; NULL: it is for none. */
static const char *file_of(request_rec *r, const tseed_dir_conf_t *dir)
{
    const size_t length = strlen(dir->base);
    tseed_route_t route;

    if (r->method_number != M_GET || dir->page == TSEED_OFF ||
        strncmp(r->uri, dir->base, length) != 0) {
        return NULL;
    }
    route = tseed_route(r->uri + length, TSEED_METHOD_GET, r->pool);
    if (route.action != TSEED_ACTION_PAGE) {
        return NULL;
    }
    return route.file ? route.file : r->uri[length] ? INDEX : NULL;
}

static void set_headers(request_rec *r, const char *type)
{
    r->content_encoding = NULL; /* mod_mime may have seen one in a layer's name */
    r->content_languages = NULL;
    ap_set_content_type(r, type);
    apr_table_setn(r->headers_out, "Cache-Control", "no-cache");
    apr_table_setn(r->headers_out, "Content-Security-Policy", POLICY);
    apr_table_setn(r->headers_out, "Cross-Origin-Opener-Policy", "same-origin");
    apr_table_setn(r->headers_out, "Referrer-Policy", "no-referrer");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
}

/* If the request is for a file of the page that is there: names the file and httpd's own handler,
 * and returns 1; the headers are set. 0: the request is the REST interface's to answer. fixups
 * hook, request thread. */
static int page_take(request_rec *r, const tseed_dir_conf_t *dir)
{
    const char *name = file_of(r, dir);
    const char *type = name ? type_of(name) : NULL;
    const char *path;
    apr_finfo_t found;

    if (!type) {
        return 0;
    }
    path = apr_pstrcat(r->pool, dir->page_dir ? dir->page_dir : TSEED_PAGE_DIR, "/", name, NULL);
    if (apr_stat(&found, path, APR_FINFO_MIN, r->pool) != APR_SUCCESS ||
        found.filetype != APR_REG) {
        return 0;
    }
    r->filename = (char *)path;
    r->finfo = found;
    r->path_info = apr_pstrdup(r->pool, "");
    r->handler = "default-handler";
    set_headers(r, type);
    return 1;
}

/* The address without slash at its end leads to the one with it: addresses in the page are
 * relative. Other requests that come here are for files that are not there. */
static int handle_page(tseed_rest_t *rest)
{
    request_rec *r = rest->r;

    if (strcmp(r->uri, rest->base) == 0) {
        apr_table_setn(
            r->headers_out, "Location",
            apr_pstrcat(r->pool, tseed_public_path(rest->dir, rest->base, r->pool), "/", NULL));
        return tseed_reply_error(r, HTTP_MOVED_PERMANENTLY,
                                 "the page is at this address with a "
                                 "slash at its end");
    }
    return tseed_reply_error(r, HTTP_NOT_FOUND,
                             "the page has no such file; if it has none at all, TileSeedPage says "
                             "where they are");
}

/* ---- pages of other sites: TileSeedCheckOrigin ----
 *
 * A page can make a browser send requests to any server, with the credentials that the browser has
 * for that server, and from the browser's network. So a page of another site could terminate all
 * tasks. The browser says where the page comes from, in Origin (RFC 6454) and Sec-Fetch-Site (W3C
 * Fetch Metadata). Other clients send neither header.
 *
 * A page is our own if its origin is the public address, the canonical name (when clients are to
 * use it), or the host of the request. The host is not enough where nobody logs in: the owner of a
 * page can let his own name point to our address after the page is loaded (DNS rebinding). The
 * request passes where Require ip lets the browser in, or where there is no guard at all. So
 * without a login the host must be one of our names, also for a browser that only reads. With a
 * login the host may be any name: for the name of that owner the browser has no credentials of
 * ours.
 */

static const char *without_port(const char *authority, const char *port, apr_pool_t *pool)
{
    size_t length = strlen(authority), behind = strlen(port);

    return length > behind && strcmp(authority + length - behind, port) == 0
               ? apr_pstrmemdup(pool, authority, length - behind)
               : authority;
}

/* Whether a page comes from the host that the client calls us by. Its scheme does not count: a
 * proxy may have ended TLS before us. */
static int is_of_host(const request_rec *r, const char *origin)
{
    const char *host = apr_table_get(r->headers_in, "Host");
    const char *authority = strstr(origin, "://");
    const char *usual = apr_cstr_casecmpn(origin, "https:", 6) == 0 ? ":443" : ":80";

    return host && authority &&
           apr_cstr_casecmp(without_port(authority + 3, usual, r->pool),
                            without_port(host, usual, r->pool)) == 0;
}

/* No name: an address, or what every browser takes for one. */
static int is_address(const char *host)
{
    return *host == '[' || !host[strspn(host, "0123456789.")] ||
           apr_cstr_casecmp(host, "localhost") == 0;
}

static int is_among(const apr_array_header_t *names, const char *host)
{
    for (int i = 0; names && i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);

        if (name && ap_strcasecmp_match(host, name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Whether the name by which the client calls us is one of this virtual host's, without its port. */
static int is_our_name(const request_rec *r)
{
    const server_rec *server = r->server;
    const char *host = r->hostname; /* of the Host header, in lower case */

    return host &&
           (is_address(host) || strchr(host, ':') || is_among(server->names, host) ||
            is_among(server->wild_names, host) ||
            (server->server_hostname && apr_cstr_casecmp(server->server_hostname, host) == 0));
}

static int is_canonical(request_rec *r, const char *origin)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);

    return core->use_canonical_name == USE_CANONICAL_NAME_ON &&
           apr_cstr_casecmp(origin, ap_construct_url(r->pool, "", r)) == 0;
}

/* "https://host:port" of the public address as a browser writes it; NULL without the directive. */
static const char *public_origin(const tseed_dir_conf_t *dir, apr_pool_t *pool)
{
    apr_uri_t uri;
    char *origin;

    if (!dir->public_url || apr_uri_parse(pool, dir->public_url, &uri) != APR_SUCCESS) {
        return NULL;
    }
    origin = uri.port && uri.port != apr_uri_port_of_scheme(uri.scheme)
                 ? apr_psprintf(pool, "%s://%s:%u", uri.scheme, uri.hostname, (unsigned)uri.port)
                 : apr_pstrcat(pool, uri.scheme, "://", uri.hostname, NULL);
    ap_str_tolower(origin);
    return origin;
}

static int is_public(const request_rec *r, const tseed_dir_conf_t *dir, const char *origin)
{
    const char *ours = public_origin(dir, r->pool);

    return ours && apr_cstr_casecmp(origin, ours) == 0;
}

static int is_let_in(const tseed_dir_conf_t *dir, const char *origin)
{
    for (int i = 0; dir->origins && i < dir->origins->nelts; i++) {
        if (apr_cstr_casecmp(origin, APR_ARRAY_IDX(dir->origins, i, const char *)) == 0) {
            return 1;
        }
    }
    return 0;
}

/* "none" is a person, "same-origin" a page of the origin that the browser asks. */
static int is_sent_by_another_site(const request_rec *r)
{
    const char *site = apr_table_get(r->headers_in, "Sec-Fetch-Site");

    return site && apr_cstr_casecmp(site, "none") != 0 &&
           apr_cstr_casecmp(site, "same-origin") != 0;
}

static const char *foreign(const request_rec *r, const char *origin)
{
    return apr_psprintf(r->pool,
                        "a page of another site (%s) may not do this; TileSeedCheckOrigin can "
                        "allow it",
                        origin);
}

/* Every browser says that it is Mozilla, and a page can't change that. */
static int is_browser(const request_rec *r)
{
    const char *agent = apr_table_get(r->headers_in, "User-Agent");

    return (agent && strncmp(agent, "Mozilla/", 8) == 0) ||
           apr_table_get(r->headers_in, "Sec-Fetch-Site");
}

/* Whether the name by which a browser calls us is one of an origin that may send requests. */
static int is_name_let_in(const request_rec *r, const tseed_dir_conf_t *dir)
{
    const char *host = apr_table_get(r->headers_in, "Host");
    const char *http = apr_pstrcat(r->pool, "http://", host ? host : "", NULL);
    const char *https = apr_pstrcat(r->pool, "https://", host ? host : "", NULL);

    return is_let_in(dir, http) || is_let_in(dir, https) || is_public(r, dir, http) ||
           is_public(r, dir, https);
}

/* A page may read what comes from the name of its own server, without saying so in a header. */
static const char *refuse_reading(request_rec *r, const tseed_dir_conf_t *dir)
{
    return r->user || !is_browser(r) || is_our_name(r) || is_name_let_in(r, dir)
               ? NULL
               : apr_psprintf(r->pool,
                              "nobody has logged in, and %s is none of this server's names, so a "
                              "browser may not read this; ServerName, ServerAlias, "
                              "TileSeedPublicURL or TileSeedCheckOrigin can say that it is",
                              r->hostname ? r->hostname : "an empty name");
}

/* Why a request that changes something is not let in, a sentence in the request's pool; NULL: it is
 * no request of another site's page. Request thread. */
static const char *origin_refusal(request_rec *r, const tseed_dir_conf_t *dir)
{
    const char *origin = apr_table_get(r->headers_in, "Origin");

    if (dir->check_origin == TSEED_OFF) {
        return NULL;
    }
    if (r->method_number == M_GET) {
        return refuse_reading(r, dir);
    }
    if (!origin) {
        return is_sent_by_another_site(r) ? foreign(r, "its browser says so") : NULL;
    }
    if (is_let_in(dir, origin) || is_public(r, dir, origin) || is_canonical(r, origin)) {
        return NULL;
    }
    if (!is_of_host(r, origin) || is_sent_by_another_site(r)) {
        return foreign(r, origin);
    }
    return r->user || is_our_name(r)
               ? NULL
               : apr_psprintf(
                     r->pool,
                     "a page of %s may not do this: nobody has logged in, and the name is "
                     "none of this server's; ServerName, ServerAlias, TileSeedPublicURL or "
                     "TileSeedCheckOrigin can say that it is",
                     origin);
}

#define HANDLER   "tileseed"
#define QUOTE_MAX 200 /* of what the client sent, in a message */

static int fix_up(request_rec *r)
{
    const tseed_dir_conf_t *dir = ap_get_module_config(r->per_dir_config, &tileseed_module);

    if (dir->rest == TSEED_ON && !page_take(r, dir)) {
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
        return tseed_reply_send(r, HTTP_OK, "text/plain" TSEED_LATIN1, "");
    }
    return tseed_reply_error(r, HTTP_METHOD_NOT_ALLOWED, "%s is not possible here, only %s",
                             r->method, allow);
}

/* ---- handlers ---- */

const char *const tseed_no_key[] = {NULL};

/* The handler of an action; NULL: there is none. */
static const tseed_handler_t *handler_of(const tseed_server_conf_t *conf, tseed_action_t action)
{
    for (size_t i = 0; conf->parts[i]; i++) {
        for (const tseed_handler_t *one = conf->parts[i]->handlers; one && one->handle; one++) {
            if (one->action == action) {
                return one;
            }
        }
    }
    return NULL;
}

/* A request that no action can take may have been meant to change something. */
static int may_change(const tseed_rest_t *rest)
{
    return !rest->handler || rest->handler->changes;
}

/* ---- the body ---- */

/* Appends a brigade's data. OK, or the HTTP status to answer with; *ended: the end of the body was
 * seen. */
static int append_brigade(apr_bucket_brigade *from, apr_bucket_brigade *to, apr_off_t *total,
                          int *ended)
{
    apr_bucket *bucket = APR_BRIGADE_FIRST(from);

    while (bucket != APR_BRIGADE_SENTINEL(from) && !*ended) {
        const char *data;
        apr_size_t length;
        apr_status_t rv;

        *ended = APR_BUCKET_IS_EOS(bucket);
        rv = APR_BUCKET_IS_METADATA(bucket)
                 ? APR_SUCCESS
                 : apr_bucket_read(bucket, &data, &length, APR_BLOCK_READ);
        if (rv != APR_SUCCESS) {
            return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        }
        if (!APR_BUCKET_IS_METADATA(bucket)) {
            *total += (apr_off_t)length;
            apr_brigade_write(to, NULL, NULL, data, length);
        }
        bucket = APR_BUCKET_NEXT(bucket);
    }
    apr_brigade_cleanup(from);
    return OK;
}

/* Whether the head says that the body is too long: then nothing of it is read, and a client that
 * asks before it sends one need not. */
static int is_announced(const request_rec *r, apr_off_t most)
{
    const char *length = apr_table_get(r->headers_in, "Content-Length");
    int64_t announced;

    return length && !apr_table_get(r->headers_in, "Transfer-Encoding") &&
           tseed_text_int64(&announced, length, 0, INT64_MAX) == 0 && announced > most;
}

/* Reads the whole body into the request's pool, NUL behind it. OK, or the HTTP status to answer
 * with: 413 when it is longer than `most`. */
static int read_body(request_rec *r, const char **body, apr_size_t *length, apr_off_t most)
{
    apr_bucket_brigade *in = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_bucket_brigade *all = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_off_t total = 0;
    int ended = 0;
    char *flat;

    if (is_announced(r, most)) {
        r->connection->keepalive = AP_CONN_CLOSE;
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    }
    while (!ended) {
        apr_status_t rv = ap_get_brigade(r->input_filters, in, AP_MODE_READBYTES, APR_BLOCK_READ,
                                         HUGE_STRING_LEN);
        int status = rv == APR_SUCCESS ? append_brigade(in, all, &total, &ended)
                                       : ap_map_http_request_error(rv, HTTP_BAD_REQUEST);

        if (status == OK && total > most) {
            status = HTTP_REQUEST_ENTITY_TOO_LARGE;
        }
        if (status != OK) {
            r->connection->keepalive = AP_CONN_CLOSE; /* the rest is not worth reading */
            return status;
        }
    }
    apr_brigade_pflatten(all, &flat, length, r->pool);
    *body = apr_pstrmemdup(r->pool, flat ? flat : "", *length);
    return OK;
}

/* Once the body is read: an input filter of httpd may have decoded it, and says so. */
static int is_encoded(const request_rec *r)
{
    const char *coding = apr_table_get(r->headers_in, "Content-Encoding");

    return coding && *coding && apr_cstr_casecmp(coding, "identity") != 0;
}

/* Whether the action takes nothing but its address. */
static int is_bare(const tseed_handler_t *handler)
{
    return handler->changes && !handler->has_body;
}

static int run_action(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const tseed_handler_t *handler = rest->handler;
    apr_off_t most = (apr_off_t)rest->conf->settings.max_request_body;
    int status;

    if (handler->has_body || handler->changes) {
        status = read_body(r, &rest->body, &rest->length, most);
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
    if (is_bare(handler) && !tseed_body_is_empty(rest->body, rest->length)) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST,
                                 "nothing can be said in the body here, it would narrow nothing: "
                                 "send none");
    }
    return handler->handle(rest);
}

/* A child of the last generation may see a board that a new build has given up. The children of the
 * new build have passed its counts. The state may even be another httpd's, which must not be
 * changed. */
static int refuse_for_now(const tseed_rest_t *rest)
{
    request_rec *r = rest->r;

    if (tseed_board_is_fenced(rest->board)) {
        return tseed_reply_busy(r, 2, "a new build of the module is taking over; send it again");
    }
    if (rest->handler->changes &&
        tseed_board_seeder(rest->board, NULL, NULL, NULL) == TSEED_SEEDER_LOCKED_OUT) {
        return tseed_reply_busy(r, 30,
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

    if (!rest->handler) {
        return route->allowed ? not_allowed(rest, route->allowed) : not_found(rest);
    }
    if (!rest->board) {
        return tseed_reply_busy(r, 30,
                                "no layer is configured, or there is no memory for the task "
                                "table; the error log says which");
    }
    status = refuse_for_now(rest);
    if (status != DECLINED) {
        return status;
    }
    if (is_bare(rest->handler) && !rest->handler->keys && r->args && *r->args) {
        return tseed_reply_error(
            r, HTTP_BAD_REQUEST,
            "nothing can be said in the query here, it would narrow nothing: "
            "leave out '%s'",
            tseed_text_quote(tseed_escape_plain(r->args, r->pool), QUOTE_MAX, r->pool));
    }
    problem =
        rest->handler->keys ? tseed_query_refusal(r->args, rest->handler->keys, r->pool) : NULL;
    if (problem) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", problem);
    }
    problem = origin_refusal(r, rest->dir);
    return problem ? tseed_reply_error(r, HTTP_FORBIDDEN, "%s", problem) : DECLINED;
}

static int answer(request_rec *r)
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
        !page_hides(rest.dir, r->uri + strlen(rest.base))) {
        rest.route = tseed_route(r->uri + strlen(rest.base), method_of(r), r->pool);
        rest.handler = handler_of(rest.conf, rest.route.action);
    }
    status = refuse(&rest);
    status = status == DECLINED ? run_action(&rest) : status;
    tseed_audit_handled(r, rest.route.layer, status, may_change(&rest));
    return status;
}

/* ---- hooks ---- */

static int run_fixups(request_rec *r)
{
    return tseed_run_hook(fix_up, r);
}

static int run_handler(request_rec *r)
{
    return tseed_run_hook(answer, r);
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_fixups(run_fixups, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(run_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_PAGE, .handle = handle_page},
    {.handle = NULL},
};

const tseed_module_part_t tseed_rest_part = {.handlers = handlers, .hook = register_hooks};
