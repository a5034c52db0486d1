/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents as trees: XML and JSON, as people really send them, read into one small tree.
 *
 * Both formats end in the same tree, so that whoever judges a document has one thing to look at:
 * a JSON array becomes siblings of one name (an empty one a single empty node), and an empty
 * element, {}, [] and "" are all an empty node. Attributes, comments, processing instructions and
 * text beside child elements are dropped. Depth is bounded, DOCTYPE is refused before anything is
 * opened. All sentences may quote the input, in UTF-8: tseed_escape_plain makes them ASCII.
 *
 * Trees and sentences live in the pool that a call takes.
 */
#ifndef TSEED_DOCUMENT_H
#define TSEED_DOCUMENT_H

#include <apr_pools.h>
#include <stddef.h>

#include "protocol/tseed_escape.h"
#include "protocol/tseed_node.h"

/* Deepest nesting of elements, or of braces and brackets. */
#define TSEED_DOCUMENT_DEPTH 16

typedef enum { TSEED_BODY_XML, TSEED_BODY_JSON } tseed_format_of_body_t;

/* Readies the XML library; once a process, before its second thread. */
void tseed_document_init(void);

/* Reads a whole body into a tree in `pool`; for JSON the root is the one member of the outermost
 * object. NULL or a sentence that says where it went wrong; then *root is NULL, or for JSON a node
 * with the root's name alone, if that could be read ("": the outermost object is empty). Any
 * thread. */
const char *tseed_document_read(tseed_node_t **root, tseed_format_of_body_t format,
                                const char *body, size_t length, apr_pool_t *pool);

/* Whether the root has one of the names, which end with NULL. To be asked before the sentence of
 * tseed_document_read is said: {"zoomStop":0} is correct JSON without its root. NULL, also if
 * `root` is NULL, or a sentence. */
const char *tseed_document_check_root(const tseed_node_t *root, tseed_format_of_body_t format,
                                      const char *const *names, apr_pool_t *pool);

#endif
