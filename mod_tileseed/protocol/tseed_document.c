/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents as trees: XML, and what both formats share.
 *
 * libxml2 reads XML in every encoding it knows; this file copies libxml2's tree and frees it. Other
 * modules of httpd use libxml2 in the same process (mod_proxy_html, mod_security). So this file
 * touches nothing global: handlers and options belong to its own parser context.
 */
#include "protocol/tseed_document.h"

#include <apr_strings.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"

#if LIBXML_VERSION < 21200
typedef xmlError libxml_error_t; /* handlers got it without const */
#else
typedef const xmlError libxml_error_t;
#endif

#define QUOTE_MAX       100
#define ATTRIBUTES_MOST 1000

/* ---- XML ---- */

typedef struct {
    xmlParserCtxtPtr parser;
    const char *problem; /* the first one, others follow from it */
    apr_pool_t *pool;
} reader_t;

static const char *too_deep(const reader_t *reader)
{
    return apr_psprintf(reader->pool, "Elements are nested deeper than %d levels",
                        TSEED_DOCUMENT_DEPTH);
}

/* Called at a DOCTYPE's name, before its subsets are looked at. */
static void doctype(void *context, const xmlChar *name, const xmlChar *public_id,
                    const xmlChar *system_id)
{
    xmlParserCtxtPtr parser = context;
    reader_t *reader = parser->_private;

    (void)name;
    (void)public_id;
    (void)system_id;
    reader->problem = "A DOCTYPE is not allowed in a request";
    xmlStopParser(parser);
}

/* Whether there are more '=' before a quote than any request has attributes: libxml2 compares each
 * attribute of an element with all before it. Blanks, and the NULs of UTF-16, may stand between. */
static int has_many_attributes(const char *body, size_t length)
{
    const char *const end = body + length;
    int count = 0;

    while ((body = memchr(body, '=', (size_t)(end - body))) != NULL && count <= ATTRIBUTES_MOST) {
        do {
            body++;
        } while (body < end && (*body == '\0' || tseed_ascii_is_space(*body)));
        count += body < end && (*body == '"' || *body == '\'');
    }
    return count > ATTRIBUTES_MOST;
}

/* Only what is fatal counts: an undeclared prefix does no harm, since prefixes are dropped. */
static void note_error(void *context, libxml_error_t *error)
{
    xmlParserCtxtPtr parser = context;
    reader_t *reader = parser->_private;
    const char *what = error->message ? error->message : "unreadable";

    if (error->level != XML_ERR_FATAL || reader->problem) {
        return;
    }
    reader->problem =
        parser->nameNr > TSEED_DOCUMENT_DEPTH
            ? too_deep(reader)
            : apr_psprintf(reader->pool, "The body is not well-formed XML, line %d: %.*s",
                           error->line, (int)strcspn(what, "\r\n"), what);
}

/* Attributes with their prefixes; a declaration of a namespace is none. */
static void copy_attributes(const reader_t *reader, tseed_node_t *node, const xmlNode *element)
{
    for (const xmlAttr *one = element->properties; one; one = one->next) {
        const char *name = apr_pstrdup(reader->pool, (const char *)one->name);
        xmlChar *text = xmlNodeGetContent((const xmlNode *)one);

        if (one->ns && one->ns->prefix) {
            name = apr_pstrcat(reader->pool, (const char *)one->ns->prefix, ":", name, NULL);
        }
        tseed_node_add_attribute(
            node, name, apr_pstrdup(reader->pool, text ? (const char *)text : ""), reader->pool);
        xmlFree(text);
    }
}

/* Whether a piece of text says something. */
static int is_said(const xmlNode *piece)
{
    return (piece->type == XML_TEXT_NODE || piece->type == XML_CDATA_SECTION_NODE) &&
           !xmlIsBlankNode(piece);
}

static const char *local_name(const xmlNode *element, apr_pool_t *pool)
{
    const char *colon = strchr((const char *)element->name, ':'); /* of an undeclared prefix */

    return apr_pstrdup(pool, colon ? colon + 1 : (const char *)element->name);
}

/* The element and what is in it; `depth` is its own level. */
static tseed_node_t *copy_element(reader_t *reader, xmlNode *element, int depth)
{
    tseed_node_t *node = tseed_node_create(local_name(element, reader->pool),
                                           (int)xmlGetLineNo(element), reader->pool);
    tseed_node_t **slot = &node->children;

    if (depth > TSEED_DOCUMENT_DEPTH) {
        reader->problem = too_deep(reader);
        return node;
    }
    copy_attributes(reader, node, element);
    for (xmlNode *child = element->children; child; child = child->next) {
        if (child->type == XML_ELEMENT_NODE) {
            *slot = copy_element(reader, child, depth + 1);
            slot = &(*slot)->next;
        }
        node->is_mixed |= is_said(child);
    }
    node->is_mixed &= node->children != NULL;
    if (!node->children) {
        xmlChar *text = xmlNodeGetContent(element);

        node->text = apr_pstrdup(reader->pool, text ? (const char *)text : "");
        xmlFree(text);
    }
    return node;
}

void tseed_document_init(void)
{
    xmlInitParser();
}

static const char *read_xml(tseed_node_t **root, const char *body, size_t length, apr_pool_t *pool)
{
    reader_t reader = {.pool = pool};
    xmlDoc *document;

    if (has_many_attributes(body, length)) {
        return apr_psprintf(pool, "The body has more than %d attributes", ATTRIBUTES_MOST);
    }
    reader.parser = xmlNewParserCtxt();
    if (!reader.parser) {
        abort(); /* no memory: as an APR pool of httpd does */
    }
    while (length > 0 && tseed_ascii_is_space(*body)) { /* a prolog must stand first */
        body++;
        length--;
    }
    reader.parser->_private = &reader;
    reader.parser->sax->internalSubset = doctype;
    reader.parser->sax->serror = note_error;
    document = xmlCtxtReadMemory(reader.parser, body, (int)length, NULL, NULL,
                                 XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    if (document && !reader.problem) {
        *root = copy_element(&reader, xmlDocGetRootElement(document), 1);
    } else if (!reader.problem) {
        reader.problem = "The body is not well-formed XML";
    }
    xmlFreeDoc(document);
    xmlFreeParserCtxt(reader.parser);
    return reader.problem;
}

/* ---- both formats ---- */

const char *tseed_document_read(tseed_node_t **root, tseed_format_of_body_t format,
                                const char *body, size_t length, apr_pool_t *pool)
{
    size_t blanks = 0;

    *root = NULL;
    while (blanks < length && tseed_ascii_is_space(body[blanks])) {
        blanks++;
    }
    if (blanks == length) {
        return apr_psprintf(pool, "The body is empty: a document in %s is expected",
                            format == TSEED_BODY_XML ? "XML" : "JSON");
    }
    return format == TSEED_BODY_XML ? read_xml(root, body, length, pool)
                                    : tseed_json_read(root, body, length, pool);
}

const char *tseed_document_check_root(const tseed_node_t *root, tseed_format_of_body_t format,
                                      const char *const *names, apr_pool_t *pool)
{
    const char *list = "", *found;

    for (int i = 0; names[i]; i++) {
        if (!root || strcmp(root->name, names[i]) == 0) {
            return NULL;
        }
        list = apr_pstrcat(pool, list, i ? "|" : "", names[i], NULL);
    }
    found = tseed_text_quote(root->name, QUOTE_MAX, pool);
    if (format == TSEED_BODY_XML) {
        return apr_psprintf(pool, "The root must be %s, not '%s'", list, found);
    }
    return *found ? apr_psprintf(pool, "The root member %s is missing, '%s' stands in its place",
                                 list, found)
                  : apr_psprintf(pool, "The root member %s is missing", list);
}
