/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents as trees: XML and JSON, as people really send them, read into one small tree.
 *
 * Both formats give the same tree, so that judges of documents look at one thing. A JSON array
 * becomes siblings of one name; an empty array becomes a single empty node. An empty element, {},
 * [] and "" all become an empty node. Members of JSON that begin with @ are attributes, as encoders
 * for XML write them, and "$" or "#text" beside them alone is the text. The readers drop comments,
 * processing instructions and text beside child elements, of which the node says that it was there.
 * They bound the depth, and refuse a DOCTYPE before they open anything. Sentences may quote the
 * input, in UTF-8: tseed_escape_plain makes them ASCII.
 *
 * Trees and sentences live in the pool that a call takes.
 */
#ifndef TSEED_DOCUMENT_H
#define TSEED_DOCUMENT_H

#include <apr_pools.h>
#include <stddef.h>

#include "protocol/tseed_members.h"
#include "protocol/tseed_write.h"

/* Deepest nesting of elements, or of braces and brackets. */
#define TSEED_DOCUMENT_DEPTH 16

/* Readies the XML library; once a process, before its second thread. */
void tseed_document_init(void);

/* Reads a whole body into a tree in `pool`. The root of a JSON document is the one member of the
 * outermost object. NULL, or a sentence that says where the body is wrong. With a sentence *root is
 * NULL, or a node that has only a name: for JSON, when the root's name could be read ("": the
 * outermost object is empty). Any thread. */
const char *tseed_document_read(tseed_node_t **root, tseed_format_of_body_t format,
                                const char *body, size_t length, apr_pool_t *pool);

/* Checks that the root has one of `names`, which end with NULL. Call it before you use the sentence
 * of tseed_document_read: {"zoomStop":0} is correct JSON, but its root is missing. NULL, or a
 * sentence. NULL when `root` is NULL. */
const char *tseed_document_check_root(const tseed_node_t *root, tseed_format_of_body_t format,
                                      const char *const *names, apr_pool_t *pool);

/* Reads the JSON half of tseed_document_read. tseed_json.c. */
const char *tseed_json_read(tseed_node_t **root, const char *body, size_t length, apr_pool_t *pool);

#endif
