/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* XML to a tree: libxml2's SAX events, encodings as libxml2 knows them.
 *
 * httpd is one process with other users of libxml2 in it (mod_proxy_html, mod_security), so nothing
 * global is touched: handlers and options belong to the one parser context. It has the older SAX1
 * events for elements: they carry the name as it stands, so an undeclared prefix does no harm.
 */
#include <apr_lib.h>
#include <apr_strings.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/tseed_reader.h"

#if LIBXML_VERSION < 21200
typedef xmlError libxml_error_t; /* handlers got it without const */
#else
typedef const xmlError libxml_error_t;
#endif

typedef struct {
    xmlParserCtxtPtr parser;
    xmlBufferPtr text; /* since the last start of an element */
    int depth;         /* open elements */
    tseed_node_t *open[TSEED_DOCUMENT_DEPTH];
    tseed_node_t **slot[TSEED_DOCUMENT_DEPTH + 1]; /* where the next node of a depth is hung up */
    const char *problem;
    apr_pool_t *pool;
} reader_t;

/* The first problem counts, the others follow from it. */
static void stop(reader_t *reader, const char *problem)
{
    if (!reader->problem) {
        reader->problem = problem;
    }
    xmlStopParser(reader->parser);
}

static void start_element(void *data, const xmlChar *name, const xmlChar **attributes)
{
    reader_t *reader = data;
    const char *colon = strchr((const char *)name, ':');
    tseed_node_t *node;

    (void)attributes;
    if (reader->depth == TSEED_DOCUMENT_DEPTH) {
        stop(reader, apr_psprintf(reader->pool, "Elements are nested deeper than %d levels",
                                  TSEED_DOCUMENT_DEPTH));
        return;
    }
    node = tseed_node_create(apr_pstrdup(reader->pool, colon ? colon + 1 : (const char *)name),
                             xmlSAX2GetLineNumber(reader->parser), reader->pool);
    *reader->slot[reader->depth] = node;
    reader->slot[reader->depth] = &node->next;
    reader->open[reader->depth++] = node;
    reader->slot[reader->depth] = &node->children;
    xmlBufferEmpty(reader->text);
}

static void end_element(void *data, const xmlChar *name)
{
    reader_t *reader = data;
    tseed_node_t *node = reader->open[--reader->depth];

    (void)name;
    if (!node->children) {
        node->text = apr_pstrmemdup(reader->pool, (const char *)xmlBufferContent(reader->text),
                                    (apr_size_t)xmlBufferLength(reader->text));
    }
}

static void characters(void *data, const xmlChar *text, int length)
{
    reader_t *reader = data;

    xmlBufferAdd(reader->text, text, length);
}

/* Called at a DOCTYPE's name, before its subsets are looked at. */
static void doctype(void *data, const xmlChar *name, const xmlChar *public_id,
                    const xmlChar *system_id)
{
    (void)name;
    (void)public_id;
    (void)system_id;
    stop(data, "A DOCTYPE is not allowed in a request");
}

static void note_error(void *data, libxml_error_t *error)
{
    reader_t *reader = data;
    const char *what = error->message ? error->message : "unreadable";

    if (error->level > XML_ERR_WARNING && !reader->problem) {
        reader->problem =
            apr_psprintf(reader->pool, "The body is not well-formed XML, line %d: %.*s",
                         error->line, (int)strcspn(what, "\r\n"), what);
    }
}

static const xmlSAXHandler handlers = {
    .initialized = XML_SAX2_MAGIC, /* else `serror` is not asked */
    .internalSubset = doctype,
    .startElement = start_element,
    .endElement = end_element,
    .characters = characters,
    .ignorableWhitespace = characters,
    .serror = note_error
};

void tseed_document_init(void)
{
    xmlInitParser();
}

const char *tseed_xml_read(tseed_node_t **root, const char *body, size_t length, apr_pool_t *pool)
{
    reader_t reader = { .pool = pool };

    while (length > 0 && apr_isspace(*body)) { /* a prolog must stand first */
        body++;
        length--;
    }
    *root = NULL;
    reader.slot[0] = root;
    reader.parser = xmlNewParserCtxt();
    reader.text = xmlBufferCreate();
    if (!reader.parser || !reader.text) {
        abort(); /* no memory: as an APR pool of httpd does */
    }
    *reader.parser->sax = handlers;
    reader.parser->userData = &reader;
    xmlCtxtReadMemory(reader.parser, body, (int)length, NULL, NULL,
                      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    if (!reader.problem && (!reader.parser->wellFormed || !*root)) {
        reader.problem = "The body is not well-formed XML";
    }
    xmlBufferFree(reader.text);
    xmlFreeParserCtxt(reader.parser);
    return reader.problem;
}
