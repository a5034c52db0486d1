/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seed request, first half: a document to its members. */
#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

#include "base/tseed_text.h"
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

/* ---- what is not known ---- */

/* What an unknown member holds. Elements of one name that follow each other are a list. */
static tseed_content_t content_of(const tseed_node_t *node)
{
    const int is_plain = !node->children && !node->attributes && !node->is_compound &&
                         !(node->next && strcmp(node->next->name, node->name) == 0);

    return tseed_node_is_blank(node) ? TSEED_CONTENT_NONE
           : is_plain                ? TSEED_CONTENT_PLAIN
                                     : TSEED_CONTENT_PARTS;
}

/* A member that is known must say what it says as this module reads it: a text beside elements, or
 * a value that stands in attributes alone, would be lost. `path` says where the member stands. */
static const char *check_node(tseed_seed_document_t *document, const tseed_node_t *node,
                              const char *path, const tseed_members_t *members, apr_pool_t *pool)
{
    tseed_unknown_t unknown = {.ignored = document->unknown.ignored}; /* beside what is read */
    const char *problem = tseed_member_hollow(node, pool);

    if (node->is_mixed) {
        return apr_psprintf(pool,
                            "%s must hold elements without a text beside them, line %d has one",
                            node->name, node->line);
    }
    for (const tseed_node_t *one = node->attributes; one && !problem; one = one->next) {
        problem =
            tseed_member_judge(&unknown, members, path, apr_pstrcat(pool, "@", one->name, NULL),
                               content_of(one), pool);
    }
    document->unknown.ignored = unknown.ignored;
    return problem;
}

/* Judges all children of `part` but those that `members` knows, which must stand once. */
static const char *check_children(tseed_seed_document_t *document, const tseed_node_t *part,
                                  const char *path, const tseed_members_t *members,
                                  apr_pool_t *pool)
{
    const char *problem = check_node(document, part, path, members, pool);
    unsigned seen = 0;

    for (const tseed_node_t *node = part->children; node && !problem; node = node->next) {
        int place = 0;

        while (members->known[place] && strcmp(members->known[place], node->name) != 0) {
            place++;
        }
        if (!members->known[place]) {
            problem = tseed_member_judge(&document->unknown, members, path, node->name,
                                         content_of(node), pool);
        } else if (seen & 1u << place) {
            problem = apr_psprintf(pool, "%s.%s stands twice, again in line %d", path, node->name,
                                   node->line);
        } else {
            seen |= 1u << place;
        }
    }
    return problem;
}

/* What names speak of, in a document. */
#define MEANT                                                                                      \
    {                                                                                              \
        [TSEED_SUBJECT_FIRST_LEVEL] = "zoomStart", [TSEED_SUBJECT_LAST_LEVEL] = "zoomStop",        \
        [TSEED_SUBJECT_LEVELS] = "zoomStart or zoomStop", [TSEED_SUBJECT_BOX] = "bounds.coords",   \
        [TSEED_SUBJECT_GRID] = "gridSetId", [TSEED_SUBJECT_SYSTEM] = "srs.number",                 \
        [TSEED_SUBJECT_FORMAT] = "format", [TSEED_SUBJECT_PARAMETER] = "parameters.entry",         \
        [TSEED_SUBJECT_KIND] = "type",                                                             \
        [TSEED_SUBJECT_PART] = "zoomStart, zoomStop or bounds.coords"                              \
    }

/* ---- members with elements of their own ---- */

/* <srs><number>4326</number></srs>; a text in place of `number` is judged like one. */
static const char *read_number(tseed_seed_document_t *document, const char **field,
                               const tseed_node_t *node, const char *path, apr_pool_t *pool)
{
    static const char *const known[] = {"number", NULL};
    static const tseed_members_t members = {.known = known, .meant = MEANT};
    const tseed_node_t *number = node->children ? tseed_node_find(node, "number") : node;
    const char *problem = check_children(document, node, path, &members, pool);

    if (!problem && number && number != node) {
        problem =
            check_node(document, number, apr_pstrcat(pool, path, ".number", NULL), &members, pool);
    }
    if (problem) {
        return problem;
    }
    if (!number && tseed_node_is_blank(node)) {
        return NULL;
    }
    if (!number) {
        return apr_psprintf(pool, "srs must hold number, an EPSG code, not %s",
                            tseed_text_quote(node->children->name, QUOTE_MAX, pool));
    }
    return read_plain(field, number, 0, pool);
}

static const char *read_srs(tseed_seed_document_t *document, const tseed_node_t *node,
                            apr_pool_t *pool)
{
    return read_number(document, &document->srs, node, "srs", pool);
}

/* Whether a child has almost the name that is looked for. */
static int has_misspelt(const tseed_node_t *node, const char *const *known)
{
    const tseed_node_t *child = node->children;

    while (child && !tseed_name_meant(child->name, known)) {
        child = child->next;
    }
    return child != NULL;
}

static const char *read_coords(tseed_seed_document_t *document, const tseed_node_t *coords,
                               apr_pool_t *pool)
{
    static const char *const known[] = {"double", NULL};
    static const tseed_members_t members = {.known = known, .meant = MEANT, .is_closed = 1};
    const char *problem = check_node(document, coords, "bounds.coords", &members, pool);

    document->coords = apr_array_make(pool, 4, sizeof(const char *));
    for (const tseed_node_t *node = coords->children; node && !problem; node = node->next) {
        if (strcmp(node->name, "double") != 0) {
            problem = tseed_member_judge(&document->unknown, &members, "bounds.coords", node->name,
                                         content_of(node), pool);
            continue;
        }
        problem = node->children
                      ? "a double of bounds must be a plain number"
                      : check_node(document, node, "bounds.coords.double", &members, pool);
        APR_ARRAY_PUSH(document->coords, const char *) = tseed_node_trimmed(node, pool);
    }
    return problem;
}

static const char *read_bounds(tseed_seed_document_t *document, const tseed_node_t *node,
                               apr_pool_t *pool)
{
    static const char *const known[] = {"coords", "srs", NULL};
    static const tseed_members_t members = {.known = known, .meant = MEANT, .is_closed = 1};
    static const char needs[] = "bounds must hold coords with four double: minx, miny, maxx, maxy";
    const tseed_node_t *coords = tseed_node_find(node, "coords");
    const tseed_node_t *srs = tseed_node_find(node, "srs");
    const char *problem;

    if (!coords && !tseed_node_is_empty(node) && !has_misspelt(node, members.known)) {
        return needs;
    }
    problem = check_children(document, node, "bounds", &members, pool);
    if (!problem && srs) {
        problem = read_number(document, &document->bounds_srs, srs, "bounds.srs", pool);
    }
    if (problem || tseed_node_is_empty(node)) {
        return problem;
    }
    if (coords && tseed_node_is_blank(coords) && !coords->children) {
        return srs && !tseed_node_is_blank(srs) ? needs : NULL;
    }
    if (document->coords) {
        return apr_psprintf(pool, "bounds stands twice, again in line %d", node->line);
    }
    return coords && (coords->children || coords->attributes) ? read_coords(document, coords, pool)
                                                              : needs;
}

/* A key or a value. */
static int is_string(const tseed_node_t *node)
{
    return node && strcmp(node->name, "string") == 0 && !node->children && !node->attributes;
}

/* <entry><string>KEY</string><string>value</string></entry> */
static const char *read_entry(apr_table_t *parameters, const tseed_node_t *entry, apr_pool_t *pool)
{
    const tseed_node_t *key = entry->children;
    const tseed_node_t *value = key ? key->next : NULL;

    if (tseed_node_is_blank(entry) && !key) {
        return NULL;
    }
    if (strcmp(entry->name, "entry") != 0) {
        return apr_psprintf(pool, "parameters must hold entry elements, not %s",
                            tseed_text_quote(entry->name, QUOTE_MAX, pool));
    }
    if (entry->attributes || entry->is_mixed || !is_string(key) || !is_string(value) ||
        value->next) {
        return apr_psprintf(pool,
                            "an entry of parameters must hold two string, a key and its "
                            "value; that of line %d does not",
                            entry->line);
    }
    apr_table_addn(parameters, tseed_node_trimmed(key, pool), value->is_null ? "" : value->text);
    return NULL;
}

static const char *read_parameters(tseed_seed_document_t *document, const tseed_node_t *node,
                                   apr_pool_t *pool)
{
    static const char *const known[] = {"entry", NULL};
    static const tseed_members_t members = {.known = known, .meant = MEANT, .is_closed = 1};
    const char *problem = check_node(document, node, "parameters", &members, pool);

    if (problem || tseed_node_is_empty(node)) {
        return problem;
    }
    if (!node->children) {
        return "parameters must hold entry elements, not a text";
    }
    if (!document->parameters) {
        document->parameters = apr_table_make(pool, 4);
    }
    for (const tseed_node_t *entry = node->children; entry && !problem; entry = entry->next) {
        problem = read_entry(document->parameters, entry, pool);
    }
    return problem;
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

static const char *read_member(tseed_seed_document_t *document, const tseed_node_t *node,
                               const tseed_members_t *all, apr_pool_t *pool)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *problem;

        if (strcmp(members[i].name, node->name) != 0) {
            continue;
        }
        if (members[i].read) {
            return members[i].read(document, node, pool);
        }
        problem = check_node(document, node, node->name, all, pool);
        return problem ? problem
                       : read_plain((const char **)((char *)document + members[i].field), node,
                                    members[i].keep_empty, pool);
    }
    return tseed_member_judge(&document->unknown, all, "", node->name, content_of(node), pool);
}

const char *tseed_seed_document_read(tseed_seed_document_t *document, tseed_format_of_body_t format,
                                     const char *body, size_t length, apr_pool_t *pool)
{
    static const char *const roots[] = {"seedRequest", NULL};
    const char *known[MEMBERS + 1] = {NULL};
    const tseed_members_t all = {.known = known, .meant = MEANT};
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
    for (size_t i = 0; i < MEMBERS; i++) {
        known[i] = members[i].name;
    }
    problem = check_node(document, root, "", &all, pool);
    for (const tseed_node_t *node = root->children; node && !problem; node = node->next) {
        problem = read_member(document, node, &all, pool);
    }
    return problem;
}
