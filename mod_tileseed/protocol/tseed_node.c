/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Nodes of a document's tree. */
#include "protocol/tseed_node.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"

tseed_node_t *tseed_node_create(const char *name, int line, apr_pool_t *pool)
{
    tseed_node_t *node = apr_pcalloc(pool, sizeof(*node));

    node->name = name;
    node->text = "";
    node->line = line;
    return node;
}

const tseed_node_t *tseed_node_find(const tseed_node_t *parent, const char *name)
{
    const tseed_node_t *child = parent->children;

    while (child && strcmp(child->name, name) != 0) {
        child = child->next;
    }
    return child;
}

const char *tseed_node_trimmed(const tseed_node_t *node, apr_pool_t *pool)
{
    const char *begin = node->is_null ? "" : node->text;
    const char *end = begin + strlen(begin);

    while (tseed_ascii_is_space(*begin)) {
        begin++;
    }
    while (end > begin && tseed_ascii_is_space(end[-1])) {
        end--;
    }
    return apr_pstrmemdup(pool, begin, (apr_size_t)(end - begin));
}

int tseed_node_is_empty(const tseed_node_t *node)
{
    return !node->children && (node->is_null || !node->text[strspn(node->text, " \t\r\n\v\f")]);
}
