/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The audit: one line in the error log for each request to the REST interface that changes
 * something or wanted to, with who sent it from where, and what became of it.
 *
 * What was done is logged at the level info. What was refused is logged at the level notice, which
 * httpd always writes; but at info if the client has only been asked to log in. Request threads.
 */
#ifndef MOD_TILESEED_AUDIT_H
#define MOD_TILESEED_AUDIT_H

#include <httpd.h>

/* Notes what a request has done, or why not, for the audit and the access log. */
void tseed_audit_note(request_rec *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same of the task that a request has made or changed. */
void tseed_audit_task(request_rec *r, int64_t task);

/* Notes the end of a request that our handler has seen, before the answer is sent. `layer`: what
 * the request was about, or NULL. `status`: what the handler is about to return. Logs the request
 * if it is about a change. */
void tseed_audit_handled(request_rec *r, const char *layer, int status, int is_change);

/* Logs a request that httpd has refused before our handler saw it. log_transaction hook. */
int tseed_audit_log(request_rec *r);

#endif
