/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writing XML piece by piece, and what the services' documents have in common. Private to them. */
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

tseed_xml_t tseed_xml_begin(apr_pool_t *pool);

/* What is printed stands as it is: names go through tseed_escape_xml. */
void tseed_xml_put(const tseed_xml_t *xml, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *tseed_xml_end(const tseed_xml_t *xml);

/* Escaped as a part of an address, and then for XML. */
const char *tseed_xml_segment(const char *name, apr_pool_t *pool);

/* The system's code as others know it: 3857 for all its names. */
int tseed_xml_epsg(const tseed_gridset_t *gridset);

/* The layer's extent in degrees, longitude first; 0 when none of its grid sets says. */
int tseed_xml_degrees(tseed_bounds_t *degrees, const tseed_layer_t *layer);

#endif
