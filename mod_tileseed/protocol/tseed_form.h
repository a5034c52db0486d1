/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Forms: what web pages and curl -d send: terminations, and a seed request. Any thread. Results and
 * sentences live in the pool that a call takes. */
#ifndef TSEED_FORM_H
#define TSEED_FORM_H

#include <apr_tables.h>

#include "protocol/tseed_seed_request.h"

/* application/x-www-form-urlencoded into a table, keys as sent. Malformed escapes stay as they
 * are, and so does %00. */
apr_table_t *tseed_form_read(const char *body, size_t length, apr_pool_t *pool);

/* The kinds of forms of GeoWebCache's web page. */
typedef enum {
    TSEED_FORM_KILL_ALL, /* or what is no form at all: tseed_kill_code_read says so */
    TSEED_FORM_KILL_THREAD,
    TSEED_FORM_LIST,
    TSEED_FORM_SEED
} tseed_form_kind_t;

/* The kind of a form, by the members that it has. */
tseed_form_kind_t tseed_form_kind(const apr_table_t *form);

/* thread_id, the id of a task. NULL or the text of the 400: there is no id, or another field. */
const char *tseed_form_thread(int64_t *task, const apr_table_t *form, apr_pool_t *pool);

/* list=layer or list=all. NULL or the text of the 400. */
const char *tseed_form_list(int *is_all, const apr_table_t *form, apr_pool_t *pool);

/* Reads the members of a seed request. `bbox=minx,miny,maxx,maxy` stands for minX, minY, maxX and
 * maxY. An empty field counts as absent, but for type. NULL, or the text of the 400: a field is
 * misspelt or could narrow the request, or one is there twice with two values. */
const char *tseed_form_seed(tseed_seed_document_t *document, const apr_table_t *form,
                            apr_pool_t *pool);

/* The same for a query (NULL: there is none), but that four fields are noted and not missed in a
 * truncate, whatever they say: they are meant for somebody else. */
const char *tseed_form_query(tseed_seed_document_t *document, const char *query, apr_pool_t *pool);

/* Adds the fields of the query to a request that a document or form has made. NULL, or the text of
 * the 400: also when the query contradicts what the request says. */
const char *tseed_form_add_query(tseed_seed_document_t *document, const char *query,
                                 apr_pool_t *pool);

/* Which tasks a form terminates. */
typedef struct {
    unsigned mask;       /* of states: 1 << TSEED_PENDING, 1 << TSEED_RUNNING */
    const char *code;    /* its name, in lower case */
    const char *ignored; /* fields that narrow nothing, one a line, or NULL */
} tseed_kill_t;

/* Reads kill_all from the body or from the query (NULL: there is no query). A body that begins with
 * { or < is no form. NULL, or the text of the 400: the code is missing or unknown, two codes
 * differ, or a field would spare some tasks. */
const char *tseed_kill_code_read(tseed_kill_t *kill, const char *body, size_t length,
                                 const char *query, apr_pool_t *pool);

#endif
