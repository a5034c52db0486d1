/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The tile services: addresses of tiles and of the documents that describe them, and the documents:
 * WMTS 1.0.0 (OGC 07-057r7), TMS 1.0.0 (OSGeo), WMS 1.1.1 with the vendor part of WMS-C (OSGeo) and
 * WMS 1.3.0 (OGC 06-042), and their exceptions. Any thread. */
#ifndef TSEED_SERVICE_H
#define TSEED_SERVICE_H

#include <apr_tables.h>
#include <stddef.h>
#include <stdint.h>

#include "layer/tseed_layer.h"

/* ---- addresses (tseed_tile_address.c) ----
 *
 * Pure functions over a table. Nothing is copied or decoded: the parts of an address are pieces of
 * it. A name is whatever stands in its segment: nobody checks here that such a layer, grid set or
 * tile exists. */

typedef enum {
    TSEED_ADDRESS_NONE,              /* there is nothing at this address */
    TSEED_ADDRESS_TILE,              /* a tile by numbers: xyz or TMS */
    TSEED_ADDRESS_WMTS_TILE,         /* the same of WMTS: from a path, or a query's GetTile */
    TSEED_ADDRESS_WMTS,              /* the query decides */
    TSEED_ADDRESS_WMTS_CAPABILITIES, /* a document */
    TSEED_ADDRESS_TMS_SERVICE,       /* a document: all tile maps */
    TSEED_ADDRESS_TMS_MAP,           /* a document: one tile map, by layer, grid set and format */
    TSEED_ADDRESS_WMS                /* the query decides */
} tseed_address_kind_t;

typedef struct {
    const char *text; /* not terminated */
    size_t length;
} tseed_piece_t;

typedef struct {
    tseed_address_kind_t kind;
    tseed_piece_t layer, gridset; /* a grid set without length: the layer's first */
    tseed_piece_t style;          /* of WMTS */
    tseed_piece_t format;         /* file extension; without length: the query says it */
    int64_t z, x, y;
    int from_top; /* the row is counted from the top */
} tseed_tile_address_t;

/* `path` is what follows the location, beginning with "/" or empty, decoded, without query.
 * "/service" or "/rest" may stand in front of a service, as GeoWebCache has it. */
tseed_tile_address_t tseed_tile_address(const char *path);

/* A fault of a query, in the terms of WMTS and WMS (OGC 06-121r3 table 25). */
typedef struct {
    const char *code;    /* "MissingParameterValue"; NULL: nothing is wrong */
    const char *locator; /* the parameter's name */
} tseed_query_problem_t;

/* Reads the query of GetTile of WMTS 1.0.0 (OGC 07-057r7 8.2) into `address`, but for the format,
 * which stays a MIME type in the query. The pieces point into the query's values. When a value is
 * wrong, layer, grid set and style have been read nevertheless: so the caller can say first that it
 * has no such layer. */
tseed_query_problem_t tseed_tile_address_query(tseed_tile_address_t *address,
                                               const apr_table_t *query);

/* ---- documents, pure ASCII in a pool ---- */

typedef struct {
    const char *base;                 /* address of the location, no slash at its end */
    const apr_array_header_t *layers; /* of const tseed_layer_t *: what is described */
} tseed_service_t;

/* The capabilities of WMTS. */
const char *tseed_wmts_capabilities(const tseed_service_t *service, apr_pool_t *pool);

/* Whether a tile map of TMS, or a tile set of WMS-C, can describe a layer's grid set: both have one
 * origin for all levels (tseed_range_has_one_origin). */
int tseed_tms_has(const tseed_subset_t *subset);

/* All tile maps there are, and one of them. */
const char *tseed_tms_service(const tseed_service_t *service, apr_pool_t *pool);
const char *tseed_tms_map(const tseed_service_t *service, const tseed_layer_t *layer,
                          const tseed_subset_t *subset, const tseed_format_t *format,
                          apr_pool_t *pool);

typedef enum {
    TSEED_WMS_111,
    TSEED_WMS_111_TILED, /* names the tile sets, as WMS-C has it */
    TSEED_WMS_130
} tseed_wms_dialect_t;

/* The capabilities of WMS. */
const char *tseed_wms_capabilities(const tseed_service_t *service, tseed_wms_dialect_t dialect,
                                   apr_pool_t *pool);

/* Exceptions: of OWS for WMTS, and of WMS. `problem` is a sentence in UTF-8. */
const char *tseed_wmts_exception(const tseed_query_problem_t *detail, const char *problem,
                                 apr_pool_t *pool);
const char *tseed_wms_exception(tseed_wms_dialect_t dialect, const tseed_query_problem_t *detail,
                                const char *problem, apr_pool_t *pool);

#endif
