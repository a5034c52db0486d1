/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Nodes: the tree that a document of either format is read into (tseed_document.h). Any thread; a
 * tree is used by one at a time. */
#ifndef TSEED_NODE_H
#define TSEED_NODE_H

#include <apr_pools.h>

typedef struct tseed_node_t {
    const char *name; /* local name, without prefix */
    const char *text; /* as it was sent, in UTF-8; "" when there are children */
    int is_null;      /* JSON null; its text is "null" */
    int is_compound;  /* JSON: an entry of a list, or an attribute with more than a text */
    int is_mixed;     /* there is text beside the children, which is dropped */
    int line;         /* from 1; XML: white space before the document not counted */
    struct tseed_node_t *children, *next;
    struct tseed_node_t *attributes; /* but for class, and those of XML itself and of XML Schema */
} tseed_node_t;

/* An empty node, in `pool`, which the name outlives. For the readers. */
tseed_node_t *tseed_node_create(const char *name, int line, apr_pool_t *pool);

/* Adds an attribute to a node and returns it; NULL: it is one that never says what is wanted.
 * `name`, which may have a prefix, and `text` live as long as the node, which is in `pool`. For the
 * readers. */
tseed_node_t *tseed_node_add_attribute(tseed_node_t *node, const char *name, const char *text,
                                       apr_pool_t *pool);

/* First child of that name, or NULL. */
const tseed_node_t *tseed_node_find(const tseed_node_t *parent, const char *name);

/* The text without white space around it, in `pool`; "" for null. */
const char *tseed_node_trimmed(const tseed_node_t *node, apr_pool_t *pool);

/* Whether there is nothing in it: no children, no text, or null. */
int tseed_node_is_empty(const tseed_node_t *node);

/* Whether something is said between its tags: by a text, or by a child, which may say it in an
 * attribute. */
int tseed_node_has_content(const tseed_node_t *node);

/* Whether nothing is said anywhere in it, nor in its attributes. */
int tseed_node_is_blank(const tseed_node_t *node);

#endif
