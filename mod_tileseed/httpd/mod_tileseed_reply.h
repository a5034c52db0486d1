/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How the REST interface reads bodies, sends answers and logs them, and asks the state database.
 * Request threads. */
#ifndef MOD_TILESEED_REPLY_H
#define MOD_TILESEED_REPLY_H

#include <httpd.h>

#include "protocol/tseed_document.h"
#include "state/tseed_state.h"

/* ---- answers: they return what a handler hook returns ---- */

/* The charset of what we write ourselves, behind its type: pure ASCII. Documents of map services
 * declare UTF-8, and have that. */
#define TSEED_LATIN1 ";charset=ISO-8859-1"

/* Each sends a whole answer, with `Cache-Control: no-store` or, if it has an ETag, `no-cache`, and
 * returns OK. `type` has a charset. An error takes UTF-8. */
int tseed_reply_send(request_rec *r, int status, const char *type, const char *body);
int tseed_reply_document(request_rec *r, tseed_format_of_body_t format, const char *body);
int tseed_reply_error(request_rec *r, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with 503 and Retry-After. */
int tseed_reply_busy(request_rec *r, int seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says that the document which is sent next has this ETag, and may be kept if it is asked for each
 * time. HTTP_NOT_MODIFIED: the client has that document, return this status. OK: send it. */
int tseed_reply_etag(request_rec *r, const char *etag);

/* Sets the header TileSeed-Warning of an answer that is sent later; `warning` is one line of UTF-8.
 */
void tseed_reply_warn(request_rec *r, const char *warning);

/* The same for what was ignored of a request (lines of tseed_unknown_t), and into the log. `what`
 * the request is about: "disk quota". NULL: nothing was ignored. */
void tseed_reply_ignored(request_rec *r, const char *what, const char *ignored);

/* ---- the audit ----
 *
 * One line in the error log for each request to the REST interface that changes something or wanted
 * to, with who sent it from where, and what became of it.
 *
 * What was done is logged at the level info. What was refused is logged at the level notice, which
 * httpd always writes; but at info if the client has only been asked to log in.
 */

/* Notes what a request has done, or why not, for the audit and the access log. */
void tseed_audit_note(request_rec *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes the end of a request that our handler has seen, before the answer is sent. `layer`: what
 * the request was about, or NULL. `status`: what the handler is about to return. Logs the request
 * if it is about a change. */
void tseed_audit_handled(request_rec *r, const char *layer, int status, int is_change);

/* ---- the state database ----
 *
 * One connection a process, opened at the first need, used by one thread at a time.
 */

/* One use of the connection, on the stack of the request's thread. */
typedef struct {
    request_rec *r;
    tseed_state_t *state; /* NULL: another thread has it, or it can't be opened */
    apr_status_t rv;      /* the last status: first of the taking, then of what the user has done */
    const char *why;      /* when it has ended: what failed last, in words; in the request's pool */
} tseed_visit_t;

/* Takes the connection, and waits for it for some seconds. End the visit in any case. */
tseed_visit_t tseed_visit_begin(request_rec *r);

/* A step of a visit: a call of state/ that gives a status. It is left out when the connection was
 * not to be had, or when a step before it has failed. */
#define tseed_visit_do(visit, step)                                                                \
    ((visit)->rv = (visit)->rv == APR_SUCCESS ? (step) : (visit)->rv)

/* Gives the connection back, and returns the status of the visit. */
apr_status_t tseed_visit_end(tseed_visit_t *visit);

/* The same for what a client asked for, in words such as "list the tasks". DECLINED, or OK with the
 * refusal sent. tseed_visit_refuse sends it, for a visit that has ended. */
int tseed_visit_done(tseed_visit_t *visit, const char *what);
int tseed_visit_refuse(const tseed_visit_t *visit, const char *what);

#endif
