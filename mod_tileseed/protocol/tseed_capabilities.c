/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The capabilities of a WMS. */
#include "protocol/tseed_capabilities.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <libxml/parser.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"

#define BLANKS " \t\r\n"

struct tseed_capabilities_t {
    xmlDoc *document;
};

/* ---- elements ---- */

static int is_named(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

/* The next one of that name from `node` on, or NULL. */
static xmlNode *find(xmlNode *node, const char *name)
{
    while (node && !is_named(node, name)) {
        node = node->next;
    }
    return node;
}

static xmlNode *child(xmlNode *node, const char *name)
{
    return node ? find(node->children, name) : NULL;
}

static const char *text_of(xmlNode *node, apr_pool_t *pool)
{
    xmlChar *content = xmlNodeGetContent(node);
    const char *text = content ? (const char *)content : "";
    size_t length;

    text += strspn(text, BLANKS);
    length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1])) {
        length--;
    }
    text = apr_pstrmemdup(pool, text, length);
    xmlFree(content);
    return text;
}

static double number_of(xmlNode *node, const char *attribute, apr_pool_t *pool)
{
    xmlChar *value = xmlGetProp(node, (const xmlChar *)attribute);
    double number = 0;

    tseed_text_double(&number, value ? apr_pstrdup(pool, (const char *)value) : "");
    xmlFree(value);
    return number;
}

static apr_status_t free_document(void *document)
{
    xmlFreeDoc(document);
    return APR_SUCCESS;
}

tseed_capabilities_t *tseed_capabilities_read(const void *body, size_t length, apr_pool_t *pool)
{
    tseed_capabilities_t *offered = apr_palloc(pool, sizeof(*offered));
    xmlParserCtxt *parser = xmlNewParserCtxt();
    xmlNode *root;

    if (!parser) {
        abort();
    }
    offered->document =
        xmlCtxtReadMemory(parser, body, (int)length, NULL, NULL,
                          XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    xmlFreeParserCtxt(parser);
    if (!offered->document) {
        return NULL;
    }
    apr_pool_cleanup_register(pool, offered->document, free_document, apr_pool_cleanup_null);
    root = xmlDocGetRootElement(offered->document);
    return is_named(root, "WMS_Capabilities") || is_named(root, "WMT_MS_Capabilities") ? offered
                                                                                       : NULL;
}

/* ---- what a layer of the service has ---- */

/* The layer of that name from `layer` on, or in one of them. */
static xmlNode *find_layer(xmlNode *layer, const char *name, apr_pool_t *pool)
{
    for (layer = find(layer, "Layer"); layer; layer = find(layer->next, "Layer")) {
        xmlNode *own = child(layer, "Name");
        xmlNode *below;

        if (own && strcmp(text_of(own, pool), name) == 0) {
            return layer;
        }
        below = find_layer(layer->children, name, pool);
        if (below) {
            return below;
        }
    }
    return NULL;
}

static int lists(xmlNode *layer, const char *element, const char *srs, apr_pool_t *pool)
{
    for (xmlNode *one = child(layer, element); one; one = find(one->next, element)) {
        char *state, *word = apr_strtok(apr_pstrdup(pool, text_of(one, pool)), BLANKS, &state);

        for (; word; word = apr_strtok(NULL, BLANKS, &state)) {
            if (apr_cstr_casecmp(word, srs) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

static int has_srs(xmlNode *layer, const char *srs, apr_pool_t *pool)
{
    int found = 0;

    for (; !found && layer && is_named(layer, "Layer"); layer = layer->parent) {
        found = lists(layer, "SRS", srs, pool) || lists(layer, "CRS", srs, pool);
    }
    return found;
}

/* The bounds that a layer states or inherits in a system, with the easting first. `ne`: the system
 * has the northing first, and so has a document of WMS 1.3.0. Returns 0 when there are none. */
static int find_bounds(tseed_bounds_t *bounds, xmlNode *layer, const char *srs, int ne,
                       apr_pool_t *pool)
{
    for (; layer && is_named(layer, "Layer"); layer = layer->parent) {
        for (xmlNode *box = child(layer, "BoundingBox"); box;
             box = find(box->next, "BoundingBox")) {
            const char *key = xmlHasProp(box, (const xmlChar *)"CRS") ? "CRS" : "SRS";
            xmlChar *name = xmlGetProp(box, (const xmlChar *)key);
            int is_it = name && apr_cstr_casecmp((const char *)name, srs) == 0;
            int swapped = ne && *key == 'C';

            xmlFree(name);
            if (is_it) {
                bounds->minx = number_of(box, swapped ? "miny" : "minx", pool);
                bounds->miny = number_of(box, swapped ? "minx" : "miny", pool);
                bounds->maxx = number_of(box, swapped ? "maxy" : "maxx", pool);
                bounds->maxy = number_of(box, swapped ? "maxx" : "maxy", pool);
                return 1;
            }
        }
    }
    return 0;
}

/* ---- comparing ---- */

typedef struct {
    const tseed_capabilities_t *offered;
    apr_array_header_t *lacks;
    apr_pool_t *pool;
    int lacks_layer;
} comparison_t;

static void compare_subset(comparison_t *comparison, xmlNode *layer, const char *name,
                           const tseed_subset_t *subset)
{
    const tseed_bounds_t *wanted = &subset->extent;
    tseed_bounds_t bounds;

    if (!has_srs(layer, subset->srs, comparison->pool)) {
        APR_ARRAY_PUSH(comparison->lacks, const char *) =
            apr_psprintf(comparison->pool, "its layer '%s' in %s", name, subset->srs);
    } else if (find_bounds(&bounds, layer, subset->srs, tseed_subset_north_east(subset),
                           comparison->pool) &&
               (bounds.minx >= wanted->maxx || bounds.maxx <= wanted->minx ||
                bounds.miny >= wanted->maxy || bounds.maxy <= wanted->miny)) {
        APR_ARRAY_PUSH(comparison->lacks, const char *) =
            apr_psprintf(comparison->pool, "anything of its layer '%s' within the extent in %s",
                         name, subset->srs);
    }
}

static void compare_name(comparison_t *comparison, const char *name, const tseed_layer_t *layer)
{
    xmlNode *root = xmlDocGetRootElement(comparison->offered->document);
    xmlNode *found = find_layer(child(child(root, "Capability"), "Layer"), name, comparison->pool);

    if (!found) {
        comparison->lacks_layer = 1;
        APR_ARRAY_PUSH(comparison->lacks, const char *) =
            apr_psprintf(comparison->pool, "a layer '%s'", name);
        return;
    }
    for (int i = 0; i < layer->subsets->nelts; i++) {
        compare_subset(comparison, found, name, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t));
    }
}

/* Some services write image/jpg for image/jpeg. */
static int is_format(const char *offered, const char *mime)
{
    return apr_cstr_casecmp(offered, mime) == 0 ||
           (apr_cstr_casecmp(offered, "image/jpg") == 0 && strcmp(mime, "image/jpeg") == 0);
}

static void compare_format(comparison_t *comparison, const char *mime)
{
    xmlNode *root = xmlDocGetRootElement(comparison->offered->document);
    xmlNode *request = child(child(root, "Capability"), "Request");
    xmlNode *one = child(child(request, "GetMap"), "Format");

    while (one && !is_format(text_of(one, comparison->pool), mime)) {
        one = find(one->next, "Format");
    }
    if (!one) {
        APR_ARRAY_PUSH(comparison->lacks, const char *) =
            apr_psprintf(comparison->pool, "the format %s", mime);
    }
}

/* A whole number of pixels; 0: none. */
static int pixels_of(xmlNode *service, const char *name)
{
    xmlNode *node = child(service, name);
    xmlChar *content = node ? xmlNodeGetContent(node) : NULL;
    const long pixels = content ? strtol((const char *)content, NULL, 10) : 0;

    xmlFree(content);
    return pixels > 0 && pixels < INT_MAX ? (int)pixels : 0;
}

void tseed_capabilities_most(const tseed_capabilities_t *offered, int *width, int *height)
{
    xmlNode *service = child(xmlDocGetRootElement(offered->document), "Service");

    *width = pixels_of(service, "MaxWidth");
    *height = pixels_of(service, "MaxHeight");
}

apr_array_header_t *tseed_capabilities_lacks(int *lacks_layer, const tseed_capabilities_t *offered,
                                             const tseed_layer_t *layer, apr_pool_t *pool)
{
    comparison_t comparison = {offered, apr_array_make(pool, 2, sizeof(const char *)), pool, 0};
    char *state;
    char *names = apr_pstrdup(pool, apr_table_get(layer->source.parameters, "LAYERS"));

    for (char *name = apr_strtok(names, ",", &state); name; name = apr_strtok(NULL, ",", &state)) {
        compare_name(&comparison, name, layer);
    }
    for (int i = 0; i < layer->formats->nelts; i++) {
        compare_format(&comparison, APR_ARRAY_IDX(layer->formats, i, tseed_format_t).from);
    }
    *lacks_layer = comparison.lacks_layer;
    return comparison.lacks;
}
