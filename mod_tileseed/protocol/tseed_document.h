/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents as trees: XML and JSON, as people really send them, read into one small tree of names and texts.
 *
 * libxml2 and json-c stay behind this file. A JSON array becomes siblings of one name; attributes, comments and
 * processing instructions are dropped. Depth is bounded (16), DOCTYPE is refused before anything is opened.
 */
#ifndef TSEED_DOCUMENT_H
#define TSEED_DOCUMENT_H

#include <apr_pools.h>
#include <stddef.h>

typedef enum { TSEED_BODY_XML, TSEED_BODY_JSON } tseed_format_of_body_t;

typedef enum {
    TSEED_NODE_TEXT,   /* XML element, JSON string, bare word or single-quoted text */
    TSEED_NODE_NUMBER, /* JSON number, text as it was written */
    TSEED_NODE_BOOLEAN,
    TSEED_NODE_NULL,
    TSEED_NODE_OBJECT, /* has children, or is an empty JSON object */
    TSEED_NODE_ARRAY   /* JSON only; children have the array's name */
} tseed_node_kind_t;

typedef struct tseed_node_t {
    const char *name; /* local name, without prefix */
    const char *text; /* trimmed, never NULL; "" for objects */
    tseed_node_kind_t kind;
    struct tseed_node_t *children, *next;
} tseed_node_t;

/* Reads a whole body into a tree in `pool`; for JSON the root is the one member of the outermost object. NULL or a
 * sentence that says where it went wrong. Any thread; xmlInitParser was called before. */
const char *tseed_document_read(tseed_node_t **root, tseed_format_of_body_t format,
                                const char *body, size_t length, apr_pool_t *pool);

/* First child of that name, or NULL. */
tseed_node_t *tseed_node_find(const tseed_node_t *parent, const char *name);

/* Text beyond U+007F as \uXXXX (JSON, quotes included in the result), &#n; (XML, HTML) or ? (plain): pure ASCII in `pool`. `text` is
 * taken for UTF-8; what is not is replaced by U+FFFD. */
const char *tseed_escape_json(const char *text, apr_pool_t *pool);
const char *tseed_escape_xml(const char *text, apr_pool_t *pool);
const char *tseed_escape_plain(const char *text, apr_pool_t *pool);

#endif
