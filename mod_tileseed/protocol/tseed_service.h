/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The documents with which the tile services describe themselves: WMTS 1.0.0 (OGC 07-057r7), TMS
 * 1.0.0 (OSGeo), WMS 1.1.1 with the vendor part of WMS-C (OSGeo) and WMS 1.3.0 (OGC 06-042), and
 * their exceptions. Pure ASCII in a pool.
 *
 * Any thread.
 */
#ifndef TSEED_SERVICE_H
#define TSEED_SERVICE_H

#include "layer/tseed_layer.h"
#include "protocol/tseed_tile_address.h"

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
