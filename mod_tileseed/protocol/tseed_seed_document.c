/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seed request, first half: a document to its members. */
#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_members.h"
#include "protocol/tseed_seed_request.h"

#define QUOTE_MAX 100

/* How a member with elements of its own is read. NULL or a sentence. */
typedef const char *reader_t(tseed_seed_document_t *document, const tseed_node_t *node,
                             apr_pool_t *pool);

/* A member that is one plain value; an empty one counts only if `keep_empty`. */
static const char *read_plain(const char **field, const tseed_node_t *node, int keep_empty,
                              apr_pool_t *pool)
{
    const char *text = tseed_node_trimmed(node, pool);

    if (node->children) {
        return apr_psprintf(pool, "%s must be a plain value, line %d holds more", node->name,
                            node->line);
    }
    if (*field) {
        return apr_psprintf(pool, "%s stands twice, again in line %d", node->name, node->line);
    }
    if (*text || keep_empty) {
        *field = text;
    }
    return NULL;
}

/* Judges all children of `part` but those called `known`; `path` says where they stand. */
static const char *check_children(tseed_seed_document_t *document, const tseed_node_t *part,
                                  const char *path, const char *known, apr_pool_t *pool)
{
    const char *problem = NULL;

    for (const tseed_node_t *node = part->children; node && !problem; node = node->next) {
        if (strcmp(node->name, known) != 0) {
            problem = tseed_member_unknown(&document->ignored, path, node->name,
                                           (const char *[]){known, NULL}, pool);
        }
    }
    return problem;
}

/* <srs><number>4326</number></srs>; a text in place of `number` is judged like one. */
static const char *read_srs(tseed_seed_document_t *document, const tseed_node_t *node,
                            apr_pool_t *pool)
{
    const tseed_node_t *number = node->children ? tseed_node_find(node, "number") : node;
    const char *problem = check_children(document, node, "srs", "number", pool);

    if (problem) {
        return problem;
    }
    if (!number) {
        return apr_psprintf(pool, "srs must hold number, an EPSG code, not %s",
                            tseed_text_quote(node->children->name, QUOTE_MAX, pool));
    }
    return read_plain(&document->srs, number, 0, pool);
}

static const char *read_bounds(tseed_seed_document_t *document, const tseed_node_t *node,
                               apr_pool_t *pool)
{
    const tseed_node_t *coords = tseed_node_find(node, "coords");
    const char *problem = check_children(document, node, "bounds", "coords", pool);

    if (!problem && coords) {
        problem = check_children(document, coords, "bounds.coords", "double", pool);
    }
    if (problem) {
        return problem;
    }
    if (tseed_node_is_empty(node) || (coords && tseed_node_is_empty(coords))) {
        return NULL;
    }
    if (!coords || !coords->children) {
        return "bounds must hold coords with four double: minx, miny, maxx, maxy";
    }
    if (document->coords) {
        return apr_psprintf(pool, "bounds stands twice, again in line %d", node->line);
    }
    document->coords = apr_array_make(pool, 4, sizeof(const char *));
    for (const tseed_node_t *number = coords->children; number; number = number->next) {
        if (strcmp(number->name, "double") == 0) {
            APR_ARRAY_PUSH(document->coords, const char *) = tseed_node_trimmed(number, pool);
        }
    }
    return NULL;
}

/* <entry><string>KEY</string><string>value</string></entry> */
static const char *read_entry(apr_table_t *parameters, const tseed_node_t *entry, apr_pool_t *pool)
{
    const tseed_node_t *key = entry->children;
    const tseed_node_t *value = key ? key->next : NULL;

    if (strcmp(entry->name, "entry") != 0) {
        return apr_psprintf(pool, "parameters must hold entry elements, not %s",
                            tseed_text_quote(entry->name, QUOTE_MAX, pool));
    }
    if (tseed_node_is_empty(entry)) {
        return NULL;
    }
    if (!value || value->next || strcmp(key->name, "string") != 0 ||
        strcmp(value->name, "string") != 0 || key->children || value->children) {
        return apr_psprintf(pool,
                            "an entry of parameters must hold two string, a key and its "
                            "value; that of line %d does not",
                            entry->line);
    }
    apr_table_addn(parameters, tseed_node_trimmed(key, pool), tseed_node_trimmed(value, pool));
    return NULL;
}

static const char *read_parameters(tseed_seed_document_t *document, const tseed_node_t *node,
                                   apr_pool_t *pool)
{
    if (tseed_node_is_empty(node)) {
        return NULL;
    }
    if (!node->children) {
        return "parameters must hold entry elements, not a text";
    }
    if (!document->parameters) {
        document->parameters = apr_table_make(pool, 4);
    }
    for (const tseed_node_t *entry = node->children; entry; entry = entry->next) {
        const char *problem = read_entry(document->parameters, entry, pool);

        if (problem) {
            return problem;
        }
    }
    return NULL;
}

#define FIELD(name) offsetof(tseed_seed_document_t, name)

static const struct {
    const char *name;
    reader_t *read; /* NULL: a plain value that goes into `field` */
    size_t field;
    int keep_empty;
} members[] = {
    {"name", NULL, FIELD(name), 0},
    {"gridSetId", NULL, FIELD(gridset), 0},
    {"srs", read_srs, 0, 0},
    {"bounds", read_bounds, 0, 0},
    {"zoomStart", NULL, FIELD(zoom_start), 0},
    {"zoomStop", NULL, FIELD(zoom_stop), 0},
    {"format", NULL, FIELD(format), 0},
    {"type", NULL, FIELD(type), 1},
    {"threadCount", NULL, FIELD(thread_count), 0},
    {"parameters", read_parameters, 0, 0},
    {"tileFailureRetryCount", NULL, FIELD(retry_count), 0},
    {"tileFailureRetryWaitTime", NULL, FIELD(retry_wait), 0},
    {"totalFailuresBeforeAborting", NULL, FIELD(failure_limit), 0},
};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

static const char *read_unknown(tseed_seed_document_t *document, const tseed_node_t *node,
                                apr_pool_t *pool)
{
    static const tseed_alias_t aliases[] = {{"bbox", "bounds.coords"},
                                            {"extent", "bounds.coords"},
                                            {"minZoom", "zoomStart"},
                                            {"maxZoom", "zoomStop"},
                                            {NULL, NULL}};
    const char *known[MEMBERS + 1] = {NULL};
    const char *problem = tseed_member_alias(node->name, aliases, pool);

    for (size_t i = 0; i < MEMBERS; i++) {
        known[i] = members[i].name;
    }
    return problem ? problem
                   : tseed_member_unknown(&document->ignored, "", node->name, known, pool);
}

static const char *read_member(tseed_seed_document_t *document, const tseed_node_t *node,
                               apr_pool_t *pool)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        if (strcmp(members[i].name, node->name) != 0) {
            continue;
        }
        if (members[i].read) {
            return members[i].read(document, node, pool);
        }
        return read_plain((const char **)((char *)document + members[i].field), node,
                          members[i].keep_empty, pool);
    }
    return read_unknown(document, node, pool);
}

const char *tseed_seed_document_read(tseed_seed_document_t *document, tseed_format_of_body_t format,
                                     const char *body, size_t length, apr_pool_t *pool)
{
    static const char *const roots[] = {"seedRequest", NULL};
    tseed_node_t *root;
    const char *problem = tseed_document_read(&root, format, body, length, pool);
    const char *misnamed = tseed_document_check_root(root, format, roots, pool);

    memset(document, 0, sizeof(*document));
    if (misnamed || problem) {
        return misnamed ? misnamed : problem;
    }
    if (!root->children && !tseed_node_is_empty(root)) {
        return "seedRequest must hold elements, not a text";
    }
    for (const tseed_node_t *node = root->children; node && !problem; node = node->next) {
        problem = read_member(document, node, pool);
    }
    return problem;
}
