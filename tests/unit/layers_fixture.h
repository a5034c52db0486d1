/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The two layers that tests of requests speak of; tests/data/malformed.json says the same. */
#ifndef LAYERS_FIXTURE_H
#define LAYERS_FIXTURE_H

#include <apr_general.h>
#include <apr_strings.h>
#include <string.h>

#include "layer/tseed_tileset.h"

static inline void layers_add_grid(tseed_layer_t *layer, const char *name, int first, int last)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin(name);
    tseed_subset_t *subset = apr_array_push(layer->subsets);

    *subset = (tseed_subset_t){gridset, first, last, gridset->extent, name, 0};
}

static inline tseed_layer_t *layers_add(tseed_catalog_t *catalog, const char *name,
                                        apr_pool_t *pool)
{
    tseed_layer_t *layer = apr_pcalloc(pool, sizeof(*layer));

    layer->name = name;
    layer->subsets = apr_array_make(pool, 2, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 2, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 2, sizeof(tseed_filter_t));
    layer->meta_width = layer->meta_height = 4;
    layer->gutter = 10;
    layer->store.root = "/cache";
    layer->retries = 2;
    layer->failure_limit = 1000;
    tseed_format_init(apr_array_push(layer->formats), "image/png", pool);
    APR_ARRAY_PUSH(catalog->order, tseed_layer_t *) = layer;
    apr_hash_set(catalog->layers, name, APR_HASH_KEY_STRING, layer);
    return layer;
}

static inline tseed_filter_t *layers_add_filter(tseed_layer_t *layer, const char *name,
                                                apr_pool_t *pool)
{
    tseed_filter_t *filter = apr_array_push(layer->filters);

    *filter = (tseed_filter_t){
        .name = name,
        .default_value = "",
        .values = apr_array_make(pool, 2, sizeof(const char *)),
    };
    return filter;
}

static inline tseed_catalog_t *layers_catalog(apr_pool_t *pool)
{
    tseed_catalog_t *catalog = tseed_catalog_create(pool);
    tseed_layer_t *states = layers_add(catalog, "topp:states", pool);
    tseed_layer_t *roads = layers_add(catalog, "roads", pool);
    tseed_filter_t *styles = layers_add_filter(states, "STYLES", pool);

    layers_add_grid(states, "EPSG:4326", 0, 21);
    layers_add_grid(states, "EPSG:900913", 2, 20);
    tseed_format_init(apr_array_push(states->formats), "image/jpeg", pool);
    APR_ARRAY_PUSH(styles->values, const char *) = "population";
    APR_ARRAY_PUSH(styles->values, const char *) = "outline";
    layers_add_grid(roads, "EPSG:900913", 0, 30);
    layers_add_grid(roads, "EPSG:3857", 0, 30);
    return catalog;
}

#endif
