/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The atlas: all tile sets of a catalog made ready for serving, so that a request finds its file
 * without computing a hash, compiling a pattern or asking the file system.
 *
 * The configuration phase makes it in the configuration's pool when the configuration is complete.
 * Immutable afterwards: any process and thread. Names come with their lengths, because they are
 * parts of an address.
 */
#ifndef TSEED_ATLAS_H
#define TSEED_ATLAS_H

#include "layer/tseed_page.h"
#include "store/tseed_layout.h"

typedef struct tseed_atlas_t tseed_atlas_t;

/* A tile set made ready for serving. */
typedef struct {
    tseed_tileset_t tileset;
    const tseed_pattern_t *pattern;
    const char *prefix; /* tseed_layout_prefix, */
    size_t common;      /* and how much of it holds for other parameters, too */
    uint64_t print;     /* tseed_tileset_print */
    size_t longest;     /* bytes that hold any absolute path of it and the NUL */
    const char *blank;  /* what is served for a tile that is missing; NULL: nothing */
    size_t blank_length;
} tseed_served_t;

/* A layer in one of its grid sets. */
typedef struct {
    const tseed_layer_t *layer;
    const tseed_subset_t *subset;
    const char *name;            /* tseed_subset_name */
    const char *cache_control;   /* of served tiles; NULL: none */
    const tseed_range_t *ranges; /* by level of the grid set; empty where the layer has no tiles */
    int count;
    tseed_served_t *served; /* one a format in the layer's order, parameters at their defaults */
} tseed_chart_t;

/* The catalog must outlive it. */
tseed_atlas_t *tseed_atlas_create(const tseed_catalog_t *catalog, apr_pool_t *pool);

/* Finds a layer in a grid set; NULL when there is none. `gridset` is the grid set's name or its
 * tseed_subset_name; without length it means the layer's first. */
const tseed_chart_t *tseed_atlas_find(const tseed_atlas_t *atlas, const char *layer,
                                      size_t layer_length, const char *gridset,
                                      size_t gridset_length);

/* All charts, NULL at the end, layer by layer as configured: for making what else is served. */
tseed_chart_t *const *tseed_atlas_charts(const tseed_atlas_t *atlas);

/* NULL when the chart has no such format. Extensions count in lower case, "jpg" as "jpeg"; MIME
 * types in any case. */
const tseed_served_t *tseed_chart_find(const tseed_chart_t *chart, const char *extension,
                                       size_t length);
const tseed_served_t *tseed_chart_find_mime(const tseed_chart_t *chart, const char *mime);

/* Whether the layer has that tile, its row counted from the bottom. Any numbers. */
int tseed_chart_has(const tseed_chart_t *chart, int64_t z, int64_t x, int64_t y);

/* The tile set of the same format with other parameters, which `submitted` has and the layer knows:
 * `served` itself when all are at their defaults, else a new one in `pool`. NULL or a sentence. */
const char *tseed_served_choose(const tseed_served_t **chosen, const tseed_served_t *served,
                                const apr_table_t *submitted, apr_pool_t *pool);

/* The absolute path of a tile that the chart has. In `pool`. */
char *tseed_served_path(const tseed_served_t *served, const tseed_tile_t *tile, apr_pool_t *pool);

/* The tseed_page_print of the page in which a tile lies. */
uint64_t tseed_served_page(const tseed_served_t *served, const tseed_tile_t *tile);

/* The tseed_page_print of the tile whose file has that absolute path, 0 when it is no tile's: for
 * files that httpd serves by itself. `scratch` is used for tile sets whose parameters are not at
 * their defaults. */
uint64_t tseed_atlas_page_of(const tseed_atlas_t *atlas, const char *path, apr_pool_t *scratch);

#endif
