/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Answers: one place for charset, caching and errors. The audit. A child's way to the state
 * database, lock 3 of the internals README.
 *
 * No pool that the child's end destroys has anything of the database. Prefork ends its children in
 * a signal handler. The signal may come while this very thread is within SQLite; closing the
 * database from the handler would then wait for itself. The kernel closes the database, as after
 * kill -9.
 */
#include "mod_tileseed_reply.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_thread_mutex.h>
#include <httpd.h>
#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>
#include <stdatomic.h>
#include <string.h>
#include <util_filter.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_config.h"
#include "protocol/tseed_members.h"

APLOG_USE_MODULE(tileseed);

/* ---- the audit ---- */

#define NAME_MOST   200 /* of what the client sent, in a line */
#define DETAIL_MOST 6000
#define RESULT_NOTE "tileseed-result"
#define DETAIL_NOTE "tileseed-detail"

void tseed_audit_note(request_rec *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    apr_table_setn(r->notes, DETAIL_NOTE, apr_pvsprintf(r->pool, format, args));
    va_end(args);
}

/* httpd has made a GET of a request that got an ErrorDocument, and kept the method. */
static const char *method_of(const request_rec *r)
{
    const char *kept = r->next ? apr_table_get(r->subprocess_env, "REQUEST_METHOD") : NULL;

    return kept ? kept : r->method;
}

static int is_write(const request_rec *r)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", NULL};
    const char *method = method_of(r);
    int i = 0;

    while (methods[i] && strcmp(method, methods[i]) != 0) {
        i++;
    }
    return methods[i] != NULL;
}

/* For a place between single quotes: httpd escapes what else could be mistaken for other text. */
static const char *quote(const request_rec *r, const char *text, apr_size_t most)
{
    char *quoted = apr_pstrdup(r->pool, tseed_text_quote(text, most, r->pool));

    for (char *at = strchr(quoted, '\''); at; at = strchr(at, '\'')) {
        *at = '"';
    }
    return quoted;
}

static void write_line(request_rec *r, int status)
{
    const char *detail = apr_table_get(r->notes, DETAIL_NOTE);
    const char *who =
        r->user ? apr_psprintf(r->pool, "'%s'", quote(r, r->user, NAME_MOST)) : "anybody";
    const char *what = apr_psprintf(r->pool, "%s '%s' by %s from %s", method_of(r),
                                    quote(r, r->unparsed_uri, NAME_MOST), who, r->useragent_ip);

    detail = detail ? tseed_text_quote(detail, DETAIL_MOST, r->pool) : "";
    if (status < HTTP_BAD_REQUEST) {
        detail = *detail ? detail : apr_psprintf(r->pool, "httpd has answered %d", status);
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "TS0054: %s: %s", what, detail);
    } else {
        const int is_asked =
            status == HTTP_UNAUTHORIZED && !apr_table_get(r->headers_in, "Authorization");

        ap_log_rerror(APLOG_MARK, is_asked ? APLOG_INFO : APLOG_NOTICE, 0, r,
                      "TS0055: %s: %s: %d %s", is_asked ? "asked for credentials" : "refused", what,
                      status, detail);
    }
}

void tseed_audit_handled(request_rec *r, const char *layer, int status, int is_change)
{
    const int final = status == OK ? r->status : status;

    if (status < OK) {
        return; /* a filter has answered already, and the end of the request knows what */
    }
    apr_table_setn(r->notes, RESULT_NOTE, final < HTTP_BAD_REQUEST ? "done" : "refused");
    if (layer) {
        apr_table_setn(r->notes, "tileseed-layer", layer);
    }
    if (is_change && is_write(r)) {
        write_line(r, final);
    }
}

/* Logs a request that httpd has refused before our handler saw it. log_transaction hook. */
static int log_refused(request_rec *r)
{
    const tseed_dir_conf_t *dir = ap_get_module_config(r->per_dir_config, &tileseed_module);

    if (dir->rest == TSEED_ON && !apr_table_get(r->notes, RESULT_NOTE) && is_write(r)) {
        write_line(r, r->status);
    }
    return DECLINED;
}

/* ---- answers ---- */

#define LINE_EVERY    (60 * APR_USEC_PER_SEC)
#define STATE_SECONDS 5 /* until a client asks again that got none of the state */

/* Expires says to caches of HTTP/1.0 what Cache-Control says, and keeps mod_expires away. */
int tseed_reply_send(request_rec *r, int status, const char *type, const char *body)
{
    apr_size_t length = strlen(body);

    r->status = status;
    r->content_encoding = NULL; /* mod_mime may have seen one in a layer's name */
    r->content_languages = NULL;
    ap_set_content_type(r, type);
    ap_set_content_length(r, (apr_off_t)length);
    apr_table_setn(r->headers_out, "Cache-Control",
                   apr_table_get(r->headers_out, "ETag") ? "no-cache" : "no-store");
    apr_table_setn(r->headers_out, "Expires", "0");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff"); /* it may quote a client */
    if (!r->header_only) {
        ap_rwrite(body, (int)length, r);
    }
    return OK;
}

int tseed_reply_document(request_rec *r, tseed_format_of_body_t format, const char *body)
{
    return tseed_reply_send(r, HTTP_OK,
                            format == TSEED_BODY_JSON ? "application/json" TSEED_LATIN1
                                                      : "text/xml" TSEED_LATIN1,
                            body);
}

static int send_error(request_rec *r, int status, const char *text)
{
    tseed_audit_note(r, "%s", text);
    return tseed_reply_send(r, status, "text/plain" TSEED_LATIN1,
                            tseed_escape_plain(text, r->pool));
}

int tseed_reply_error(request_rec *r, int status, const char *format, ...)
{
    va_list args;
    const char *text;

    va_start(args, format);
    text = apr_pvsprintf(r->pool, format, args);
    va_end(args);
    return send_error(r, status, text);
}

int tseed_reply_busy(request_rec *r, int seconds, const char *format, ...)
{
    va_list args;
    const char *text;

    va_start(args, format);
    text = apr_pvsprintf(r->pool, format, args);
    va_end(args);
    apr_table_setn(r->headers_out, "Retry-After", apr_itoa(r->pool, seconds));
    return send_error(r, HTTP_SERVICE_UNAVAILABLE, text);
}

/* Filters that compress an answer mark its ETag, and don't take the mark away from a request. */
static const char *without_marks(request_rec *r, const char *etags)
{
    static const char *const marks[] = {"-gzip\"", "-br\""};
    char *plain = apr_pstrdup(r->pool, etags);

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const size_t length = strlen(marks[i]) - 1;

        for (char *at = strstr(plain, marks[i]); at; at = strstr(at, marks[i])) {
            memmove(at, at + length, strlen(at + length) + 1);
        }
    }
    return plain;
}

int tseed_reply_etag(request_rec *r, const char *etag)
{
    const char *match = apr_table_get(r->headers_in, "If-None-Match");

    apr_table_setn(r->headers_out, "ETag", etag);
    apr_table_setn(r->headers_out, "Cache-Control", "no-cache");
    if (!match) {
        return OK;
    }
    if (strchr(match, '-')) {
        apr_table_setn(r->headers_in, "If-None-Match", without_marks(r, match));
    }
    return ap_meets_conditions(r);
}

void tseed_reply_warn(request_rec *r, const char *warning)
{
    apr_table_setn(r->headers_out, "TileSeed-Warning", tseed_escape_plain(warning, r->pool));
}

void tseed_reply_ignored(request_rec *r, const char *what, const char *ignored)
{
    const char *list = ignored ? tseed_members_joined(ignored, r->pool) : NULL;

    if (list) {
        tseed_reply_warn(r, apr_pstrcat(r->pool, "ignored: ", list, NULL));
        ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r, "TS0056: %s: ignored: %s", what,
                      tseed_escape_plain(list, r->pool));
    }
}

/* The same reason is an error once a minute and child, and not worth a line a request. */
static int level_of(const char *why)
{
    static _Atomic apr_time_t next;
    static _Atomic unsigned said;
    apr_ssize_t length = APR_HASH_KEY_STRING;
    unsigned reason = apr_hashfunc_default(why, &length);
    apr_time_t now = tseed_clock_monotonic();

    if (atomic_exchange(&said, reason) == reason && now < atomic_load(&next)) {
        return APLOG_DEBUG;
    }
    atomic_store(&next, now + LINE_EVERY);
    return APLOG_ERR;
}

/* 503 or 507 with Retry-After and a sentence, after the reason has been logged, the same one once a
 * minute: `what` could not be done to the state. */
static int reply_no_state(request_rec *r, apr_status_t rv, const char *why, const char *what)
{
    const int level = level_of(why);

    ap_log_rerror(APLOG_MARK, level, rv, r, "TS0057: can't %s: %s", what, why);
    if (APR_STATUS_IS_ENOSPC(rv)) {
        apr_table_setn(r->headers_out, "Retry-After", apr_itoa(r->pool, STATE_SECONDS));
        return tseed_reply_error(r, HTTP_INSUFFICIENT_STORAGE,
                                 "no space is left to %s; nothing was changed, make room in the "
                                 "state directory and send it again",
                                 what);
    }
    if (APR_STATUS_IS_INCOMPLETE(rv)) {
        return tseed_reply_busy(r, STATE_SECONDS,
                                "can't %s: the state database failed in the middle of it, and it "
                                "may be found done later; look before you send it again; the "
                                "error log says why",
                                what);
    }
    if (r->method_number == M_GET) {
        return tseed_reply_busy(r, STATE_SECONDS,
                                "can't %s: the state database can't be used now; ask again; the "
                                "error log says why",
                                what);
    }
    return tseed_reply_busy(r, STATE_SECONDS,
                            "can't %s: the state database can't be used now; nothing was changed, "
                            "send it again; the error log says why",
                            what);
}

/* ---- the state database ---- */

#define LOCK_TIMEOUT (10 * APR_USEC_PER_SEC) /* a slow disk opens a database for seconds */

/* One a process. The mutex guards everything else in it. */
static struct {
    const tseed_settings_t *settings;
    apr_thread_mutex_t *lock;
    apr_pool_t *pool; /* below no other, own allocator: request threads take turns with it */
    tseed_state_t *state;
} child;

static void init_child(apr_pool_t *pchild, server_rec *server)
{
    apr_status_t rv;

    (void)pchild;
    child.settings = &tseed_conf_get(server)->settings;
    apr_pool_create_unmanaged(&child.pool);
    rv = apr_thread_mutex_create(&child.lock, APR_THREAD_MUTEX_TIMED, child.pool);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, server,
                     "TS0010: no mutex for the state database; REST answers 503");
        child.lock = NULL;
    }
}

tseed_visit_t tseed_visit_begin(request_rec *r)
{
    tseed_visit_t visit = {.r = r, .rv = APR_ENOLOCK};

    if (child.lock) {
        visit.rv = apr_thread_mutex_timedlock(child.lock, LOCK_TIMEOUT);
    }
    if (visit.rv == APR_SUCCESS && !child.state) {
        visit.rv = tseed_state_ready(&child.state, child.settings, child.pool);
        if (child.state) {
            tseed_state_hurry(child.state);
        } else {
            apr_thread_mutex_unlock(child.lock);
        }
    }
    visit.state = visit.rv == APR_SUCCESS ? child.state : NULL;
    return visit;
}

apr_status_t tseed_visit_end(tseed_visit_t *visit)
{
    visit->why = "the state database is busy or can't be opened";
    if (visit->state) {
        visit->why = apr_pstrdup(visit->r->pool, tseed_state_error(visit->state));
        apr_thread_mutex_unlock(child.lock);
    }
    return visit->rv;
}

int tseed_visit_refuse(const tseed_visit_t *visit, const char *what)
{
    return reply_no_state(visit->r, visit->rv, visit->why, what);
}

int tseed_visit_done(tseed_visit_t *visit, const char *what)
{
    return tseed_visit_end(visit) == APR_SUCCESS ? DECLINED : tseed_visit_refuse(visit, what);
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_child_init(init_child, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(log_refused, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_reply_part = {.hook = register_hooks};
