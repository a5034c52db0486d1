/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How the REST interface reads bodies and sends answers. */
#include "mod_tileseed_reply.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>
#include <stdatomic.h>
#include <string.h>
#include <util_filter.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_audit.h"
#include "protocol/tseed_members.h"

#define LINE_EVERY    (60 * APR_USEC_PER_SEC)
#define STATE_SECONDS 5 /* until a client asks again that got none of the state */

APLOG_USE_MODULE(tileseed);

/* Expires says to caches of HTTP/1.0 what Cache-Control says, and keeps mod_expires away. */
static int send_whole(request_rec *r, int status, const char *type, const char *body)
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

int tseed_reply_send(request_rec *r, int status, const char *type, const char *body)
{
    return send_whole(r, status, apr_pstrcat(r->pool, type, ";charset=ISO-8859-1", NULL), body);
}

int tseed_reply_service(request_rec *r, int status, const char *type, const char *body)
{
    return send_whole(r, status, apr_pstrcat(r->pool, type, ";charset=UTF-8", NULL), body);
}

int tseed_reply_document(request_rec *r, tseed_format_of_body_t format, const char *body)
{
    return tseed_reply_send(r, HTTP_OK, format == TSEED_BODY_JSON ? "application/json" : "text/xml",
                            body);
}

static int send_error(request_rec *r, int status, const char *text)
{
    tseed_audit_note(r, "%s", text);
    return tseed_reply_send(r, status, "text/plain", tseed_escape_plain(text, r->pool));
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

int tseed_reply_no_state(request_rec *r, apr_status_t rv, const char *why, const char *what)
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

int tseed_reply_body(request_rec *r, const char **body, apr_size_t *length, apr_off_t most)
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
