/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writing XML piece by piece, and what the services' documents have in common. Private to them. A
 * document is written by one thread, into one pool. */
#ifndef TSEED_XML_WRITE_H
#define TSEED_XML_WRITE_H

#include "layer/tseed_layer.h"
#include "tiling/tseed_range.h"

#define TSEED_XML_PROLOG "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

/* A document in the making: pieces of text in its pool. */
typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *pieces;
} tseed_xml_t;

/* An empty document, in `pool`. */
tseed_xml_t tseed_xml_begin(apr_pool_t *pool);

/* Adds formatted text as it is: the caller passes names through tseed_escape_xml. */
void tseed_xml_put(const tseed_xml_t *xml, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The whole text, in the pool of its beginning. */
const char *tseed_xml_end(const tseed_xml_t *xml);

/* Escaped as a part of an address, and then for XML. */
const char *tseed_xml_segment(const char *name, apr_pool_t *pool);

/* The system's code as others know it: 3857 for all its names. */
int tseed_xml_epsg(const tseed_gridset_t *gridset);

/* The ground of a layer in one reference system. */
typedef struct {
    int epsg;
    int north_east; /* the system's own order of axes */
    tseed_bounds_t bounds;
} tseed_xml_box_t;

/* A layer's reference systems, each once, with a box around the extents of all its grid sets in
 * that system. Array of tseed_xml_box_t in `pool`. `are_merged`: systems are one when
 * tseed_xml_epsg says so, else when their configured codes are equal. */
apr_array_header_t *tseed_xml_boxes(const tseed_layer_t *layer, int are_merged, apr_pool_t *pool);

/* The corners of a bounding box of OWS; `is_turned`: the northing stands first. */
void tseed_xml_corners(const tseed_xml_t *xml, const tseed_bounds_t *box, int is_turned);

#endif
