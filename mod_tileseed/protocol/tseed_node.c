/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Nodes of a document's tree. */
#include "protocol/tseed_node.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"

tseed_node_t *tseed_node_create(const char *name, int line, apr_pool_t *pool)
{
    tseed_node_t *node = apr_pcalloc(pool, sizeof(*node));

    node->name = name;
    node->text = "";
    node->line = line;
    return node;
}

tseed_node_t *tseed_node_add_attribute(tseed_node_t *node, const char *name, const char *text,
                                       apr_pool_t *pool)
{
    tseed_node_t *attribute;

    if (strcmp(name, "class") == 0 || apr_cstr_casecmpn(name, "xml", 3) == 0 ||
        strncmp(name, "xsi:", 4) == 0) {
        return NULL;
    }
    attribute = tseed_node_create(name, node->line, pool);
    attribute->text = text;
    attribute->next = node->attributes;
    node->attributes = attribute;
    return attribute;
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
    return tseed_text_trim(node->text, node->is_null ? 0 : strlen(node->text), pool);
}

int tseed_node_is_empty(const tseed_node_t *node)
{
    return !node->children && (node->is_null || !node->text[strspn(node->text, " \t\r\n\v\f")]);
}

int tseed_node_has_content(const tseed_node_t *node)
{
    int has = node->is_mixed || (!node->children && !tseed_node_is_empty(node));

    for (const tseed_node_t *one = node->children; one && !has; one = one->next) {
        has = !tseed_node_is_blank(one);
    }
    return has;
}

int tseed_node_is_blank(const tseed_node_t *node)
{
    int is_blank = !tseed_node_has_content(node);

    for (const tseed_node_t *one = node->attributes; one && is_blank; one = one->next) {
        is_blank = tseed_node_is_empty(one);
    }
    return is_blank;
}
