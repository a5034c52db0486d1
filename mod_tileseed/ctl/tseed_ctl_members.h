/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Members of the server's documents. A member that is missing or null has the value that the caller
 * names, because a server may be older than this client. Any thread; results live in `pool`. */
#ifndef TSEED_CTL_MEMBERS_H
#define TSEED_CTL_MEMBERS_H

#include <apr_tables.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/tseed_document.h"

/* Reads an object of JSON with any members. The members are the children of *document. NULL, or a
 * sentence. Everything lies in `pool`. */
const char *tseed_ctl_document_read(const tseed_node_t **document, const char *body, size_t length,
                                    apr_pool_t *pool);

/* The member, or NULL when it is missing or null. */
const tseed_node_t *tseed_ctl_member(const tseed_node_t *object, const char *name);

/* The member's text as it was sent. */
const char *tseed_ctl_text(const tseed_node_t *object, const char *name, const char *absent);

/* The same for people: see tseed_ctl_clean. In `pool`. */
const char *tseed_ctl_words(const tseed_node_t *object, const char *name, const char *absent,
                            apr_pool_t *pool);

/* The member as a whole number or as a decimal one. */
int64_t tseed_ctl_number(const tseed_node_t *object, const char *name, int64_t absent);
double tseed_ctl_decimal(const tseed_node_t *object, const char *name, double absent);

/* Whether the member is true. */
int tseed_ctl_is_true(const tseed_node_t *object, const char *name);

/* The first entry of a list, and the entry behind one; NULL: there is none. */
const tseed_node_t *tseed_ctl_first(const tseed_node_t *object, const char *name);
const tseed_node_t *tseed_ctl_next(const tseed_node_t *entry);

/* Parameters as "NAME=VALUE, ..." for people; "" for none. In `pool`. */
const char *tseed_ctl_parameters(const tseed_node_t *object, apr_pool_t *pool);

/* A row of the status list: tiles processed, tiles, a number that servers disagree about, the
 * task, its state. */
typedef struct {
    int64_t processed, total, id, state;
} tseed_ctl_row_t;

/* Reads {"long-array-array":[[...],...]}, which the tree can't hold. An array of tseed_ctl_row_t in
 * `pool`, or NULL: the body is something else. */
apr_array_header_t *tseed_ctl_rows_read(const char *body, apr_pool_t *pool);

#endif
