/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The tile or document that a request to a location with TileSeedTiles wants.
 *
 * It is looked up as early as the address is known, and kept with the request. It is looked up
 * again only when the address or its location changes on the way.
 *
 * Request threads; results live in the pool of the request.
 */
#ifndef MOD_TILESEED_WANTED_H
#define MOD_TILESEED_WANTED_H

#include <httpd.h>

#include "mod_tileseed_config.h"
#include "protocol/tseed_service.h"

/* The service in whose words a refusal is written. */
typedef enum { TSEED_SERVICE_PLAIN, TSEED_SERVICE_WMTS, TSEED_SERVICE_WMS } tseed_tile_service_t;

typedef enum {
    TSEED_WANTED_NOTHING, /* `status` and `problem` say why */
    TSEED_WANTED_TILE,
    TSEED_WANTED_WMTS_CAPABILITIES,
    TSEED_WANTED_WMS_CAPABILITIES,
    TSEED_WANTED_TMS_SERVICE,
    TSEED_WANTED_TMS_MAP
} tseed_wanted_kind_t;

/* In the request's pool. */
typedef struct {
    tseed_wanted_kind_t kind;
    tseed_tile_service_t service;
    tseed_tile_address_t address;
    const apr_table_t *query;   /* decoded, keys as sent; empty without one */
    const tseed_chart_t *chart; /* of a tile or a tile map */
    const tseed_served_t *served;
    tseed_tile_t tile;
    const char *path;             /* of the tile's file */
    int is_stored_only;           /* the tile is wanted if it is there: nothing is made, 404 */
    int status;                   /* HTTP */
    const char *problem;          /* a sentence */
    tseed_query_problem_t detail; /* of the OGC services */
} tseed_wanted_t;

/* Looks up what the request wants, at the first call. `dir` has tiles on. */
const tseed_wanted_t *tseed_wanted_get(request_rec *r, const tseed_dir_conf_t *dir);

#endif
