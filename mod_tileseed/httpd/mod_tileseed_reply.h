/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How the REST interface reads bodies and sends answers: one place for charset, caching and errors.
 * Request threads; they return what a handler hook returns. */
#ifndef MOD_TILESEED_REPLY_H
#define MOD_TILESEED_REPLY_H

#include <httpd.h>

#include "protocol/tseed_document.h"

/* Each sends a whole answer with charset ISO-8859-1, with `Cache-Control: no-store` or, if it has
 * an ETag, `no-cache`, and returns OK.
 * `body` is pure ASCII but in error, which takes UTF-8. */
int tseed_reply_send(request_rec *r, int status, const char *type, const char *body);
int tseed_reply_document(request_rec *r, tseed_format_of_body_t format, const char *body);
int tseed_reply_error(request_rec *r, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with 503 and Retry-After. */
int tseed_reply_busy(request_rec *r, int seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a document of a map service, which declares UTF-8 and is labelled so. */
int tseed_reply_service(request_rec *r, int status, const char *type, const char *body);

/* Says that the document which is sent next has this ETag, and may be kept if it is asked for each
 * time. HTTP_NOT_MODIFIED: the client has that document, return this status. OK: send it. */
int tseed_reply_etag(request_rec *r, const char *etag);

/* Sets the header TileSeed-Warning of an answer that is sent later; `warning` is one line of UTF-8.
 */
void tseed_reply_warn(request_rec *r, const char *warning);

/* The same for what was ignored of a request (lines of tseed_unknown_t), and into the log. `what`
 * the request is about: "disk quota". NULL: nothing was ignored. */
void tseed_reply_ignored(request_rec *r, const char *what, const char *ignored);

/* 503 or 507 with Retry-After and a sentence, after the reason has been logged, the same one once a
 * minute: `what` could not be done to the state. */
int tseed_reply_no_state(request_rec *r, apr_status_t rv, const char *why, const char *what);

/* Reads the whole body into the request's pool, NUL behind it. OK, or the HTTP status to answer
 * with: 413 when it is longer than `most`. */
int tseed_reply_body(request_rec *r, const char **body, apr_size_t *length, apr_off_t most);

#endif
