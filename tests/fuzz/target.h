/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the fuzz targets share: libFuzzer's entry, a pool for each input, one layer.
 *
 * A target does more than not crash: it asserts what must hold whatever the input was.
 */
#ifndef TARGET_H
#define TARGET_H

#undef NDEBUG
#include <apr_general.h>
#include <apr_strings.h>
#include <assert.h>
#include <stdint.h>

#include "layer/tseed_layer.h"
#include "protocol/tseed_document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline apr_pool_t *target_pool(void)
{
    static int ready;
    apr_pool_t *pool = NULL;

    if (!ready) {
        apr_initialize();
        tseed_document_init();
        ready = 1;
    }
    apr_pool_create(&pool, NULL);
    return pool;
}

/* The first byte chooses the format, so that each reader also gets the other's documents. */
static inline tseed_format_of_body_t target_format(uint8_t byte)
{
    return byte == 'J' ? TSEED_BODY_JSON : TSEED_BODY_XML;
}

static inline tseed_filter_t *target_filter(apr_pool_t *pool)
{
    tseed_filter_t *filter = apr_pcalloc(pool, sizeof(*filter));

    filter->name = "STYLES";
    filter->default_value = "";
    filter->values = apr_array_make(pool, 1, sizeof(const char *));
    APR_ARRAY_PUSH(filter->values, const char *) = "night";
    return filter;
}

static inline void target_add_grid(tseed_layer_t *layer, const char *name)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin(name);
    tseed_subset_t *subset = apr_array_push(layer->subsets);

    *subset = (tseed_subset_t){gridset, 0, gridset->levels - 1, gridset->extent, name, 0};
}

/* A layer "l" with two grid sets, PNG and a filter STYLES. */
static inline const tseed_layer_t *target_layer(apr_pool_t *pool)
{
    tseed_layer_t *layer = apr_pcalloc(pool, sizeof(*layer));

    layer->name = "l";
    layer->subsets = apr_array_make(pool, 2, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 1, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 1, sizeof(tseed_filter_t));
    layer->meta_width = layer->meta_height = 4;
    layer->store.root = "/cache";
    target_add_grid(layer, "EPSG:4326");
    target_add_grid(layer, "EPSG:3857");
    tseed_format_init(apr_array_push(layer->formats), "image/png", pool);
    APR_ARRAY_PUSH(layer->filters, tseed_filter_t) = *target_filter(pool);
    return layer;
}

#endif
