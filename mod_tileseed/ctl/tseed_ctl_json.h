/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The server's documents, as objects of json-c, and their members. A member that is missing or null
 * has the value that the caller names, because a server may be older than this client. Objects end
 * with the pool that they are given to, and so do their texts. Main thread. */
#ifndef TSEED_CTL_JSON_H
#define TSEED_CTL_JSON_H

#include <apr_pools.h>
#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a document, which must be an object, from a text that ends with a NUL. NULL, or a sentence,
 * and *document is NULL. In `pool`. */
const char *tseed_ctl_json_read(json_object **document, const char *text, size_t length,
                                apr_pool_t *pool);

/* At least how much memory the document takes when it is read. */
size_t tseed_ctl_json_memory(const char *text, size_t length);

/* The rows of a status list {"long-array-array":[[processed,all,,id,state],...]} as a list of tasks
 * with five members; NULL: the document is something else. In `pool`. */
json_object *tseed_ctl_rows(json_object *document, apr_pool_t *pool);

/* Gives an object to `pool`. Returns it. */
json_object *tseed_ctl_keep(json_object *object, apr_pool_t *pool);

/* The member's text as it was sent. */
const char *tseed_ctl_text(json_object *object, const char *name, const char *absent);

/* Whether the member's text is `value`. */
int tseed_ctl_is(json_object *object, const char *name, const char *value);

/* The member as a whole number or as a decimal one. */
int64_t tseed_ctl_number(json_object *object, const char *name, int64_t absent);
double tseed_ctl_decimal(json_object *object, const char *name, double absent);

/* The entry of that index in a list; NULL: there is none. */
json_object *tseed_ctl_entry(json_object *object, const char *list, size_t index);

/* Parameters as "NAME=VALUE, ..."; "" for none. In `pool`. */
const char *tseed_ctl_parameters(json_object *object, apr_pool_t *pool);

/* The entry of a list that has a member of that name, or the first one (NULL). */
json_object *tseed_ctl_find(json_object *object, const char *list, const char *member,
                            const char *name);

#endif
